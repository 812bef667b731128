#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# --replay: the steps between two checkpoints come again with the same bits, also across epochs, with a resume in between, with
# accumulation, a rate that falls by validations, and on two ranks; a config that is another one is seen, and the first checkpoint
# from which on; nothing is written.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
export OMP_NUM_THREADS=1

# tree RUN: all of its files and what is in them
tree() {
	find "$1" -type f | sort | xargs sha256sum
}
# replay STATUS RUN RANGE OPTION...: leaves the run as it was
replay() {
	status=$1 run=$2 range=$3
	shift 3
	tree "$run" >before
	expect "$status" "$train" --set run.dir="$run" --replay "$range" "$@" "$config"
	tree "$run" >after
	cmp -s before after || fail "--replay $range changed $run"
}
run() {
	dir=$1
	shift
	expect 0 "$train" --quiet --set run.dir="$dir" --set checkpoint.every.steps=2 --set checkpoint.keep.last=9 "$@" "$config"
}
every='--set checkpoint.every.steps=2 --set checkpoint.keep.last=9'

run runs/whole
for range in 0..9 0..2 2..4 4..9 2..9; do
	replay 0 runs/whole $range $every
	says out 'tensors have the same bits'
done
says out '7 steps made again, from step 2'
# the run's folder is its config
expect 0 "$train" --replay 2..last runs/whole
replay 0 runs/whole 2..9 $every --first
for step in 4 6 8 9; do
	says out "checkpoint $step-"
done

# Resumed in between: the same line of checkpoints.
run runs/resumed --set train.steps=3
run runs/resumed --resume
replay 0 runs/resumed 2..9 $every
replay 0 runs/resumed 3..9 $every

# Another rate from step 5 on, by which the last two differ.
run runs/other --set train.steps=4
run runs/other --resume --set optimizer.learning_rate=0.04
replay 0 runs/other 2..4 $every
replay 1 runs/other 2..9 $every
says out 'values, by '
says out '.weight'
grep -q 'by 0 at most' out && { cat out; fail "a difference that is none"; }
replay 1 runs/other 0..9 $every --first
says out 'checkpoint 6-'
grep -q 'checkpoint [89]-' out && { cat out; fail "it continued after the first"; }
replay 0 runs/other 4..9 $every --set optimizer.learning_rate=0.04

# Accumulation and averages; a rate that falls by validations.
set -- --set train.accumulate=2 --set 'optimizer={type: adam, learning_rate: 0.01, average: {decay: 0.9}}'
run runs/adam "$@"
replay 0 runs/adam 2..9 $every "$@"
set -- --set 'schedule={type: plateau, patience: 1, factor: 0.1}' --set train.validate.steps=1 --set optimizer.learning_rate=1
run runs/plateau "$@"
[ "$(sed -n 's/.*"type": "step".*\("learning_rate": [^,]*\),.*/\1/p' runs/plateau/metrics.jsonl | sort -u | wc -l)" -gt 1 ] ||
	fail "the rate never fell"
replay 0 runs/plateau 2..8 $every "$@"

expect 66 "$train" --set run.dir=runs/whole --replay 2..7 $every "$config"
expect 66 "$train" --set run.dir=runs/none --replay 0..7 $every "$config"
[ ! -e runs/none ] || fail "a folder was made"
expect 64 "$train" --set run.dir=runs/whole --replay 4..2 $every "$config"
says err 'which is not after step 4'
for range in 4 4.. ..4 4.5; do
	expect 64 "$train" --set run.dir=runs/whole --replay "$range" $every "$config"
	says err 'expected two checkpoints'
done
expect 64 "$train" --first "$config"

if has_ranks; then
	for setting in train.clip_norm=1.0 parallel.gradient_lag=1 parallel.average_statistics=true; do
		set -- --set run.dir=runs/ranks --set train.batch_size=1 --set $setting $every
		rm -rf runs/ranks
		expect 0 on_ranks 2 "$train" --quiet "$@" "$config"
		tree runs/ranks >before
		expect 0 on_ranks 2 "$train" --replay 2..9 "$@" "$config"
		says out 'tensors have the same bits'
		expect 1 on_ranks 2 "$train" --replay 4..9 "$@" --set optimizer.momentum=0.8 "$config"
		expect 66 on_ranks 2 "$train" --replay 3..9 "$@" "$config"
		tree runs/ranks >after
		cmp -s before after || fail "--replay on two ranks changed the run"
	done
fi
pass
