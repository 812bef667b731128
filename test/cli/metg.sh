#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-bench metg: every pattern runs on one rank and on several, in threads and under mpiexec; the lines that Task Bench's scripts
# read; a wrong payload ends the run with its place; METG and its refusals; the parts of the overhead; mistakes.
. "${DLX_SOURCE:?}/test/lib.sh"
bench=$DLX_BUILD/dlx-bench

# Plans of less than 64 steps times the period, of that, with a rest, and of several runs. Payloads are checked by the tasks.
patterns='trivial no_comm stencil_1d stencil_1d_periodic dom tree fft all_to_all nearest spread random_nearest'
for pattern in $patterns; do
	radix=
	[ $pattern != spread ] || radix='-period 2'
	for how in '--ranks 1 -steps 65' '--ranks 2 -steps 1' '--ranks 3 -steps 2' "--ranks 2 -steps $(form 450 2000)" \
		'--steal --ranks 2 -steps 65'; do
		# shellcheck disable=SC2086
		expect 0 capped "$bench" metg $how -type $pattern $radix -width 8 -iter 1
	done
done
# Graphs of different patterns, lengths and payloads at the same time; more ranks than columns; payloads in several messages.
for steal in '' --steal; do
	# shellcheck disable=SC2086
	expect 0 capped "$bench" metg $steal --ranks 3 -type fft -steps 300 -width 8 -iter 1 -output 100 -and -type dom -steps 200 -width 2 \
		-iter 1 -and -type all_to_all -steps 10 -width 210 -output 40 -iter 1
	[ "$(grep -c '^    Task Graph [123]:$' out)" -eq 3 ] || fail "not three graphs"
	says out 'Total Tasks 4898'
done
expect 0 capped "$bench" metg --steal --ranks 2 -type random_nearest -steps 300 -width 8 -radix 5 -kernel load_imbalance -imbalance 2 -iter 50
expect 0 capped "$bench" metg --ranks 2 -kernel memory_bound -scratch 4096 -steps 100 -iter 20 -nodes 2
says out 'Total Bytes 2048000'
says out '  Local Bytes 0'

# The lines that the original's scripts look for, by its expressions.
expect 0 capped "$bench" metg --ranks 2 -type stencil_1d -kernel compute_bound -steps 1000 -width 8 -iter 16
for line in 'Elapsed Time [0-9.e+-]+ seconds' 'Iterations: 16' 'Output Bytes: 16' 'Time Steps: 1000' 'Total Tasks 8000' \
	'Total FLOPs 16896000' 'Total Bytes 0' 'Max Width: 8' 'Total Dependencies 21978' 'FLOP/s [0-9.e+]+'; do
	grep -qE "^ *$line\$" out || { cat out; fail "no line '$line'"; }
done
grep -q '^Build Time [0-9.e+-]* seconds (' out || fail "the time to build the plan is not named"

# A wrong bit, found by a task on the same rank or on another one; the other ranks end, too.
for how in '--ranks 1' '--ranks 2' '--steal --ranks 1'; do
	# shellcheck disable=SC2086
	expect 70 env DLX_DEBUG="$(debug fault=payload:1000)" timeout 50 "$bench" metg $how -type nearest -width 4 -steps 2000 -iter 1
	grep -qE 'graph 0: task \([0-9]+, [0-3]\) expects \([0-9]+, [0-3]\) as pair 0 of an input, but got \([0-9]+, [0-3]\)' err ||
		{ cat err; fail "the place of the wrong payload is not named"; }
done

# METG. A size is run as often as its number says, five times at most. On a busy machine there may be none.
capped "$bench" metg --ranks 2 --largest 4096 -type stencil_1d -kernel busy_wait -steps 64 >out 2>err
case $? in
0) grep -qE '^METG\(50 %\) [0-9.]+ us$' out || { cat out; fail "no METG"; } ;;
65) says err efficiency ;;
*) cat err; fail "METG" ;;
esac
[ "$(grep -c 'Iterations: 4096$' out)" -eq 1 ] && [ "$(grep -c 'Iterations: 2048$' out)" -eq 2 ] || fail "wrong numbers of runs"
grep -qE '^ +4096 +1 +[0-9.]+ +1[.]000$' out || { cat out; fail "no table"; }
expect 65 capped "$bench" metg --largest 1024 --peak 1000 -kernel compute_bound
says err 'but none can be 1.5'
expect 65 capped "$bench" metg --largest 64 --peak 1e18 -kernel compute_bound
says err 'no size has an efficiency of 0.50'
expect 65 capped "$bench" metg --largest 1 -kernel compute_bound
says err 'still has an efficiency of 1.00'

# The parts of the overhead are the wall time of all ranks.
expect 0 capped "$bench" metg --ranks 2 --overhead -type stencil_1d -kernel compute_bound -width 8 -iter 64 -steps 4000
awk '$1 ~ /^(kernel|payload|wait|copy|dispatch|clock)$/ { parts++; all += $2 }
	$1 == "sum" { sum = $2 }
	$1 == "wall" { wall = $2 }
	END { exit !(parts == 6 && all > sum - 1 && all < sum + 1 && sum > 0.95 * wall && sum < 1.05 * wall) }' out ||
	{ cat out; fail "the parts are not the whole"; }

# Mistakes.
mistake() {
	expect 64 "$bench" "$@"
}
mistake
says err 'no command given'
mistake metgg
says err "did you mean 'metg'?"
mistake metg -steps 0
says err "-steps: '0' is no whole number from 1"
mistake metg -type stencil
mistake metg --rank 2 -iter 1
says err "did you mean '--ranks'?"
mistake metg -iter 1 more
says err "no argument 'more'"
mistake metg --overhead
says err 'give -iter N'
mistake metg --overhead --steal -iter 1
mistake metg --threshold 1.5
mistake metg --peak 1e9
says err "kernel 'empty' counts neither flops nor bytes"
expect 0 "$bench" --version
expect 0 "$bench" metg -h
says out '-imbalance F'

if has_ranks; then
	expect 0 on_ranks 2 "$bench" metg -type spread -radix 5 -width 16 -steps 500 -iter 4 -kernel compute_bound --overhead
	says out 'first of 2 ranks'
	[ "$(grep -c '^Elapsed Time' out)" -eq 1 ] || fail "not one rank prints"
	expect 70 env DLX_DEBUG="$(debug fault=payload:300)" timeout 50 mpiexec -n 2 "$bench" metg -type stencil_1d -steps 4000 -iter 1
	says err 'as pair 0 of an input'
	expect 64 on_ranks 2 "$bench" metg -width x
	[ "$(grep -c 'no whole number' err)" -eq 1 ] || { cat err; fail "not one rank reports a mistake"; }
	expect 64 on_ranks 2 "$bench" metg --ranks 3 -iter 1
	says err 'mpiexec has started 2'
	expect 64 on_ranks 2 "$bench" metg --steal -iter 1
	says err 'within one process'
fi
pass
