#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What checkpoints cost can be measured: run time, size and write rate. None is judged.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
coads_data
measure() {
	"$python3" "$DLX_SOURCE/test/bench/checkpoint" --build "$DLX_BUILD" --folder . --config "$DLX_SOURCE/test/train/tiny.yaml" \
		--turns 2 --steps 26 --mib 8 --repetitions 2 "$@"
}
expect 0 measure
for line in 'cost    2 versions in 26 steps, every 10; ' '        wall time       without .* s .*, with .* s .*, of 2 pairs; .*; goal 1 %' \
	'        processor time  without .* s .*, with .* s .*, of 2 pairs; .*; goal 1 %' 'size    .* bytes of .* raw: .*; goal 0.85' \
	'frozen  sgd .* the first version .* bytes, the second .* %; goal 5 %' \
	'frozen  adam .* the first version .* bytes, the second .* %; goal 5 %' \
	'rate    8 MiB: dd conv=fsync .* MB/s .*; a version .* MB/s raw .* of it; .* MB/s raw a core; load .*; goal 80 %'; do
	[ "$(grep -c "^$line" out)" -eq 1 ] || { cat out; fail "not one line: $line"; }
done
[ "$(ls -d ./checkpoint-bench-* 2>/dev/null)" ] && fail 'files are left'
expect 1 measure --what size -- --set train.nothing=1
says err "unknown key 'nothing'"
expect 2 measure --what none
expect 64 "$DLX_BUILD/test/bench/checkpoint_times"
expect 64 "$DLX_BUILD/test/bench/checkpoint_times" . 0
pass
