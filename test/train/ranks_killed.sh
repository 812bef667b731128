#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A rank that is killed, stands still or is requested to stop, at any moment: the run ends, and resumed it has the bits of one that was
# not disturbed. Three times, or a hundred times; by hand [TIMES [FIRST]]: from number FIRST on, since each number has a moment of its
# own.
. "${DLX_SOURCE:?}/test/lib.sh"
times=${1:-} first=${2:-0}
find_mpiexec
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
export OMP_NUM_THREADS=1
DLX_DEBUG=$(debug join_timeout=30)      # a rank that ends in MPI_Init is not there for the others to see
set -- --set train.steps=60 --set train.batch_size=1 --set checkpoint.every.steps=7 \
	--set 'data.transforms=[{crop: {size: [20, 28]}}, {normalize: {method: standard, mask: validity}}]'
# For ranks that may stand still; the others take no longer for one thing, also where a disk syncs slowly.
soon="--set parallel.timeout=20s"

# start RUN N OPTION...: N ranks in the background; their numbers in RUN.pid.RANK.
start() {
	run=$1
	n=$2
	shift 2
	rm -f "$run".pid.*
	capped mpiexec -disable-auto-cleanup -n "$n" sh -c 'echo $$ >"$1.pid.$PMI_RANK"; shift; exec "$@"' sh "$run" \
		"$train" --set run.dir="$run" "$@" --resume "$config" >out 2>err </dev/null &
	mpi=$!
}

# whole N OPTION...: what N ranks end with that nothing disturbs.
whole() {
	of=$1
	shift
	[ -d runs/whole-"$of" ] || expect 0 on_ranks "$of" "$train" --set run.dir=runs/whole-"$of" "$@" "$config"
	newest_state runs/whole-"$of"
}

mkdir runs
# All ranks stand still for longer than a rank may, as when a scheduler suspends the job: none of them is missing.
start runs/suspended 2 $soon "$@" --set train.steps=1000000
reached runs/suspended/metrics.jsonl '"step": 2,' $mpi
send STOP $(cat runs/suspended.pid.*)
sleep 24
step=$(grep -c '"type": "step"' runs/suspended/metrics.jsonl)
send CONT $(cat runs/suspended.pid.*)
reached runs/suspended/metrics.jsonl "\"type\": \"step\", \"step\": $((step + 9))," $mpi
kill -s TERM $(cat runs/suspended.pid.*)        # all, though one may end by the first
ends $mpi
[ $status -eq 75 ] || { cat out err; fail "suspended: exit status $status"; }

# Where the launcher leaves the others the time, here because it does not see the end of a process that a shell started, one says which has ended.
rm -f ended.pid.*
capped mpiexec -n 4 sh -c '"$@" & echo $! >"ended.pid.$PMI_RANK"; wait $! || sleep 60' sh "$train" --set run.dir=runs/ended "$@" \
	--set train.steps=1000000 "$config" >out 2>err </dev/null &
mpi=$!
reached runs/ended/metrics.jsonl '"step": 2,' $mpi
send KILL "$(cat ended.pid.2)"
ends $mpi
[ "$(grep -c '^dlx-train: ' err)" -eq 1 ] || { cat err; fail "ended: not one message"; }
says err 'rank 2 (host '
says err ', ended) '

disturb() {
	i=$1
	shift
	late=
	case $((i % 3)) in
	0) sig=KILL ;;
	1) sig=STOP late=$soon ;;
	2) sig=TERM ;;
	esac
	n=$((2 + i / 3 % 3))
	victim=$((i * 7 % n))
	run=runs/$sig-$n-$i
	what="SIG$sig to rank $victim of $n (number $i)"
	want=$(whole $n "$@") || { echo "$want"; exit 1; }
	start "$run" $n $late "$@"
	# While it starts, before its first step, or later; a rank that is stopped in MPI_Init cannot be distinguished from a slow start.
	[ $sig != STOP ] || awaits $mpi test -f "$run/config.yaml"
	sleep "$(awk -v i="$i" 'BEGIN { srand(i + 1); print 0.2 + 1.3 * rand() }')"
	begun=$([ -f "$run/config.yaml" ] && echo yes)
	pid=$(cat "$run.pid.$victim" 2>/dev/null)
	[ -n "$pid" ] && kill -s $sig "$pid" 2>/dev/null
	ends $mpi
	[ -n "$pid" ] && [ $sig = STOP ] && kill -s KILL "$pid" 2>/dev/null
	case $sig$status in
	*0) ;;                          # it was done before the signal came
	TERM75) ;;                      # saved
	TERM*) [ -z "$begun" ] || { cat out err; fail "$what: exit status $status, though the run had begun"; } ;;
	esac
	[ $sig$status = STOP0 ] || [ $sig != STOP ] || grep -q "^dlx-train: .*stopped" err || { cat out err; fail "$what: nobody says that it is stopped"; }
	[ $status -ne 124 ] || { cat out err; fail "$what: it hangs"; }
	expect 0 on_ranks $n "$train" --set run.dir="$run" "$@" --resume "$config"
	[ "$(newest_state "$run")" = "$want" ] || fail "$what, and resume: other bits than the whole run"
	rm -rf "$run"
}

# Each signal, and 2, 3 and 4 ranks.
numbers="0 4 8"
if [ "$times" ] || big; then numbers=$(seq "$first" $((first + ${times:-100} - 1))); fi
for number in $numbers; do
	disturb "$number" "$@"
done
pass
