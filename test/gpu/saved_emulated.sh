#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A GPU copies the state for a checkpoint next to the forward and backward of the next step. Copies that are made as late as is legal
# have the bits of their step, which a run that ends there saves, running statistics too; where updates do not wait for them, they have not.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
coads_data
cp "$DLX_SOURCE/test/train/tiny.yaml" .

small() {
	capped $ranks "$emulated" --device=cuda --quiet --set 'data.transforms=[{crop: {size: [10, 14]}}]' \
		--set data.validation=null --set train.batch_size=1 --set precision.allow_emulation=true \
		--set checkpoint.keep.last=9 --set checkpoint.every.steps=1 "$@" tiny.yaml
}
ranks=

# state RUN STEP: hash of the state in the version of that step.
state() {
	sed -n '/^  "tensors"/,/^  ]/p' "runs/$1/checkpoints/versions/$(printf %012d "$2")"-*.json | sha256sum
}
# held LAST NAME OPTION...: a run of six steps, of which the last is the recording's run number LAST: what is saved after it is not
# held back, as no step follows.
held() {
	last=$1 name=$2
	shift 2
	DLX_EMULATE_HOLD=$last expect 0 small --set run.dir="runs/$name" --set train.steps=6 "$@"
}
# same NAME OPTION...: what it saved is what runs save that end with steps 1, 2 and 4, after which the next one is launched kernel by
# kernel, recorded, and run again.
same() {
	name=$1
	shift
	for step in 1 2 4; do
		expect 0 small --set run.dir="runs/$name-$step" --set train.steps=$step "$@"
		[ "$(state "$name" $step)" = "$(state "$name-$step" $step)" ] || fail "$name: the version of step $step has other bits"
	done
}
with() {
	held "$@"
	shift
	same "$@"
}
with 5 plain
adam='{type: adam, learning_rate: 0.003, average: {decay: 0.9}}'
with 5 adam --set "optimizer=$adam" --set train.clip_norm=1.0
with 10 accumulated --set train.accumulate=2
with 5 lag --set parallel.gradient_lag=1
# The scale overflows at first: steps are left out.
with 5 scaled --set precision.compute=fp16 \
	--set 'precision.loss_scale={type: dynamic, start: 6.338253001141147e+29, most: 1.0e+30, factor: 65536}'
# Node by node, then kernel by kernel, then recorded.
held 2 traced --trace=trace.json --trace-steps=3
same traced

# Without the wait of the captured step there is a later step's state.
DLX_EMULATE_EXTERNAL=ignored held 5 early
[ "$(state early 4)" != "$(state plain 4)" ] || fail "updates need not wait for copies"

# A kernel that goes wrong while the state is copied: that version is not there, the one before is.
DLX_EMULATE_HOLD=9 DLX_EMULATE_FAIL=3 expect 69 small --set run.dir=runs/wrong --set train.steps=6
says err 'an illegal memory access was encountered'
ls runs/wrong/checkpoints/versions | grep -q '^000000000001' || fail "no version of the first step"
expect 0 small --set run.dir=runs/wrong --set train.steps=6 --resume
[ "$(state wrong 6)" = "$(state plain 6)" ] || fail "the run goes on with other bits"

several_ranks
export DLX_EMULATE_GPUS=0,1
ranks='mpiexec -n 2'
with 5 ranks
pass
