#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# test/gpu/pack and test/gpu/check: what they say where there is no GPU, and their parts with an emulated one, at sizes of nothing.
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
tar tzf packed.tar.gz | grep -q '^packed/parts$' || fail "the archive lacks something"
expect 2 packed/check -o results nonsense
says err 'parts: smoke ops'
expect 2 packed/check -p "$work" -o results
expect 2 packed/check -t soon
expect 77 packed/check -o results
grep -q "device 'cuda'" out || fail "no word on why there is no GPU"

# Libraries inside the packages of a Python are found, and what of ours other programs have too is theirs.
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
export DLX_CHECK_LIMIT=1000 DLX_CHECK_SIZE=[12,16] DLX_CHECK_CROP='[10, 14]' DLX_CHECK_JOBS=2 DLX_EMULATE_MEMORY=4G DLX_CHECK_BENCH_STEPS=1
export DLX_CHECK_SMOKE='libraries kernel step replay' DLX_CHECK_OPS='relu add' DLX_CHECK_STEPS=tiny
export DLX_CHECK_TYPES='f32 bf16' DLX_CHECK_TRAIN=4 DLX_CHECK_CURVES=tiny:fp16 DLX_CHECK_CURVE=4 DLX_CHECK_MEMORY=tiny:2
export DLX_CHECK_BENCH='tiny:2:first tiny:1:chains' DLX_CHECK_GAPS=tiny:1 DLX_CHECK_PEER=tiny DLX_CHECK_SANITIZE=relu
grep -q 'avx512_bf16' /proc/cpuinfo || export DLX_CHECK_TYPES=f32

# passed PART N: so many of its items passed; others were skipped.
passed() {
	[ "$(find "results/$1" -name '*.passed' | wc -l)" -eq "$2" ] || fail "$1: not $2 items passed: $(cat results/$1/*.passed)"
}
expect 0 packed/check -o results -a home -t 6000 smoke ops steps errors memory train
passed smoke 4
passed ops 2
[ -r "$coads" ] && passed errors 3
passed memory 2
[ -r "$coads" ] && passed train 3
says home/summary.txt 'steps      passed'
tar tzf home/logs.tar.gz | grep -q '^./ops/relu.log$' || fail "logs are left behind"
tar tzf home/logs.tar.gz | grep -q '/runs' && fail "whole runs are carried home"
grep -q '^planned \([0-9]*\) bytes, took \1,' results/memory/tiny:2.log || fail "no word on what was planned"
# What is done is not done again, but if asked for.
expect 0 packed/check -o results ops
says out 'ops: 0 items to do'
expect 0 packed/check -f -o results ops/relu
says out 'ops: 1 items to do'
PATH=$work/tools:$PATH expect 1 packed/check -o results bench curves gaps sanitize peer
passed bench 2
passed gaps 1
grep -q '^gaps: tiny:1  *123 kernels a step, busy 0.001 ms of .*, so idle for ' results/summary.txt || fail "no word on gaps"
passed sanitize 3
says out 'failed sanitize/synccheck:relu'
says results/summary.txt 'measured: 1000 GB/s copied'
grep -q '^tiny:2:first  *[0-9.]* samples/s .* ms a step, .* queued, host .* us, roofline' results/summary.txt || fail "no numbers"
says results/summary.txt 'skipped peer/tiny:batch'
if "$DLX_BUILD/test/gpu/train_emulated" --version | grep -q NCCL; then
	DLX_CHECK_GPUS=2 DLX_EMULATE_GPUS=0,1 expect 0 packed/check -o results ranks
	[ -s results/ranks/alone.passed ] && [ -s results/ranks/late-bf16.passed ] || fail "the ranks did not pass"
fi

# What fails is told with its first error, others go on, and it is done again on request alone.
DLX_CHECK_STEPS='nonsense tiny' DLX_CHECK_TYPES=f32 expect 1 packed/check -f -o results steps
says out 'failed steps/nonsense:f32'
says results/summary.txt 'FAILED   1 of 2 passed, 1 failed'
grep -q 'failed steps/nonsense:f32: .*nonsense.yaml' results/summary.txt || fail "the first error is not told"
DLX_CHECK_STEPS='nonsense tiny' DLX_CHECK_TYPES=f32 expect 1 packed/check -o results steps
says out 'steps: 0 items to do'
# What takes too long fails; what there is no time for is left for another call.
printf '#!/bin/sh\nsleep 60\n' >packed/programs/optest
DLX_CHECK_LIMIT=1 DLX_CHECK_OPS=relu expect 1 packed/check -f -o results ops
says results/summary.txt 'error: not done in 1 s'
rm -r results/ops
DLX_CHECK_OPS='relu add' DLX_CHECK_JOBS=1 expect 3 packed/check -t 4 -o results ops
says results/summary.txt 'ops        not done 0 of 2 passed, 2 not done yet'
pass
