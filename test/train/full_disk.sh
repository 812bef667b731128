#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A disk that fills up while a checkpoint is written leaves the last good one in place, says so, and training goes on; if
# the final save fails the exit status is 74.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml

expect 0 "$train" --set run.dir=runs/a --set train.steps=3 "$config"
good=$(newest_state runs/a)
n=1
failures=0
while [ $n -le 40 ]; do
	DLX_FAULT=write:$n+ "$train" --set run.dir=runs/a --set train.steps=6 --resume "$config" >out 2>err
	status=$?
	[ $status -eq 0 ] && break
	[ $status -eq 74 ] || { cat out err; fail "write $n failing: exit status $status instead of 74"; }
	[ "$(newest_state runs/a)" = "$good" ] || fail "write $n failing: the good checkpoint is gone"
	failures=$((failures + 1))
	n=$((n + 1))
done
[ $failures -ge 3 ] || fail "only $failures writes could fail"
[ $n -le 40 ] || fail "still failing after $n writes"
pass
