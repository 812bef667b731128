#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# test/gpu/pack and test/gpu/check: what they say where there is no GPU, and their parts with an emulated one, at sizes of nothing.
# limit: 15 minutes
. "${DLX_SOURCE:?}/test/lib.sh"
CUDA_VISIBLE_DEVICES=
export CUDA_VISIBLE_DEVICES
unset LD_LIBRARY_PATH
pack=$DLX_SOURCE/test/gpu/pack
expect 2 "$pack"
expect 1 "$pack" -b "$work/nowhere" packed
grep -q 'build it' err || fail "pack: no remedy for a build that is not there"
expect 0 "$pack" -z -b "$DLX_BUILD" packed
[ -x packed/check ] && [ -x packed/bin/optest ] && [ -r packed/configs/tiny.yaml ] || fail "the folder lacks something"
[ "$(wc -c <packed.tar.gz)" -lt 60000000 ] || fail "the archive is too large to be carried: $(wc -c <packed.tar.gz) bytes"
tar tzf packed.tar.gz | grep -q '^packed/parts$' || fail "the archive lacks something"
if command -v mpiexec.hydra >/dev/null && "$train" --version | grep -q '^ranks: MPICH'; then
	expect 0 "$pack" -m -b "$DLX_BUILD" packed
	# Without </dev/null it may write to a rank that has ended; its own messages may come too late for ranks as short as these, which is
	# the end of it by SIGPIPE.
	for try in 1 2 3 4 5; do
		status=0
		# shellcheck disable=SC2016
		packed/mpi/mpiexec -n 2 sh -c 'echo "rank $PMI_RANK"' >out 2>err </dev/null || status=$?
		[ $status -eq 141 ] || break
	done
	[ $status -eq 0 ] || { cat err; fail "mpiexec, try $try: exit status $status"; }
	says out 'rank 1'
	rm -r packed/mpi
fi
expect 2 packed/check -o results nonsense
says err 'parts: smoke ops'
expect 2 packed/check -p "$work" -o results
expect 2 packed/check -t soon
expect 77 packed/check -o results
grep -q "device 'cuda'" out || fail "no word on why there is no GPU"

# A library with code for several GPUs is carried with that for one.
fat() { # KIND ARCH CODE; numbers in octal
	printf "\\$1\\0\\0\\0\\040\\0\\0\\0\\010\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\$2\\0\\0\\0%s" "$3"
}
{
	printf 'begin\120\355\125\272\001\0\020\0\240\0\0\0\0\0\0\0'
	fat 2 120 code--80
	fat 2 132 code--90
	fat 1 132 text--90
	fat 2 144 code-100
	printf end
} >libnccl.so.2
expect 0 "$pack" -n libnccl.so.2 -t 90 -b "$DLX_BUILD" packed
[ "$(tr -d '\0' <packed/lib/libnccl.so.2 | grep -ao -e begin -e 'code-*[0-9]*' -e text -e end | tr '\n' ' ')" = 'begin code--90 end ' ] ||
	fail "not the code for one GPU alone"
[ "$(wc -c <packed/lib/libnccl.so.2)" -eq "$(wc -c <libnccl.so.2)" ] || fail "a library of another length"
expect 0 packed/bin/dlx-train --version
if "$train" --version | grep -q '^backends:.*cuda'; then
	expect 1 "$pack" -t 7 -b "$DLX_BUILD" packed
	says err ", not for 7"
	# Code that is not compressed begins as a program does. dlx-train with it is four times as large.
	[ "$(LC_ALL=C grep -abo "$(printf '\177ELF\002\001\001')" "$train" | wc -l)" -eq 1 ] || fail "device code is not compressed"
fi
expect 0 "$pack" -n libnccl.so.2 -b "$DLX_BUILD" packed
cmp libnccl.so.2 packed/lib/libnccl.so.2 || fail "a library that is not as it was"
rm packed/lib/libnccl.so.2

# Libraries inside the packages of a Python are found, and programs other than dlx's use their own.
mkdir -p packages/nvidia/cudnn/lib python
: >packages/nvidia/cudnn/lib/libcudnn.so.9
printf '#!/bin/sh\nPYTHONPATH=%s exec /usr/bin/python3 "$@"\n' "$work/packages" >python/python3
chmod 755 python/python3
if [ -x /usr/bin/python3 ] && "$train" --version | grep -q '^backends:.*cuda'; then
	DLX_PYTHON=$work/python/python3 expect 0 packed/libraries -v
	says out "libcudnn.so.9      $work/packages/nvidia/cudnn/lib/libcudnn.so.9"
fi
expect 0 packed/libraries
grep -q 'lib/spare' out && fail "libraries of this system are not taken"
cp packed/programs/dlx-train dlx-train
printf '#!/bin/sh\ncase $LD_LIBRARY_PATH in */spare*) ;; *) exit 127 ;; esac\n' >packed/programs/dlx-train
expect 0 packed/libraries
says out 'lib/spare'
cp dlx-train packed/programs/dlx-train
expect 0 env -i PATH="$PATH" packed/bin/dlx-train --version

[ -x "$DLX_BUILD/test/gpu/train_emulated" ] || pass
# The driver that is emulated loads no libraries, and there is no compute-sanitizer: what they would do.
cat >packed/programs/dlx-train <<'END'
#!/bin/sh
case ${DLX_INJECT-} in
watch:*) echo '{"replays": 20, "kernels": 123, "span": 0.5, "busy": 0.000001}' >"${DLX_INJECT#watch:}" ;;
trap:*) export DLX_EMULATE_FAIL=3 ;;
esac
exec "${0%/*}/train_emulated" "$@"
END
cp "$DLX_BUILD/test/gpu/train_emulated" packed/programs/
mkdir tools
cat >tools/compute-sanitizer <<'END'
#!/bin/sh
[ "$1 $2 $3 $5 $6" = '--target-processes all --tool --error-exitcode 9' ] || exit 3
[ "$4" != synccheck ] || exit 9
shift 6
exec "$@"
END
chmod 755 packed/programs/dlx-train tools/compute-sanitizer
[ -r packed/lib/injected.so ] || fail "injected.so was not packed"
cp "$DLX_BUILD/test/gpu/optest_emulated" packed/programs/optest
cp "$DLX_BUILD/test/gpu/conv_checks_emulated" packed/programs/conv_checks
cp packed/programs/optest optest
export DLX_CHECK_LIMIT=1000 DLX_CHECK_SIZE=[12,16] DLX_CHECK_CROP='[10, 14]' DLX_CHECK_JOBS=2 DLX_EMULATE_MEMORY=4G DLX_CHECK_BENCH_STEPS=1
export DLX_CHECK_SMOKE='libraries kernel bias step graph profile' DLX_CHECK_OPS='relu add' DLX_CHECK_STEPS='tiny windows'
export DLX_CHECK_EXTENT=6 DLX_CHECK_ROWS=1x36x20x30 DLX_CHECK_MEASURED=tiny:1
export DLX_CHECK_ENGINES='described bf16:plain:12 bf16:dgrad:12 fp16:mask:16 bf16:rows8:36:whole fp16:rows0:36 f32:rows3000:36'
export DLX_CHECK_TYPES='f32 bf16' DLX_CHECK_TRAIN=4 DLX_CHECK_CURVES=tiny:fp16 DLX_CHECK_CURVE=4 DLX_CHECK_MEMORY=tiny:2
export DLX_CHECK_BENCH='tiny:2 tiny:1:chains tiny:1:in-line' DLX_CHECK_GAPS=tiny:1 DLX_CHECK_PEER=tiny DLX_CHECK_SANITIZE=relu
grep -q 'avx512_bf16' /proc/cpuinfo || export DLX_CHECK_TYPES=f32

# passed PART N: this many of its items passed; others were skipped.
passed() {
	[ "$(find "results/$1" -name '*.passed' | wc -l)" -eq "$2" ] || fail "$1: not $2 items passed: $(cat results/$1/*.passed)"
}
expect 0 packed/check -o results -a home -t 6000 smoke ops engines steps errors memory train
passed smoke 6
passed ops 2
passed engines 6
says results/engines/described.skipped '--gpu has no name for this GPU'
grep -q 'by cudnn:eng' results/engines/bf16:dgrad:12.log || fail "no word on the engine"
grep -q 'the mean is off by' results/engines/bf16:rows8:36:whole.log || fail "no word on the statistics"
passed steps $(($(echo "$DLX_CHECK_TYPES" | wc -w) * 2))
[ -r "$coads" ] && passed errors 3
passed memory 2
[ -r "$coads" ] && passed train 3
says home/summary.txt 'steps      passed'
tar tzf home/logs.tar.gz | grep -q '^./ops/relu.log$' || fail "logs are left behind"
tar tzf home/logs.tar.gz | grep -q '/runs' && fail "whole runs are carried home"
grep -q '^planned \([0-9]*\) bytes, took \1,' results/memory/tiny:2.log || fail "no word on what was planned"
# What is done is not done again, but if requested.
expect 0 packed/check -o results ops
says out 'ops: 0 items to do'
expect 0 packed/check -f -o results ops/relu
says out 'ops: 1 items to do'
PATH=$work/tools:$PATH expect 1 packed/check -o results bench measured curves gaps sanitize peer
passed bench 3
passed measured 1
[ -s results/engines.wisdom ] || fail "engines were not measured into the file of all parts"
grep -q 'kernels a step, busy .* of no node 0.0 %' results/bench/tiny:2.log || fail "no kernels in the bench"
passed gaps 1
grep -q '^gaps: tiny:1  *123 kernels a step, busy 0.001 ms of .*, so idle for ' results/summary.txt || fail "no word on gaps"
passed sanitize 3
says out 'failed sanitize/synccheck:relu'
says results/summary.txt 'measured: 1000 GB/s copied'
grep -q '^tiny:2  *[0-9.]* samples/s .* ms a step, .* queued, host .* us, roofline' results/summary.txt || fail "no numbers"
says results/summary.txt 'skipped peer/tiny:batch'
# Time runs out while a network is compared with PyTorch: what was measured by then comes home and is at the end of the summary, and the
# next call, here or elsewhere, measures the rest. A fake PyTorch, whose compiled steps never come where they follow eager ones.
if [ -x /usr/bin/python3 ]; then
	mkdir torch
	printf '#!/bin/sh\ncase $* in *is_available*) exit 0 ;; esac\nexec /usr/bin/python3 "$@"\n' >torch/python3
	cat >torch/worker <<'END'
#!/bin/sh
steps() {
	echo '{"kind": "'$1'", "samples_per_second": 1, "peak_memory": 2000000, "loss": 1, "steps": 3, "parameters": 303152, "first": 3}'
}
case $2 in
*'"about"'*) echo '{"version": "2.0", "compiles": true, "cuda": true, "gpu": "none"}' ;;
*'"kinds": ["eager", "compiled"]'*) steps eager && exec sleep 1000 ;;
*'"kinds": ["compiled"]'*) steps compiled ;;
esac
END
	chmod 755 torch/python3 torch/worker
	cp packed/programs/dlx-train emulated
	cat >packed/programs/dlx-train <<'END'
#!/bin/sh
case $* in
*--bench*) echo '{"samples_per_second": 2, "step_median": 0.5, "first_step": 2, "parameters": 303152, "peak_memory": 7, "device_memory": 1000000}' ;;
*) exec "${0%/*}/train_emulated" "$@" ;;
esac
END
	peer() {
		DLX_PYTHON=$work/torch/python3 DLX_CHECK_PEER=demo expect "$1" packed/check -o "$2" -a "home-$2" -t "$3" --restore home-peer/logs.tar.gz \
			'peer/*:batch'
	}
	export DLX_CHECK_PEER_OPTIONS="--python $work/torch/worker --tiny --threads 1 --seconds 0"
	mkdir peer home-peer && tar czf home-peer/logs.tar.gz -T /dev/null
	peer 0 peer 20
	[ ! -e peer/peer/demo:batch.passed ] && [ ! -e peer/peer/demo:batch.failed ] || fail "what was cut is done"
	for f in demo:batch.json demo:batch.log turns; do
		tar tzf home-peer/logs.tar.gz | grep -q "/peer/$f$" || fail "peer/$f is left behind"
	done
	tail -n 2 out | head -n 1 | grep -q '^demo  *bf16  *PyTorch 2.0 eager (channels-last)' || fail "no table at the end"
	tail -n 1 out | grep -q '^geometric mean of 1, bf16, PyTorch 2.0 eager' || fail "no mean at the end"
	peer 0 peer-later 600
	[ -e peer-later/peer/demo:batch.passed ] || fail "it does not go on: $(cat peer-later/peer/demo:batch.log)"
	grep -q '^# .* PyTorch 2.0 eager' peer-later/peer/demo:batch.log && fail "eager steps are measured again"
	says out 'geometric mean of 1, bf16, PyTorch 2.0 eager'
	says out 'geometric mean of 1, bf16, PyTorch 2.0 compiled'
	unset DLX_CHECK_PEER_OPTIONS
	cp emulated packed/programs/dlx-train
fi
if "$DLX_BUILD/test/gpu/train_emulated" --version | grep -q NCCL; then
	DLX_CHECK_NCCL=22809 DLX_CHECK_GPUS=2 DLX_EMULATE_GPUS=0,1 expect 0 packed/check -o results ranks
	[ -s results/ranks/alone.passed ] && [ -s results/ranks/late-bf16.passed ] || fail "the ranks did not pass"
	says results/ranks/two.skipped 'ranks share a GPU with NCCL 2.30.3 or newer, and this is 2.28.9'
	# Two ranks on one GPU, where NCCL takes them: its version is read in the library that would be loaded.
	printf 'NCCL version info only\nNCCL version 2.30.3+cuda13.0\n' >packages/nvidia/cudnn/lib/libnccl.so.2
	DLX_CHECK_PATIENCE=3s DLX_PYTHON=$work/python/python3 DLX_FAKE_NCCL_VERSION=23003 DLX_EMULATE_GPUS=0 expect 0 packed/check -f -o results 'ranks/two*'
	for i in two two-late two-lost; do
		[ -s results/ranks/$i.passed ] || [ ! -r "$coads" ] || fail "ranks/$i: $(cat results/ranks/$i.*)"
	done
fi

# A cuDNN whose sums are short, or whose bits are others the next time or in another process, is found.
for fault in 'sums rows8:36:whole' 'twice plain:12' 'processes plain:12'; do
	DLX_FAKE_CUDNN_WRONG=${fault% *} expect 1 packed/check -f -o wrong "engines/bf16:${fault#* }"
	cp out "out-${fault% *}"
done
says out-sums 'the statistics are wrong'
says out-twice 'has other bits than the first'
says out-processes 'another process has other bits'
DLX_FAKE_CUPTI=absent expect 1 packed/check -f -o wrong smoke/profile
says out 'the profile is not of kernels'

# The calls, each on a fresh machine with what the last one brought home, or on that of the last one: nothing is done twice.
# What has passed above and takes long is there already.
export DLX_CHECK_ERRORS=no-gpu
mkdir machine-1
cp -R results/train results/curves results/memory machine-1/
[ ! -d results/ranks ] || cp -R results/ranks machine-1/
expect 0 packed/check call 1 -o machine-1 -a home-1 --restore home-0/logs.tar.gz
says out 'nothing to restore'
says out 'next: check call 2'
says home-1/summary.txt 'steps      passed'
expect 0 packed/check call 2 -o machine-1 -a home-2 --restore home-1/logs.tar.gz
says home-2/summary.txt 'bench      passed'
says home-2/summary.txt 'steps      passed'
expect 0 packed/check call 2 -o machine-2 -a home-3 --restore home-2/logs.tar.gz
says out 'restored: '
says out 'bench: 0 items to do'
says home-3/summary.txt 'ops        passed'
expect 2 packed/check call 3 -o machine-4 --restore nowhere/logs.tar.gz
expect 2 packed/check call 4
# A machine that is lost within a call: what was done by then is not done again, and what was compiled came along.
head -c 40000000 /dev/urandom >blob
mkdir -p machine-5/engines.wisdom.compiled
split -b 1900000 blob machine-5/engines.wisdom.compiled/plan-
DLX_CHECK_OPS='relu' expect 0 packed/check -o machine-5 -a home-5 ops
[ -s home-5/compiled.tar.gz.2 ] || fail "what was compiled is not brought home in pieces"
[ "$(find home-5 -size +15360k | wc -l)" -eq 0 ] || fail "a file is too large to be brought home"
tar tzf home-5/logs.tar.gz | grep -q compiled && fail "what was compiled is in the logs' archive"
expect 0 packed/check -o machine-6 -a home-6 --restore home-5/logs.tar.gz ops
says out 'ops: 1 items to do, '
cat machine-6/engines.wisdom.compiled/plan-* | cmp - blob || fail "what was compiled is not restored"

# Engines that were compiled beforehand are carried: nothing is compiled, also on the next machine, and none of them is brought home.
# One that does not load is compiled again, which is said, and comes home for the machine after.
export DLX_FAKE_CUDNN_FIRST=44 DLX_FAKE_CUDNN_COMPILED=$work/compilations
compilations() {
	cat "$work/compilations" 2>/dev/null | wc -l
}
expect 0 packed/check -o beforehand smoke/graph smoke/step
all=$(find beforehand/engines.wisdom.compiled -type f | wc -l)
[ "$all" -gt 1 ] && [ "$(compilations)" -ge "$all" ] || fail "nothing was compiled beforehand: $all kept, $(compilations) compiled"
says out "compiled engines: 0 carried, $all others compiled here, 0 carried"
echo '# dlx wisdom: problem, device, library, engine, microseconds' >packed/engines.wisdom
cp -R beforehand/engines.wisdom.compiled packed/
rm compilations
expect 0 packed/check -o carried -a home-carried smoke/graph smoke/step
[ "$(compilations)" -eq 0 ] || fail "with carried engines $(compilations) are compiled"
says out "compiled engines: $all carried, 0 others compiled here, 0 carried"
[ ! -e home-carried/compiled.tar.gz.0 ] || fail "what the pack has is brought home"
first=$(find packed/engines.wisdom.compiled -type f | sort | head -n 1)
printf 'x' | dd of="$first" bs=1 seek=100 conv=notrunc 2>dd.log
expect 0 packed/check -o damaged -a home-damaged smoke/graph smoke/step
[ "$(compilations)" -ge 1 ] || fail "a damaged engine is not compiled again"
says out "compiled engines: $all carried, 0 others compiled here, 1 carried"
rm compilations
expect 0 packed/check -f -o after -a home-after --restore home-damaged/logs.tar.gz smoke/graph smoke/step
[ "$(compilations)" -eq 0 ] || fail "what the lost machine compiled is compiled again"
rm -r packed/engines.wisdom packed/engines.wisdom.compiled
unset DLX_FAKE_CUDNN_FIRST DLX_FAKE_CUDNN_COMPILED

# What fails is reported with its first error, others go on, and it is done again on request alone.
DLX_CHECK_STEPS='nonsense tiny' DLX_CHECK_TYPES=f32 expect 1 packed/check -f -o results steps
says out 'failed steps/nonsense:f32'
says results/summary.txt 'FAILED   1 of 2 passed, 1 failed'
grep -q 'failed steps/nonsense:f32: .*nonsense.yaml' results/summary.txt || fail "the first error is not reported"
DLX_CHECK_STEPS='nonsense tiny' DLX_CHECK_TYPES=f32 expect 1 packed/check -o results steps
says out 'steps: 0 items to do'
# What takes too long fails; what there is no time for is left for another call.
printf '#!/bin/sh\nsleep 60\n' >packed/programs/optest
DLX_CHECK_LIMIT=1 DLX_CHECK_OPS=relu expect 1 packed/check -f -o results ops
says results/summary.txt 'error: not done in 2 s'
rm -r results/ops
DLX_CHECK_OPS='relu add' DLX_CHECK_JOBS=1 expect 3 packed/check -t 4 -o results ops
says results/summary.txt 'ops        not done 0 of 2 passed, 2 not done yet'
pass
