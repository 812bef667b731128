#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A run that was stopped and resumed ends with the same bits as one that never stopped, wherever it was stopped, also in the middle
# of an epoch and with accumulation.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml

run() {
	dir=$1
	shift
	expect 0 "$train" --set run.dir="$dir" "$@" "$config"
}

run runs/whole
want=$(newest_state runs/whole)
run runs/again
[ "$(newest_state runs/again)" = "$want" ] || fail "the same run twice gave other bits"

for stop in 1 3 4 7; do
	run "runs/stop$stop" --set train.steps=$stop
	run "runs/stop$stop" --resume
	says out 'resuming from checkpoint'
	[ "$(newest_state "runs/stop$stop")" = "$want" ] || fail "stopped after step $stop: other bits than the whole run"
	[ "$(grep -l '"parents": \["0*'$stop- runs/stop$stop/checkpoints/versions/*.json | wc -l)" -eq 1 ] ||
		fail "stopped after step $stop: the resumed run's checkpoint does not name its parent"
done

begin "a longer run of a schedule that ends with the run"
steady='{type: polynomial, warmup: 1}'
run runs/longer --set schedule="$steady" --set train.steps=4
run runs/longer --resume --set schedule="$steady" --set train.steps=8
says err 'the learning rate goes on from 0.01667 to 0.02857: the schedule stretches over {steps: 8}, no longer over {steps: 4}; '
says err "'schedule.over: {steps: 4}' keeps it"
grep -q '"type": "step", "step": 5, .*"learning_rate": 0.0285714' runs/longer/metrics.jsonl || fail 'another rate than was said'
run runs/kept --set schedule="$steady" --set train.steps=4
run runs/kept --resume --set schedule="$steady" --set schedule.over=4 --set train.steps=8
if grep -q 'goes on from' err; then fail 'nothing stretches'; fi

begin "a resumed run at its end validates once more, and its journal has each validation once"
run runs/again --resume
[ "$(grep -o '"type": "validation", "step": [0-9]*' runs/again/metrics.jsonl | tr -dc '0-9\n' | tr '\n' ' ')" = '3 6 9 ' ] ||
	{ cat runs/again/metrics.jsonl; fail "the validations of a run that was resumed at its end are not each there once"; }

begin "the number of threads"
run_with() {
	threads=$1
	shift
	OMP_NUM_THREADS=$threads run "$@"
}
run_with 2 runs/threads --set train.steps=4
grep -q '"threads": "2"' runs/threads/checkpoints/versions/*.json || fail "the checkpoint does not know the number of threads"
run_with 2 runs/threads --set train.steps=5 --resume
grep -q 'threads' err && { cat err; fail "the same threads, but a warning says otherwise"; }
run_with 1 runs/threads --set train.steps=6 --resume
says err 'was made with other threads (2; now 1): the bits will not be those of a run that never stopped'
for threads in 1 2; do
	run_with $threads runs/equal-$threads --set parallel.reproducible=true
done
run_with 2 runs/equal --set parallel.reproducible=true --set train.steps=4
run_with 1 runs/equal --set parallel.reproducible=true --resume
grep -q 'other threads' err && { cat err; fail "a warning about threads that do not matter"; }
for run in runs/equal-2 runs/equal; do
	[ "$(newest_state $run)" = "$(newest_state runs/equal-1)" ] || fail "$run: parallel.reproducible, but threads show in the bits"
done

begin "changes are printed, and nothing else"
run runs/changed --set train.steps=2
run runs/changed --set train.steps=2 --resume
grep -q ' was ' err && { cat err; fail "nothing changed, but a note says so"; }
run runs/changed --set train.steps=4 --resume --set loss=focal --set 'data.transforms=[{crop: {size: [45, 62]}}]' \
	--set optimizer.learning_rate=0.01
for change in "'train.steps' was 2 and is 4" "'optimizer.learning_rate' was 0.05 and is 0.01" \
	"'loss.type' was softmax_cross_entropy and is focal" "'loss.gamma' was absent" "'data.transforms' was "; do
	says err "$change"
done
grep -q 'model' err && { cat err; fail "a note on what did not change"; }

run runs/accumulated --set train.accumulate=2 --set train.clip_norm=1.0 --set train.steps=5
run runs/accumulated-stop --set train.accumulate=2 --set train.clip_norm=1.0 --set train.steps=3
run runs/accumulated-stop --set train.accumulate=2 --set train.clip_norm=1.0 --set train.steps=5 --resume
[ "$(newest_state runs/accumulated)" = "$(newest_state runs/accumulated-stop)" ] || fail "accumulation: other bits"

begin "optimizers: five steps, and two and three"
# optimizer NAME CONFIG SETTING...
optimizer() {
	name=$1
	shift
	run "runs/$name" "$@" --set train.steps=5
	run "runs/$name-stop" "$@" --set train.steps=2
	run "runs/$name-stop" "$@" --set train.steps=5 --resume
	[ "$(newest_state "runs/$name")" = "$(newest_state "runs/$name-stop")" ] || fail "$name: other bits"
}
optimizer adam --set 'optimizer={type: adam, learning_rate: 0.01}'
optimizer lars --set 'optimizer={type: sgd, momentum: 0.9, trust: lars}'
optimizer rmsprop --set 'optimizer={type: rmsprop, momentum: 0.9, learning_rate: 0.001}'
optimizer larc --set 'optimizer={type: adam, trust: {type: larc, variant: stemdl}}' --set train.accumulate=2
optimizer lamb --set 'optimizer={type: lamb, learning_rate: 0.01}'

begin "another seed, batch size or network is refused with the difference named"
expect 78 "$train" --set run.dir=runs/whole --set run.seed=4 --resume "$config"
says err 'seed'
expect 78 "$train" --set run.dir=runs/whole --set train.batch_size=2 --resume "$config"
says err 'batch size'
expect 78 "$train" --set run.dir=runs/whole --set model.growth=5 --set train.steps=20 --resume "$config"
says err 'tensor'

begin "a folder that holds a run is not overwritten"
expect 73 "$train" --set run.dir=runs/whole "$config"
says err '--resume'
pass
