#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A disk that fills up while a checkpoint is written leaves the last good one in place, says so, and training goes on; if
# the final save fails the exit status is 74. A run that ends with 0 has saved its end, whatever failed before.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml

expect 0 "$train" --set run.dir=runs/a --set train.steps=3 "$config"
good=$(newest_state runs/a)
n=1
failures=0
while [ $n -le 1000 ]; do
	DLX_DEBUG=$(debug fault=write:$n+) "$train" --set run.dir=runs/a --set train.steps=6 --resume "$config" >out 2>err
	status=$?
	[ $status -eq 0 ] && break
	[ $status -eq 74 ] || { cat out err; fail "write $n failing: exit status $status instead of 74"; }
	grep -q 'the last good checkpoint' err || {
		cat out err
		fail "write $n failing: nothing is said of the last good checkpoint"
	}
	[ "$(newest_state runs/a)" = "$good" ] || fail "write $n failing: the good checkpoint is gone"
	failures=$((failures + 1))
	n=$((n + 1))
done
[ $failures -ge 3 ] || fail "only $failures writes could fail"
[ $n -le 1000 ] || fail "still failing after $n writes"

# One write alone fails, of a run that saves after each step.
every() { "$train" --set run.dir="$1" --set train.steps=3 --set checkpoint.every.steps=1 "$config"; }
expect 0 every runs/whole
whole=$(newest_state runs/whole)
n=1
survived=0
while [ $n -le 1000 ]; do
	DLX_DEBUG=$(debug fault=write:$n) every runs/b$n >out 2>err
	status=$?
	[ $status -eq 0 ] || [ $status -eq 74 ] || { cat out err; fail "only write $n failing: exit status $status"; }
	if [ $status -eq 0 ]; then
		[ "$(newest_state runs/b$n)" = "$whole" ] || { cat out err; fail "write $n failing: the end is not saved"; }
		grep -q 'No space left on device' err || break
		survived=$((survived + 1))
	fi
	rm -rf runs/b$n
	n=$((n + 1))
done
[ $n -le 1000 ] || fail "still failing after $n writes"
[ $survived -ge 3 ] || fail "only $survived failures were survived"

# A line of metrics.jsonl that cannot be written (the first is of the start) ends the run, but with its state saved: resumed, it ends
# as if it had never stopped.
n=2
while [ $n -le 5 ]; do
	DLX_DEBUG=$(debug fault=append:$n) "$train" --set run.dir=runs/c$n --set train.steps=3 --set report.tensorboard=false "$config" >out 2>err
	status=$?
	[ $status -eq 74 ] || { cat out err; fail "line $n failing: exit status $status instead of 74"; }
	says err 'metrics.jsonl'
	says err 'continue with --resume'
	[ "$(wc -l <runs/c$n/metrics.jsonl)" -eq $((n - 1)) ] || fail "line $n failing: other lines than those before it"
	expect 0 "$train" --set run.dir=runs/c$n --set train.steps=3 --set report.tensorboard=false --resume "$config"
	says out 'resuming from checkpoint'
	[ "$(newest_state runs/c$n)" = "$whole" ] || fail "line $n failing, resumed: other bits"
	n=$((n + 1))
done
# So does the line of a checkpoint before, while the end is saved.
n=4
while [ $n -le 8 ]; do
	DLX_DEBUG=$(debug fault=append:$n) "$train" --set run.dir=runs/d$n --set train.steps=4 --set report.tensorboard=false \
		--set checkpoint.every.steps=3 "$config" >out 2>err
	status=$?
	[ $status -eq 74 ] || { cat out err; fail "line $n failing: exit status $status instead of 74"; }
	made=$(grep -c '"type": "step"' runs/d$n/metrics.jsonl)
	[ "$(ls runs/d$n/checkpoints/versions | sed -n 's/^0*\([0-9]*\)-.*/\1/p' | sort -n | tail -n 1)" -ge "$made" ] ||
		fail "line $n failing: step $made is not saved"
	n=$((n + 1))
done
pass
