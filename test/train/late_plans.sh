#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Plans that the first step does not wait for. What a config says wrong about validation is found before it all the same; memory that cannot be
# had for a late plan ends the run (all ranks of it, reported once), and what was learned is saved.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
export OMP_NUM_THREADS=1
# Evaluations of whole fields are planned at once: they may need more than training.
config=centre.yaml
sed 's/crop: {size: .*}/crop: {size: [45, 62], validation: centre}/' "$DLX_SOURCE/test/train/tiny.yaml" >$config

# refused STATUS TEXT OPTIONS...: before the first step, by --check too.
refused() {
	status=$1
	text=$2
	shift 2
	for command in --quiet --check; do
		expect "$status" "$train" $command "$@" "$config"
		says err "$text"
		[ ! -e runs/tiny/metrics.jsonl ] || fail "a step was made: $text"
	done
}
refused 66 "cannot open 'none.dlx'" --set data.validation=none.dlx
refused 78 "accuracy" --set 'metrics=[accuracy, mae]'
# Under a limit evaluations are planned at once, since they have to fit too.
refused 78 "train.memory" --set train.memory.limit=1MiB

# A last batch of one sample and one point has no variance, which matters if the run comes to it.
points='model={family: layers, layers: [{conv2d: {filters: 4, kernel: 1}}, batch_norm, {conv2d: {filters: 4, kernel: 1}}]}'
set -- --set "$points" --set 'data.transforms=[{crop: {size: 1, validation: centre}}]' --set train.batch_size=7
refused 78 "for the last batch of an epoch, of 1; 'data: {keep_short_batch: false}' leaves it out" "$@"
expect 0 "$train" --quiet "$@" --set run.dir=runs/one --set train.steps=1 "$config"
expect 0 "$train" --quiet "$@" --set run.dir=runs/full --set data.keep_short_batch=false "$config"

expect 0 "$train" --check "$config"
says out 'arena of an evaluation'
expect 0 "$train" --plan=json "$config"
says out '"evaluation_arena": '

# The whole run, for comparison.
expect 0 "$train" --quiet --set run.dir=runs/whole "$config"

# Each large allocation that fails: some before the first step, some for the plan of the short batch at step 3 or of the
# evaluation after it.
early=0
late=0
k=0
fine=0       # in a row: without one of them a run goes on
while [ "$fine" -lt 3 ]; do
	k=$((k + 1))
	[ "$k" -lt 60 ] || fail "60 allocations and no end"
	rm -rf runs/tiny
	DLX_DEBUG=$(debug fault=alloc:$k) "$train" --quiet "$config" >out 2>err
	status=$?
	fine=$((status ? 0 : fine + 1))
	[ "$status" -ne 0 ] || continue
	[ "$status" -eq 69 ] || { cat err; fail "allocation $k: status $status"; }
	[ "$(grep -c '^dlx-train: ' err)" -eq 1 ] || { cat err; fail "allocation $k: not one message"; }
	if [ ! -e runs/tiny/metrics.jsonl ] || ! grep -q '"type": "step"' runs/tiny/metrics.jsonl; then
		early=$((early + 1))
		continue
	fi
	grep -q "dlx-train: .*no memory for '" err || continue       # but for the checkpoint at the end
	late=$((late + 1))
	says err "the last good checkpoint in 'runs/tiny' is in place; continue with --resume"
	expect 0 "$train" --quiet --resume "$config"
	[ "$(newest_state runs/tiny)" = "$(newest_state runs/whole)" ] || fail "allocation $k: another end than that of a whole run"
done
[ "$early" -ge 3 ] && [ "$late" -ge 2 ] || fail "$early allocations failed before the first step, $late later"

# One rank of two fails so: both end, and one says it.
has_ranks || pass
late=0
for k in $(seq $((early + 2)) $((early + 7))); do
	rm -rf runs/tiny
	on_ranks 1 "$train" --quiet "$config" : -n 1 env DLX_DEBUG="$(debug fault=alloc:$k)" "$train" --quiet "$config" >out 2>err
	status=$?
	[ "$status" -ne 0 ] || continue
	[ "$status" -eq 69 ] || { cat err; fail "allocation $k of rank 1: status $status"; }
	[ "$(grep -c '^dlx-train: ' err)" -eq 1 ] || { cat err; fail "allocation $k of rank 1: not one message"; }
	[ -e runs/tiny/metrics.jsonl ] && grep -q '"type": "step"' runs/tiny/metrics.jsonl && grep -q "no memory for '" err || continue
	late=$((late + 1))
	says err 'dlx-train: rank 1 (host '
	expect 0 on_ranks 2 "$train" --quiet --resume "$config"
done
[ "$late" -ge 1 ] || fail "no allocation of rank 1 failed after the first step"
pass
