#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Signals that ask a run to stop, each at a random moment of its first seconds. The run ends with status 0 or 75, or by the signal
# before it has begun; resumed it has the bits of one that was not disturbed.
#
#     test/adversary/signals.sh                       5 of each kind, in the first second
#     test/adversary/signals.sh COUNT [SEED]          COUNT of each kind, in the first three seconds; the moments are those of SEED (1)
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
count=${1:-5}
seed=${2:-1}
if [ $# -gt 0 ]; then
	seconds=3
	steps=1500
else
	seconds=1
	steps=300
fi
cat >net.yaml <<END
run: {name: net, seed: 5}
model:
  family: layers
  layers:
    - conv2d: {filters: 8, kernel: 3, padding: same}
    - relu
    - conv2d: {filters: 4, kernel: 3, padding: same}
data:
  train: [data/coads-train.dlx, data/coads-train.dlx, data/coads-train.dlx]
  transforms:
    - crop: {size: [24, 32]}
    - normalize: {method: standard, mask: validity}
loss: {type: softmax_cross_entropy}
optimizer: {type: sgd, learning_rate: 0.05}
train: {steps: $steps, batch_size: 4}
checkpoint: {every: {steps: 100}}
report: {every: 100, tensorboard: false}
END

for threads in 1 2; do
	OMP_NUM_THREADS=$threads expect 0 "$train" --quiet --set run.dir=runs/whole-$threads net.yaml
	eval "want_$threads=\$(newest_state runs/whole-$threads)"
done

# wrong TEXT: counted, and what the program said is shown.
wrong() {
	echo "SIG$sig after $moment s, $OMP_NUM_THREADS threads (number $i of seed $seed): $*"
	cat out err
	nwrong=$((nwrong + 1))
}

# try: sends $sig at $moment.
try() {
	run=runs/$sig-$i
	"$train" --quiet --set run.dir="$run" net.yaml >out 2>err &
	pid=$!
	sleep "$moment"
	kill -s "$sig" $pid 2>/dev/null
	wait $pid 2>err.wait
	status=$?
	case $status in
	0 | 75) ;;
	*)
		# The folder is made by a run that takes signals already.
		[ "$status" -eq "$by_signal" ] || {
			wrong "exit status $status"
			return
		}
		[ ! -d "$run" ] || {
			wrong "ended by the signal, though the run had begun"
			return
		}
		;;
	esac
	"$train" --quiet --set run.dir="$run" --resume net.yaml >out 2>err || {
		wrong "and resumed: exit status $?"
		return
	}
	eval "want=\$want_$OMP_NUM_THREADS"
	[ "$(newest_state "$run")" = "$want" ] || wrong "and resumed: other bits than the whole run"
	rm -rf "$run"
}

n=0
nwrong=0
for sig in TERM HUP USR1 INT; do
	# The status of a program that the signal ended, as this shell has it.
	sh -c "kill -s $sig \$\$" 2>err.wait
	by_signal=$?
	i=0
	while [ $i -lt "$count" ]; do
		moment=$(awk -v s=$((seed * 100003 + n)) -v t=$seconds 'BEGIN { srand(s); rand(); printf "%.3f", t * rand() * rand() }')
		export OMP_NUM_THREADS=$((1 + i % 2))
		try
		i=$((i + 1))
		n=$((n + 1))
	done
done
echo "signals: $n tries, $nwrong wrong"
[ $nwrong -eq 0 ] || fail "$nwrong of $n wrong"
pass
