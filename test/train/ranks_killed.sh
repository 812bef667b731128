#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A rank that is killed, stands still or is asked to stop, at any moment: the run ends within parallel.timeout, and resumed
# it has the bits of one that was not disturbed. DLX_KILLS=N: N times (6), DLX_KILLS_FROM=I: from number I on (0), since each number has a
# moment of its own.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
steps=60
export OMP_NUM_THREADS=1
export DLX_JOIN_TIMEOUT=30      # a rank that ends in MPI_Init is not there for the others to see
set -- --set train.steps=$steps --set train.batch_size=1 --set checkpoint.every.steps=7 --set parallel.timeout=4s

# start RUN N: N ranks in the background; their numbers in RUN.pid.RANK.
start() {
	run=$1
	n=$2
	shift 2
	rm -f "$run".pid.*
	timeout 120 mpiexec -disable-auto-cleanup -n "$n" sh -c 'echo $$ >"$1.pid.$PMI_RANK"; shift; exec "$@"' sh "$run" \
		"$train" --set run.dir="$run" "$@" --resume "$config" >out 2>err &
	mpi=$!
}

for n in 2 3 4; do
	expect 0 timeout 120 mpiexec -n $n "$train" --set run.dir=runs/whole-$n "$@" "$config"
	eval "want_$n=\$(newest_state runs/whole-$n)"
done

# All ranks stand still for longer than a rank may, as when a scheduler suspends the job: nobody was late.
start runs/suspended 2 "$@"
tries=0
until grep -q '"step": 2,' runs/suspended/metrics.jsonl 2>/dev/null; do
	tries=$((tries + 1))
	[ $tries -lt 1000 ] || fail "suspended: it does not start"
	sleep 0.02
done
kill -s STOP $(cat runs/suspended.pid.*)
sleep 6
kill -s CONT $(cat runs/suspended.pid.*)
wait $mpi
status=$?
[ $status -eq 0 ] || { cat out err; fail "suspended: exit status $status"; }
[ "$(newest_state runs/suspended)" = "$want_2" ] || fail "suspended: other bits than the whole run"

# Where the launcher leaves the others the time, here because it does not see the end behind a shell, one says which has ended.
rm -f ended.pid.*
timeout 120 mpiexec -n 4 sh -c '"$@" & echo $! >"ended.pid.$PMI_RANK"; wait $! || sleep 60' sh "$train" --set run.dir=runs/ended "$@" \
	--set train.steps=1000000 "$config" >out 2>err &
mpi=$!
tries=0
until grep -q '"step": 2,' runs/ended/metrics.jsonl 2>/dev/null; do
	tries=$((tries + 1))
	[ $tries -lt 1000 ] || fail "ended: it does not start"
	sleep 0.02
done
kill -s KILL "$(cat ended.pid.2)"
wait $mpi
[ "$(grep -c '^dlx-train: ' err)" -eq 1 ] || { cat err; fail "ended: not one message"; }
says err 'rank 2 (host '
says err ', ended) '

i=${DLX_KILLS_FROM:-0}
last=$((i + ${DLX_KILLS:-6}))
while [ $i -lt $last ]; do
	case $((i % 3)) in
	0) sig=KILL ;;
	1) sig=STOP ;;
	2) sig=TERM ;;
	esac
	n=$((2 + i / 3 % 3))
	victim=$((i * 7 % n))
	run=runs/$sig-$n-$i
	what="SIG$sig to rank $victim of $n (number $i)"
	start "$run" $n "$@"
	# While it starts, before its first step, or later; what stands still in MPI_Init nobody can tell from a slow start.
	tries=0
	until [ $sig != STOP ] || [ -f "$run/config.yaml" ]; do
		tries=$((tries + 1))
		[ $tries -lt 1000 ] || fail "$what: it does not start"
		sleep 0.02
	done
	sleep "$(awk -v i="$i" 'BEGIN { srand(i + 1); print 0.2 + 1.3 * rand() }')"
	began=$(date +%s)
	begun=$([ -f "$run/config.yaml" ] && echo yes)
	pid=$(cat "$run.pid.$victim" 2>/dev/null)
	[ -n "$pid" ] && kill -s $sig "$pid" 2>/dev/null
	wait $mpi
	status=$?
	took=$(($(date +%s) - began))
	[ -n "$pid" ] && [ $sig = STOP ] && kill -s KILL "$pid" 2>/dev/null
	[ $took -le 90 ] || fail "$what: the run went on for $took s"
	case $sig$status in
	*0) ;;                          # it was done before the signal came
	TERM75) ;;                      # saved
	TERM*) [ -z "$begun" ] || { cat out err; fail "$what: exit status $status, though the run had begun"; } ;;
	esac
	[ $sig$status = STOP0 ] || [ $sig != STOP ] || grep -q "^dlx-train: .*stopped" err || { cat out err; fail "$what: nobody says that it is stopped"; }
	[ $status -ne 124 ] || { cat out err; fail "$what: it hangs"; }
	expect 0 timeout 120 mpiexec -n $n "$train" --set run.dir="$run" "$@" --resume "$config"
	eval "want=\$want_$n"
	[ "$(newest_state "$run")" = "$want" ] || fail "$what, and resume: other bits than the whole run"
	i=$((i + 1))
done
pass
