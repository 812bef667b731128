#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A record or a checkpoint that another program cuts off or overwrites while it is read: status 74 with its name, and the run goes on from
# what was saved before, with the bits of one that was not disturbed.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
set -- --set checkpoint.every.steps=3 --set train.steps=15
expect 0 "$train" --set run.dir=runs/whole "$@" "$config"
want=$(newest_state runs/whole)
mkdir kept
cp data/coads-train.dlx data/coads-validation.dlx kept

# disturbed RUN COMMAND...: runs COMMAND after the fifth step of a run.
disturbed() {
	run=runs/$1
	shift
	"$train" --set run.dir="$run" --set checkpoint.every.steps=3 --set train.steps=1000000 "$config" >out 2>err &
	pid=$!
	reached "$run/metrics.jsonl" '"type": "checkpoint", "step": 3' $pid
	"$@"
	ends $pid
}

cut_off() {
	: >data/coads-train.dlx
}
shorten() {
	head -c 300000 kept/coads-train.dlx >data/coads-train.dlx
}
overwrite() {
	cp kept/coads-validation.dlx data/coads-train.dlx
}
for how in cut_off shorten overwrite; do
	disturbed $how $how
	[ $status -eq 74 ] || { cat out err; fail "$how: exit status $status instead of 74"; }
	grep -q "coads-train.dlx' \(ends at byte\|was changed while\)" err || { cat err; fail "$how: the file is not named"; }
	says err 'the last good checkpoint in'
	cp kept/coads-train.dlx data/coads-train.dlx
	step=$(sed -n 's/.*"type": "step", "step": \([0-9]*\),.*/\1/p' runs/$how/metrics.jsonl | tail -n 1)
	# What was saved is what any run has at that step.
	expect 0 "$train" --set run.dir=runs/$how --set checkpoint.every.steps=3 --set train.steps=$((step + 15)) --resume "$config"
	says out 'resuming from checkpoint'
	expect 0 "$train" --set run.dir=runs/$how-whole --set checkpoint.every.steps=1000000 --set train.steps=$((step + 15)) "$config"
	[ "$(newest_state runs/$how)" = "$(newest_state runs/$how-whole)" ] || fail "$how: other bits than the whole run"
done

# The same to dlx-inspect --verify, and to a file that was changed before a process began: that is damage, 65.
: >data/coads-train.dlx
expect 65 "$inspect" data/coads-train.dlx
cp kept/coads-train.dlx data/coads-train.dlx

# A checkpoint that is overwritten again and again while it is read: it is read as it was, or the error names it.
newest=$(basename "$(version_of runs/whole)" .json)
pack=$(find runs/whole/checkpoints/packs -name '*.pack' | sort | tail -n 1)
cp "$pack" kept/pack
while [ ! -f enough ]; do
	cp kept/pack "$pack"
	head -c 1000 kept/pack >"$pack"
	cp kept/pack "$pack"
done &
writer=$!
i=0
while [ $i -lt 20 ]; do
	"$train" --set run.dir=runs/whole --resume="$newest" --evaluate "$config" >out 2>err
	status=$?
	case $status in
	0) ;;
	65 | 74) says err "${pack##*/}" ;;
	*) touch enough; cat out err; fail "a checkpoint that changes: exit status $status" ;;
	esac
	i=$((i + 1))
done
touch enough
ends $writer
[ "$(newest_state runs/whole)" = "$want" ] || fail "the checkpoint is another one"
pass
