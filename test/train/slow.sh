#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Why a run is slow: made-up counts of control groups and of threads that wait for a processor grow while it runs, and it says so at
# its end, on stderr and in metrics.jsonl. The word slow of DLX_DEBUG takes the place of rates, so that no time is requested.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
tiny=$DLX_SOURCE/test/train/tiny.yaml
export OMP_NUM_THREADS=1

# counts PERIODS THROTTLED MICROSECONDS QUEUED: of the run's group, and the nanoseconds that its one thread had no processor.
counts() {
	mkdir -p host/proc/self/task/1 host/sys/fs/cgroup/job
	echo '0::/job' >host/proc/self/cgroup
	echo '7.50 7.00 6.00 3/400 123' >host/proc/loadavg
	printf 'usage_usec 5\nnr_periods %s\nnr_throttled %s\nthrottled_usec %s\n' "$1" "$2" "$3" >stat.new
	echo "1000 $4 1" >sched.new
	mv stat.new host/sys/fs/cgroup/job/cpu.stat
	mv sched.new host/proc/self/task/1/schedstat
}

# grown DIR PERIODS THROTTLED MICROSECONDS QUEUED: a run during which the counts become these, stopped then or, with $event, when that is
# in its metrics.jsonl.
event=
grown() {
	counts 1000 10 5000 7000
	DLX_DEBUG=$(debug slow=yes "host_root=$PWD/host") "$train" --set run.dir="$1" --set train.steps=100000000 "$tiny" >out 2>err &
	pid=$!
	reached "$1/metrics.jsonl" '"step": 5,' $pid
	counts "$2" "$3" "$4" "$5"
	[ -z "$event" ] || reached "$1/metrics.jsonl" "$event" $pid
	stop $pid
	[ $status -eq 75 ] || { cat out err; fail "the status is not that of a run that was stopped"; }
	grep '"type": "slow"' "$1/metrics.jsonl" | tail -n 1 >line
	[ -s line ] || { cat out err; fail "no line of type 'slow'"; }
}

grown runs/throttled 1100 110 9000005000 7000
says err 'dlx-train: the run is slow ('
says err 'its control group was stopped 100 times (throttled), in 100 % of the periods: 1 compute and '
says err 'OMP_NUM_THREADS'
says line '"reasons": ["throttled"'
says line '"throttled_periods": 100, "throttled_seconds": 9000'
grep -q other_processes line && { cat line; fail "other processes are blamed for the group's quota"; }

grown runs/crowded 1000 10 5000 9000000007000
says err 'its threads had no processor for '
says err 'other processes use it (the load of the machine is 7.5, this run may use '
says err '--cpus-per-task'
says line '"reasons": ["other_processes"'
says line '"queued_seconds": 9000'

# While the run goes on once, and at its end.
event='"type": "slow"' grown runs/going 1100 110 9000005000 7000
[ "$(grep -c '"type": "slow"' runs/going/metrics.jsonl)" -eq 2 ] || fail "not one line during the run and one at its end"
says line throttled

# Both are read by dlx-report, and by a run that goes on.
expect 0 "$report" runs/throttled runs/crowded

# Without reasons or in a short run nothing is said; the bits are the same, and so is the status.
rm -r host
counts 1000 10 5000 7000
DLX_DEBUG=$(debug slow=yes "host_root=$PWD/host") expect 0 "$train" --set run.dir=runs/looked "$tiny"
grep -q 'throttled\|had no processor' err && { cat err; fail "counts that did not grow are a reason"; }
expect 0 "$train" --set run.dir=runs/plain "$tiny"
grep -q '"slow"' runs/plain/metrics.jsonl && fail "nine steps are enough to call a run slow"
for run in looked plain; do
	sed -n 's/.*"type": "\(step\|validation\)".*\("loss": [^,]*\).*/\1 \2/p' runs/$run/metrics.jsonl >$run.losses
done
[ "$(wc -l <plain.losses)" -ge 10 ] || fail "no losses to compare"
cmp looked.losses plain.losses || fail "a look at the speed changes the losses"
pass
