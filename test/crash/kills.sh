#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# kill -9 of runs that save after each step: at random times and at the points of a save that DLX_DEBUG=crash_at names, of one
# process and of one of two ranks or both, also with versions on hosts' own disks. After each kill the run goes on from what it reported as saved, or from a newer version, and
# at its end it has the bits of one that was not disturbed. 20 kills, or 1000, or as many as the argument says. test/adversary/kills has a network of
# another kind and no checks of bits.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
sed 's/crop: {size: .*}/crop: {size: [20, 28]}/' "$DLX_SOURCE/test/train/tiny.yaml" >tiny.yaml
export OMP_NUM_THREADS=1
DLX_DEBUG=$(debug join_timeout=30)
kills=${1:-$(form 20 1000)}
ranked=$((kills / 4))
has_ranks || ranked=0
set -- --set train.steps=24 --set train.batch_size=1 --set checkpoint.every.steps=1 --set checkpoint.keep.last=2 \
	--set parallel.timeout=40s          # longer than rank 0 waits for the packs of other ranks

# drawn I LEAST MOST: a random number that I alone decides.
drawn() {
	awk -v i="$1" -v a="$2" -v b="$3" 'BEGIN { srand(i * 7 + a * 3 + b); rand(); print a + (b - a) * rand() }'
}

# reported RUN: the steps of the newest version that the run said to be saved; 0: none.
reported() {
	sed -n 's/.*"type": "checkpoint", "step": \([0-9]*\),.*/\1/p' "$1/metrics.jsonl" 2>/dev/null | sort -n | tail -n 1 | grep . || echo 0
}

# kept RUN: the steps of the newest version that is there, in the run's store or on a host's disk.
kept() {
	ls "$1"/checkpoints/versions disks/*/versions 2>/dev/null | sed -n 's/^0*\([0-9][0-9]*\)-.*/\1/p' | sort -n | tail -n 1
}

# saved_or_ended: whether the run has saved a version since it began, or is no more.
saved_or_ended() {
	[ "$(reported "$run")" -gt "$before" ] || ! alive $pid
}

# one NUMBER RUN RANKS OPTION...: starts the run and kills it. Sets status.
one() {
	i=$1 run=$2 ranks=$3
	shift 3
	before=$(reported "$run")
	victim=$((i / 3 % ranks))
	switches=$DLX_DEBUG
	how=$((i % 4))
	if [ $how -eq 3 ]; then
		point=$(echo ckpt_staged ckpt_chunk ckpt_pack ckpt_manifest ckpt_durable ckpt_removed ckpt_collected ckpt_cleaned |
			cut -d' ' -f$((i / 4 % 8 + 1)))
		switches=$(debug crash_at=$point#$((i / 32 % 5 + 1)))
		named=$((named + 1))
	fi
	rm -f pid.*
	if [ "$ranks" -eq 1 ]; then
		DLX_DEBUG=$switches "$train" --set run.dir="$run" "$@" --resume tiny.yaml >out 2>err </dev/null &
		pid=$!
		echo $pid >pid.0
	else
		V=$victim S=$switches capped mpiexec $([ $((i % 2)) -eq 0 ] || echo -disable-auto-cleanup) -n "$ranks" sh -c \
			'echo $$ >pid.$PMI_RANK; [ "$PMI_RANK" -ne "$V" ] || export DLX_DEBUG=$S; exec "$@"' sh \
			"$train" --set run.dir="$run" "$@" --resume tiny.yaml >out 2>err </dev/null &
		pid=$!
	fi
	case $how in
	0) sleep "$(drawn "$i" 0 0.6)" ;;
	1 | 2)                          # while it trains
		await saved_or_ended
		sleep "$(drawn "$i" 0 0.08)"
		;;
	esac
	if [ $how -ne 3 ]; then
		[ -f pid.$victim ] && kill -s KILL "$(cat pid.$victim)" 2>/dev/null
		[ $((i % 5)) -ne 0 ] || [ ! -f pid.$((1 - victim)) ] || kill -s KILL "$(cat pid.$((1 - victim)))" 2>/dev/null
	fi
	ends $pid
	[ $status -ne 124 ] || { cat out err; fail "kill $i of $ranks ranks: it hangs"; }
	# Only the third run in a row that got nowhere goes back, and says so.
	from=$(sed -n 's/.*resuming from checkpoint .*(step \([0-9]*\)[,)].*/\1/p' out)
	[ -z "$from" ] || [ "$from" -ge "$before" ] || grep -q 'runs in a row' err ||
		{ cat out err; fail "kill $i of $ranks ranks: it goes on from step $from, but step $before was saved"; }
	now=$(reported "$run")
	[ "$now" -eq 0 ] || [ "$(kept "$run")" -ge "$now" ] || grep -q 'runs in a row' err ||
		{ cat out err; ls "$run/checkpoints/versions" disks/*/versions; fail "kill $i of $ranks ranks: step $now was saved and is lost"; }
}

# chain RANKS KILLS OPTION...: kills runs until there were this many; each run ends some time.
chain() {
	ranks=$1 count=$2
	shift 2
	[ -d runs/whole-"$ranks" ] || expect 0 on_ranks "$ranks" "$train" --set run.dir=runs/whole-"$ranks" "$@" tiny.yaml
	want=$(newest_state runs/whole-"$ranks")
	done_kills=0 number=0
	rm -rf runs/a disks
	while [ $done_kills -lt "$count" ]; do
		one $number runs/a "$ranks" "$@"
		number=$((number + 1))
		if [ $status -ne 0 ]; then
			done_kills=$((done_kills + 1))
			continue
		fi
		[ "$(newest_state runs/a)" = "$want" ] || { cat out err; fail "after kills ($ranks ranks, number $number): other bits"; }
		ended=$((ended + 1))
		rm -rf runs/a
	done
	[ ! -d runs/a ] && return
	expect 0 on_ranks "$ranks" "$train" --set run.dir=runs/a "$@" --resume tiny.yaml
	[ "$(newest_state runs/a)" = "$want" ] || { cat out err; fail "after the last kill ($ranks ranks): other bits"; }
	ended=$((ended + 1))
}

begin=$(date +%s)
named=0 ended=0
mkdir runs
chain 1 $((kills - ranked)) "$@"
[ $ranked -eq 0 ] || chain 2 $((ranked - ranked / 2)) "$@"
DLX_DEBUG=$(debug ranks_per_host=1)
[ $ranked -eq 0 ] || chain 2 $((ranked / 2)) "$@" --set checkpoint.every.steps=7 --set checkpoint.local.every.steps=1 \
	--set checkpoint.local.dir="$PWD/disks"
echo "kills: $kills, of one of two ranks: $ranked, tried at named points: $named; runs that ended with their bits: $ended, wrong: 0 ($(($(date +%s) - begin)) s)"
pass
