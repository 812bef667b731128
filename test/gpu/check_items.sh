#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What test/gpu/check runs on a GPU by default, with programs that only record their arguments: what an emulation
# cannot know of convolutions is in its lists, each kind of engine and a captured step come first, all go by one file of engines, and only
# what is timed has the machine for itself.
. "${DLX_SOURCE:?}/test/lib.sh"
mkdir -p packed/bin packed/programs packed/lib packed/configs
cp "$DLX_SOURCE/test/gpu/check" "$DLX_SOURCE/test/gpu/parts" packed/
printf '#!/bin/sh\nexit 0\n' >packed/libraries
for p in dlx-train optest compare_steps conv_checks; do
	# shellcheck disable=SC2016
	printf '#!/bin/sh\necho "%s|${DLX_DEBUG-}|$*" >>%s\n' "$p" "$work/called" >packed/bin/$p
done
cat >>packed/bin/dlx-train <<'END'
case $* in
*--list-ops*) printf 'conv\nrelu\n' ;;
*run.dir=*)
	to=$(echo "$*" | sed 's/.*run.dir=\([^ ]*\).*/\1/')/checkpoints/versions
	mkdir -p "$to" && echo '{}' >"$to/1.json"
	;;
*--dump-step=*) mkdir -p "$(echo "$*" | sed 's/.*--dump-step=\([^ ]*\).*/\1/')" ;;
*--bench=*) echo '{"busy": 0.5, "kernels": [' && printf '{"node": 1, "name": "x", "start": 0, "seconds": 0.5}\n' ;;
esac
END
chmod 755 packed/libraries packed/bin/*
unset DLX_DEBUG
export DLX_CHECK_JOBS=3
# check PART...: leaves in `called` the arguments of the programs.
check() {
	rm -rf results called
	capped packed/check -o results "$@" >out 2>err </dev/null
}
# calls PROGRAM PATTERN [LEAST]: how often a line of its words and its arguments has it.
calls() {
	times=$(grep "^$1|" called | grep -c -E -e "$2")
	[ "$times" -ge "${3:-1}" ] || { cat called; fail "$1 is called for '$2' $times times"; }
}

# Engines: statistics of 1.8 million rows, with the mean at 0, near and far; channels that are no multiple of 8; engines of each kind; two
# processes with the same bits, each of which has the same in four runs.
check engines
grep -q 'engines  *passed' out || { cat out; fail "an item of engines is not there"; }
for mean in 0 8 100 3000; do
	[ $mean = 3000 ] && types=f32 || types='bf16 fp16'
	for type in $types; do
		grep -E "^conv_checks\|.* $type conv_statistics .* $mean\$" called | sed 's/.* conv_statistics \([0-9x]*\) .*/\1/' |
			awk -F x '{ rows = $1 * $3 * $4 } rows >= 1700000 { n++ } END { exit n < 2 }' || fail "no statistics of many rows of mean $mean in $type"
	done
done
for kind in conv conv_relu conv_statistics conv_grad_input_sum conv_grad_weight; do
	for channels in 3 12 36; do
		calls conv_checks " bf16 $kind 4x${channels}x" 3
	done
done
for kind in conv_relu conv_statistics conv_grad_input_sum conv_grad_input_relu conv_norm_relu norm_conv norm_conv_grad_weight \
	conv_grad_input_norm; do
	for type in bf16 fp16; do
		calls conv_checks " $type $kind 4x64x" 3
	done
done
for engines in precompiled first; do
	for kind in conv conv_grad_weight conv_grad_input_sum 'conv .*groups: 64'; do
		grep "|engines=$engines|" called | grep -q " bf16 $kind" || fail "no $kind by engines=$engines"
	done
done
calls conv_checks '^conv_checks\|engines=first,way=whole\|.*--other-bits ' 8
[ -z "$(grep '^conv_checks|' called | grep -v -e ' --other-bits ' -e '|--gpu$' | sort | uniq -c | awk '$1 < 3')" ] ||
	fail "a convolution is not made by a second process: $(sort called | uniq -c | awk '$1 < 3')"
grep '^conv_checks|' called | grep -v -e '--wisdom=engines.wisdom' -e '|--gpu$' && fail "other files of engines"

# What comes first: each kind of convolution, an op of dlx's own, a product, a step against the CPU's, its recording, and its profile.
check smoke
for kind in conv conv_relu conv_statistics conv_grad_input_sum 'conv .*groups: 64'; do
	calls conv_checks " bf16 $kind" 2
done
calls optest 'relu'
calls optest 'matmul'
calls compare_steps 'smoke/step-cpu smoke/step$'
calls dlx-train '--device=cuda .*--bench=20 ' 2
calls dlx-train '--bench=20 .*--profile'
grep -E '^(dlx-train|optest)\|.*--device=cuda' called | grep -v -e '--wisdom[ =]engines.wisdom' -e ' dense ' -e '--check' &&
	fail "other files of engines"
grep -v -e '|engines=first|' -e ' --check ' called | grep -e '--wisdom' && fail "engines are measured where no time is for it"

# Steps of all networks in each type, twice the same bits, and against the CPU; windows that begin anywhere are among them.
check steps
for type in f32 bf16 fp16 tf32; do
	for n in windows tiramisu-small deepcam-mlperf-small resnet-18-small cosmoflow-mlperf-small; do
		calls compare_steps "-t 0 steps/$n:$type-gpu steps/$n:$type-twice\$"
		calls compare_steps "steps/$n:$type-cpu-f32 steps/$n:$type-gpu"
		calls compare_steps "steps/$n:$type-cpu-f32 steps/$n:$type-plain"
	done
done

# Training: stopped and resumed, with launches that overlap, two places for a batch, and all kernels in line.
mkdir packed/data
: >packed/data/coads-train.dlx
check train
for type in f32 bf16 fp16; do
	calls dlx-train "run.dir=train/runs-$type/stop .*--resume"
	for how in 'two-places skip=intake' 'in-line skip=second_stream'; do
		grep "|engines=first,${how#* }|" called | grep -q "run.dir=train/runs-$type/${how% *} " || fail "no training in $type with ${how#* }"
	done
done

# Two ranks on one GPU: a step against the CPU's, steps that are recorded, and sums that arrive a step later, in either type.
mkdir packed/mpi
# shellcheck disable=SC2016
printf '#!/bin/sh\necho "mpiexec|${NCCL_MULTI_RANK_GPU_ENABLE-}|$*" >>%s\nshift 2\nexec "$@"\n' "$work/called" >packed/mpi/mpiexec
chmod 755 packed/mpi/mpiexec
DLX_CHECK_NCCL=23002 check 'ranks/two*'
[ ! -e called ] || ! grep '^mpiexec' called || fail "an NCCL that does not take them is given two ranks"
DLX_CHECK_NCCL=23003 check ranks/two ranks/two-late
calls compare_steps 'ranks/two-cpu ranks/two-cuda$'
calls mpiexec '^mpiexec\|1\|-n 2 .*--device=cuda .*--bench=20 ' 3
for wire in f32 bf16; do
	calls mpiexec "--set parallel.gradient_lag=1 --set precision.wire=$wire"
done

# What is timed has the machine for itself, all else does not.
for part in smoke ops engines steps errors train curves sanitize bench measured gaps memory ranks; do
	case $part in
	bench | measured | gaps | memory | ranks) jobs=1 ;;
	*) jobs=3 ;;
	esac
	check "$part/no-such-item"
	says out "$part: 0 items to do, $jobs at a time"
done
# Engines are measured by the part of that name alone.
check measured
calls dlx-train '^dlx-train\|\|.*--wisdom engines.wisdom .*--profile' 5
check bench/resnet-50:1
calls dlx-train '^dlx-train\|engines=first\|.*--profile'
# Three calls have each part once, what must work for all else first, and time nothing before steps are right.
rm -rf results
export DLX_CHECK_OPS=relu DLX_CHECK_STEPS=tiny DLX_CHECK_TYPES=f32 DLX_CHECK_ENGINES=bf16:plain DLX_CHECK_TOOLS=memcheck
for call in 1 2 3; do
	capped packed/check call $call -o results -a home --restore home/logs.tar.gz >out 2>err </dev/null
	sed -n 's/^\([a-z]*\): [0-9]* items to do, .*/\1/p' out
done >parts
[ "$(head -n 1 parts)" = smoke ] || fail "the calls begin with $(head -n 1 parts)"
[ "$(sort parts | tr '\n' ' ')" = 'bench curves engines errors gaps measured memory ops peer ranks sanitize smoke steps train ' ] ||
	fail "the calls have other parts: $(tr '\n' ' ' <parts)"
[ "$(grep -x -e steps -e bench -e measured -e peer -e gaps parts | head -n 1)" = steps ] || fail "something is timed before steps are right"
# What a part has done is at home before the next one ends, but for what is large; on the machine where it was done what is newer stays.
rm -rf results out
mkdir -p results/ops
head -c 3000000 /dev/zero >results/ops/large.log
mv packed/bin/conv_checks conv_checks
printf '#!/bin/sh\nuntil [ -e %s ]; do sleep 0.05; done\n' "$work/go" >packed/bin/conv_checks
chmod 755 packed/bin/conv_checks
capped packed/check -o results -a lost ops engines >out 2>err </dev/null &
running=$!
reached out 'engines: 1 items to do' $running
[ -e lost/logs.tar.gz ] && tar tzf lost/logs.tar.gz >brought || : >brought
: >go
ends $running
for f in relu.passed relu.log items; do
	grep -q -x "./ops/$f" brought || fail "ops/$f is lost with the machine"
done
grep large.log brought && fail "what is large is brought home"
mv conv_checks packed/bin/conv_checks
echo newer >results/ops/relu.log
capped packed/check -o results --restore lost/logs.tar.gz ops >out 2>err </dev/null
says out 'ops: 0 items to do'
says results/ops/relu.log newer
capped packed/check -o another --restore lost/logs.tar.gz ops >out 2>err </dev/null
says out 'restored: '
says out 'ops: 0 items to do'
# A library that is missing is said before anything else goes wrong.
printf '#!/bin/sh\necho "libnvrtc.so.13     not found"\n' >packed/libraries
check smoke/libraries
says out 'failed smoke/libraries'
says out 'error: libnvrtc.so.13     not found'
pass
