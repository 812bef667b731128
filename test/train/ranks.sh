#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A global batch gives the same losses, gradients, parameters and metrics on any number of ranks, to the rounding of sums; also where shares
# are uneven and where ranks have no sample. Statistics of batch normalisation are each rank's own, so there are none here;
# sync_batch_norm.sh has those of several.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
find_python3
coads_data
export OMP_NUM_THREADS=1
config=$DLX_SOURCE/test/train/tiny.yaml
plain="--set model.batch_norm=none --set train.batch_size=null --set train.steps=10 --set train.validate.epochs=0"

ranks() {
	n=$1
	shift
	on_ranks "$n" "$train" "$@"
}

# losses RUN: of its steps, rounded to what a float32 sum in another order may change.
losses() {
	sed -n 's/.*"type": "step".*"loss": \([^,]*\),.*/\1/p' "$1/metrics.jsonl"
}
close() {
	weights_close "$@" || fail "weights: $*"
}

# equal NAME SETTING...: 1 to 4 ranks (those of $counts) with the same global batch.
equal() {
	name=$1
	shift
	first=
	for n in $counts; do
		dir=runs/$name-$n
		expect 0 ranks "$n" --set run.dir="$dir" $plain "$@" "$config"
		expect 0 "$train" --set run.dir="$dir" $plain "$@" --export "$dir.safetensors" "$config"
		losses "$dir" >"$dir.losses"
		[ "$(wc -l <"$dir.losses")" -eq 10 ] || fail "$name on $n ranks: not ten steps in metrics.jsonl"
		grep -c '"type": "validation"' "$dir/metrics.jsonl" | grep -qx 1 || fail "$name on $n ranks: not one validation"
		if [ "$first" ]; then
			paste "$first.losses" "$dir.losses" | awk '
				{ d = $1 - $2; if (d < 0) d = -d; if (!(d <= 2e-5 * $1)) { print "step", NR, $0; bad = 1 } }
				END { exit bad }' || fail "$name: losses of $n ranks differ"
			close "$first.safetensors" "$dir.safetensors" 5e-5
		else
			first=$dir
		fi
	done
}

begin "eight samples: batches of 6 and 2, of which one rank of three has none; batches of 4; one batch of 8, short of 12"
counts=$(form "1 3" "1 2 3")
equal six --set train.global_batch_size=6
counts=$(form "1 4" "1 2 4")
equal four --set train.global_batch_size=4 --set 'optimizer={type: adam, learning_rate: 0.003}'
counts=$(form "1 2 4" "1 2 3 4")
equal twelve --set train.global_batch_size=12 --set train.clip_norm=0.5
counts="1 3"
equal micro --set train.global_batch_size=3 --set train.accumulate=2

begin "one step, by its files"
for n in 1 2 3; do
	expect 0 ranks $n $plain --set train.global_batch_size=6 --dump-step step-$n "$config"
done
for n in 2 3; do
	close step-1/gradients.safetensors step-$n/gradients.safetensors 1e-5
	close step-1/parameters.safetensors step-$n/parameters.safetensors 1e-5
done

begin "the whole set's metrics"
# Counts are equal to the digit. There are four samples, so that one rank of five has none.
expect 0 "$train" --set run.dir=runs/six-1 $plain --evaluate "$config"
sed -n 's/.*"metrics": //p' out >metrics.1
expect 0 "$train" --set run.dir=runs/six-1 $plain --predict data/coads-validation.dlx -o prediction-1.npy "$config"
for n in $(form "2 5" "2 3 5"); do
	expect 0 ranks $n --set run.dir=runs/six-1 $plain --evaluate "$config"
	sed -n 's/.*"metrics": //p' out >metrics.$n
	cmp metrics.1 metrics.$n || fail "metrics on $n ranks differ"
	expect 0 ranks $n --set run.dir=runs/six-1 $plain --predict data/coads-validation.dlx -o prediction-$n.npy "$config"
	says out '4 predictions'
	[ "$(wc -l <out)" -eq 1 ] || fail "several ranks say what was predicted"
	close_enough=$(cmp -l prediction-1.npy prediction-$n.npy | wc -l)
	[ "$close_enough" -le 4000 ] || fail "predictions on $n ranks differ in $close_enough bytes"
done

begin "batch normalisation: the run's statistics are one rank's or the mean of all, and a resumed run has the same bits"
for average in false true; do
	bn="--set parallel.average_statistics=$average --set train.validate.epochs=2"
	expect 0 ranks 2 --set run.dir=runs/bn-$average $bn --set train.steps=8 "$config"
	expect 0 ranks 2 --set run.dir=runs/bn-$average-stopped $bn --set train.steps=4 "$config"
	expect 0 ranks 2 --set run.dir=runs/bn-$average-stopped $bn --set train.steps=8 --resume "$config"
	[ "$(newest_state runs/bn-$average)" = "$(newest_state runs/bn-$average-stopped)" ] || fail "average_statistics $average, resumed: other bits"
done
[ "$(newest_state runs/bn-true)" != "$(newest_state runs/bn-false)" ] || fail "average_statistics changes nothing"

begin "another number of ranks resumes a run if a step of these begins where it stopped"
six="--set train.global_batch_size=6"
expect 0 ranks 3 --set run.dir=runs/moved $plain $six --set train.steps=5 "$config"
expect 0 ranks 2 --set run.dir=runs/moved $plain $six --resume "$config"
expect 0 "$train" --set run.dir=runs/moved $plain $six --export runs/moved.safetensors "$config"
close runs/six-1.safetensors runs/moved.safetensors 5e-5
expect 0 ranks 3 --set run.dir=runs/wider --set train.batch_size=1 --set train.steps=2 "$config"
expect 78 ranks 2 --set run.dir=runs/wider --set train.batch_size=1 --set train.accumulate=2 --set train.steps=9 --resume "$config"
says err 'after 6 samples of an epoch, where no step of 2 ranks with 4 samples begins'
expect 0 ranks 2 --set run.dir=runs/wider --set train.batch_size=1 --set train.steps=9 --resume "$config"
says err 'a batch now has 2 samples, for 2 ranks'
expect 78 ranks 2 --set run.dir=runs/wider --set train.batch_size=3 --set train.steps=9 --resume "$config"
says err 'batch size'
pass
