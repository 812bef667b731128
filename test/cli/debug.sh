#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# DLX_DEBUG: each program refuses a word or a value that is none, and names the one that was meant; the man page has each word of
# the table; a switch does something.
. "${DLX_SOURCE:?}/test/lib.sh"
set_before=$DLX_DEBUG

# refused TEXT VALUE: by every program.
refused() {
	for program in "$train" "$convert" "$inspect" "$report"; do
		DLX_DEBUG=$2 expect 64 "$program" --version
		says err "DLX_DEBUG"
		says err "$1"
	done
}
refused "unknown word 'conw'; did you mean 'conv'?; see dlx-train --help-debug" conw=direct
refused "unknown word ''" strict=yes,
refused "'strict' needs a value" strict
refused "'conv=winogard': expected dnn|direct|winograd|depthwise|product; did you mean 'winograd'?" conv=winogard
refused "'isa=avx3': expected avx2|avx512|avx512_bf16|amx; did you mean 'avx2'?" isa=avx3
refused "'strict=1': expected yes|no" strict=1
refused "'skip=': expected WORD+WORD, WORD: chains|depthwise|in_place|intake|masks|" skip=
refused "'skip=mask': expected" skip=mask
refused "; did you mean 'masks'?" skip=mask
refused "'skip=signs+': expected" skip=signs+
refused "'skip=signs+maks': expected" skip=signs+maks
refused "'input=disk': expected stored|host" input=disk
refused "'fault=wriet:1': expected KIND:N[+], KIND: alloc|append|arena|exchange|kernel|payload|read|write; did you mean 'write'?" fault=wriet:1
refused "'fault=write:0': expected" fault=write:0
refused "'fault=write:2-': expected" fault=write:2-
refused "'fault=write': expected" fault=write
refused "'crash_at=ckpt_pac': expected POINT[#N]" crash_at=ckpt_pac
refused "'crash_at=ckpt_pack#': expected POINT[#N]" crash_at=ckpt_pack#
refused "'ranks_per_host=-1': expected N" ranks_per_host=-1
refused "'ranks_per_host=2x': expected N" ranks_per_host=2x
refused "'ranks=many': expected N" ranks=many
refused "'sleep=1': expected yes|no" sleep=1
refused "'join_timeout=0': expected SECONDS" join_timeout=0
refused "'join_timeout=1s': expected SECONDS" join_timeout=1s
refused "'join_timeout=inf': expected SECONDS" join_timeout=inf
refused "'host_root=': expected DIR" host_root=
for value in 371e9:2600e9 371e9:2600e9:20e9:1 371e9:2600e9: 0:1:1 1:-1:1 1:2:inf 371e9,2600e9; do
	refused "expected F32:BF16:BYTES" "rates=$value"
done
for value in 20e-6 20e-6: 20e-6:0 0:12e9 20e-6:12e9: 20e-6:inf; do
	refused "expected LATENCY:BANDWIDTH" "link=$value"
done
refused "more than 8 faults" "$(for i in 1 2 3 4 5 6 7 8 9; do printf ',fault=write:%d' $i; done | cut -c2-)"
refused "longer than" "host_root=/$(printf '%05000d' 0)"

# What is well said.
for value in '' conv=direct,skip=signs+masks,input=host,fault=write:300+,fault=append:300,crash_at=ckpt_pack#9,ranks_per_host=2 \
	nccl_alone=yes,strict=yes,strict=no,host_root=/none,join_timeout=0.5,rates=371e9:2.6e12:20e9,link=20e-6:12e9; do
	for program in "$train" "$convert" "$inspect" "$report"; do
		DLX_DEBUG=$value expect 0 "$program" --version
	done
done

# One switch caps oneDNN and dlx's own kernels.
DLX_DEBUG=isa=avx2 expect 0 "$train" --version
grep -qE "^instructions: oneDNN (avx2|base), dlx's kernels (avx2|base)$" out || { cat out; fail "isa=avx2 does not cap both"; }

# The table is printed whatever the variable says, and all of its words are in the man page.
DLX_DEBUG=none=such expect 0 "$train" --help-debug
words=$(sed -n 's/^  \([a-z_]*\)=.*/\1/p' out)
[ "$(echo "$words" | wc -l)" -ge 10 ] || { cat out; fail "no table"; }
for word in $words; do
	grep -qx "\.It Cm $word" "$DLX_SOURCE/man/dlx-train.1" || fail "dlx-train(1) does not have '$word'"
done

# Every point at which the process can be killed is in the table, and every row of it is one.
sed -n 's/^  crash_at=.*: //p' out | tr '|' '\n' | sort >points
grep -rho 'io_crash_point("[a-z_]*")' "$DLX_SOURCE/src" "$DLX_SOURCE/data-tools" | cut -d'"' -f2 | sort -u | diff points - || fail "other points than in the table"

# Words after those that are set.
[ "$(DLX_DEBUG=''; debug a=1 b=2)" = a=1,b=2 ] || fail "two words"
[ "$(debug a=1)" = "$set_before,a=1" ] || fail "the words that were set are lost"
coads_data
mkdir -p host/proc
printf 'MemTotal: 100 kB\nMemAvailable: 100 kB\n' >host/proc/meminfo
expect 0 "$train" --check "$DLX_SOURCE/test/train/tiny.yaml"
DLX_DEBUG=$(debug host_root=/none "host_root=$PWD/host") expect 71 "$train" --quiet "$DLX_SOURCE/test/train/tiny.yaml"
DLX_DEBUG=$(debug "host_root=$PWD/host" host_root=/none) expect 0 "$train" --quiet --set train.steps=1 "$DLX_SOURCE/test/train/tiny.yaml"
pass
