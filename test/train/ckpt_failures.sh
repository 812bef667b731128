#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# checkpoint.every.failures: the first version comes after a twentieth of that time at the latest, later ones by what they are measured
# to cost, which is reported and in metrics.jsonl; the numbers trained are those of a run without it, on several ranks too.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml

expect 0 "$train" --quiet --set run.dir=runs/whole "$config"
# paced RUN COMMAND...: this many failures that every save is followed by another one soon.
paced() {
	dir=$1
	shift
	expect 0 "$@" --set run.dir="$dir" --set checkpoint.keep.best=0 --set 'checkpoint.every={failures: 10ms}' "$config"
	says err 'of training: the next ones come every '
	grep '"type": "checkpoint"' "$dir/metrics.jsonl" >saves
	[ "$(wc -l <saves)" -ge 2 ] || { cat saves; fail "$dir: one checkpoint, as without"; }
	for key in raw staged seconds stall interval; do
		[ "$(grep -c "\"$key\": [0-9]" saves)" -eq "$(wc -l <saves)" ] || { cat saves; fail "$dir: lines without $key"; }
	done
	same_run runs/whole "$dir"
}
paced runs/paced "$train"
# Without failures no interval is reported.
grep '"type": "checkpoint"' runs/whole/metrics.jsonl >saves
! grep -q interval saves || fail "an interval without failures"
# A time that a mean of failures is not.
expect 78 "$train" --set 'checkpoint.every={failures: -1}' "$config"
expect 0 "$train" --quiet --set run.dir=runs/never --set checkpoint.keep.best=0 --set 'checkpoint.every={failures: 300h}' "$config"
[ "$(grep -c '"type": "checkpoint"' runs/never/metrics.jsonl)" -eq 1 ] || fail "a failure in 300 hours, and more than one checkpoint"

has_ranks || pass
expect 0 on_ranks 2 "$train" --quiet --set run.dir=runs/two "$config"
expect 0 on_ranks 2 "$train" --set run.dir=runs/two_paced --set checkpoint.keep.best=0 --set 'checkpoint.every={failures: 10ms}' "$config"
[ "$(grep -c '"type": "checkpoint"' runs/two_paced/metrics.jsonl)" -ge 2 ] || fail "two ranks: one checkpoint"
same_run runs/two runs/two_paced
pass
