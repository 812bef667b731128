#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-train --sweep: the runs of a file, one after another and by teams of ranks, each with the bits of the run alone; failures, stops,
# what --resume makes, and mistakes in the file.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
export OMP_NUM_THREADS=1
short="--set train.steps=4"

# ended RUN STATE: the last line of the sweep's file on the run's end says so.
ended() {
	grep '"type": "end"' "$sweep/sweep.jsonl" | grep -F "\"run\": \"$1\"" | tail -n 1 | grep -qF "\"state\": \"$2\"" || {
		cat "$sweep/sweep.jsonl"
		fail "$1 is not $2"
	}
}
# rows N STATE: this many rows of the table in ./out have this state.
rows() {
	[ "$(sed -n '/^run  /,/^$/p' out | grep -c "  $2 ")" -eq "$1" ] || { cat out; fail "not $1 rows are $2"; }
}

# One bad value of six: five rows and a failure, whose place is that of the value, and the exit status says so.
cat >six.yaml <<'EOF'
grid:
  optimizer.learning_rate: [0.01, 0.05, -0.1]
  optimizer.momentum: [0.8, 0.9]
EOF
sed 's/, -0.1//' six.yaml >five.yaml
cat >>five.yaml <<'EOF'
list:
  - {optimizer.learning_rate: 0.1}
  - optimizer.learning_rate: -0.1
EOF
sweep=five
expect 78 "$train" --sweep=five.yaml $short --set run.dir=five "$config"
rows 5 done
rows 1 "failed (78)"
says out "1 of 6 runs failed:"
says out "learning_rate=-0.1: five.yaml:6:30: 'learning_rate' is out of range"
says out "best: "
says err "   6 |   - optimizer.learning_rate: -0.1"
ended learning_rate=0.05,momentum=0.9 done
ended learning_rate=-0.1 failed
expect 0 "$train" $short --set run.dir=alone --set optimizer.learning_rate=0.01 --set optimizer.momentum=0.8 "$config"
same_run alone five/learning_rate=0.01,momentum=0.8

# A sweep that is there is not begun anew; what is missing of it is made, and nothing else.
expect 73 "$train" --sweep=five.yaml $short --set run.dir=five "$config"
says err "holds a sweep already"
sed -i 's/: -0.1/: 0.2/' five.yaml
rm -r five/learning_rate=0.05,momentum=0.8
expect 0 "$train" --resume --sweep=five.yaml $short --set run.dir=five "$config"
[ "$(grep -c ' begins' out)" -eq 2 ] || { cat out; fail "not two runs were missing"; }
rows 6 done

# A run that diverges, and one without data.
cat >hard.yaml <<'EOF'
list:
  - {optimizer: {type: sgd, learning_rate: 1e6, momentum: 0}}
  - {data.train: none.dlx}
  - {optimizer.learning_rate: 0.01}
EOF
expect 76 "$train" --sweep=hard.yaml --set train.steps=40 --set model.batch_norm=none --set run.dir=hard "$config"
rows 1 "failed (76)"
rows 1 "failed (66)"
rows 1 done

# The median rule ends the run that does not learn, with a checkpoint; the others are those of the sweep without it.
cat >stop.yaml <<'EOF'
grid: {optimizer.learning_rate: [0.05, 0.04, 0.06, 0]}
EOF
expect 0 "$train" --sweep=stop.yaml --sweep-stop=median --set train.steps=8 --set "train.validate={steps: 2}" --set checkpoint.metric=loss \
	--set run.dir=stop "$config"
sweep=stop
rows 3 done
rows 1 "called off"
[ "$(steps_of stop/learning_rate=0)" -lt 8 ] || fail "the hopeless run went on to its end"

# Random search draws the same values again, within their ranges.
cat >random.yaml <<'EOF'
random:
  runs: 3
  seed: 5
  settings:
    optimizer.learning_rate: {from: 1e-3, to: 1e-1, scale: log}
    optimizer.momentum: [0.8, 0.9]
    train.batch_size: {from: 2, to: 3, integer: true}
seeds: 7
EOF
for dir in random again; do
	expect 0 "$train" --sweep=random.yaml --set train.steps=1 --set run.dir=$dir "$config"
	ls $dir | grep -v sweep.jsonl | sort >$dir.names
done
cmp random.names again.names || fail "other values were drawn"
[ "$(grep -c '^learning_rate=0\.0[0-9]*,momentum=0\.[89],batch_size=[23],seed=7$' random.names)" -eq 3 ] || { cat random.names; fail "names"; }

# Mistakes in the file, with their places; and options that do not fit.
mistake() {
	echo "$1" >wrong.yaml
	expect 78 "$train" --sweep=wrong.yaml --set run.dir=wrong "$config"
	says err "wrong.yaml:$2"
	[ ! -e wrong ] || fail "a folder was made"
}
mistake "grids: {}" "1:1: unknown key 'grids' in the sweep; did you mean 'grid'?"
mistake "grid: {optimizer.momentum: 0.1}" "1:28: 'optimizer.momentum' needs the list of its values, as [0.1]"
mistake "grid: [1]" "1:7: 'grid' must be a map of settings"
mistake "list: {train.steps: 1}" "1:7: 'list' must be a list of maps"
mistake "random: {runs: 2}" "1:9: 'random' needs 'runs' and 'settings'"
mistake "random: {runs: 2, settings: {train.steps: {from: 3, too: 4}}}" "1:53: unknown key 'too' in 'train.steps'; did you mean 'to'?"
mistake "random: {runs: 2, settings: {train.steps: {from: 3, to: 2}}}" "1:43: 'from' must be less than 'to'"
mistake "random: {runs: 2, settings: {train.steps: {from: 0, to: 2, scale: log}}}" "1:43: 'scale: log' needs a positive 'from'"
mistake "{}" "1:1: the sweep has no runs"
mistake "seeds: one" "1:8: "
echo "ranks: [1, 2]" >wrong.yaml
expect 64 "$train" --sweep=wrong.yaml "$config"
says err "wrong.yaml:1:8: the sweep has runs on 2 ranks, and this job has 1; start more: mpiexec -n 2"
expect 66 "$train" --sweep=missing.yaml "$config"
expect 64 "$train" --sweep-stop=median "$config"
expect 64 "$train" --check --sweep=six.yaml "$config"
expect 64 "$train" --resume=best --sweep=six.yaml "$config"
expect 0 "$train" --help-sweep
says out "scale    one of linear, log (default linear)"

# A signal stops the sweep with checkpoints; --resume ends it with the bits of runs that were not stopped.
echo "seeds: [1, 2]" >seeds.yaml
"$train" --sweep=seeds.yaml --set train.steps=4000 --set run.dir=signal "$config" >out 2>err &
reached signal/seed=1/metrics.jsonl '"step": 3,' $!
stop $!
[ "$status" -eq 75 ] || { cat out err; fail "exit status $status"; }
sweep=signal
ended seed=1 stopped
says out "stopped: 2 of 2 runs are missing"
done_steps=$(steps_of signal/seed=1)
expect 0 "$train" --resume --sweep=seeds.yaml --set train.steps=$((done_steps + 2)) --set run.dir=signal "$config"
expect 0 "$train" --set run.seed=1 --set train.steps=$((done_steps + 2)) --set run.dir=whole "$config"
same_run whole signal/seed=1
pass
