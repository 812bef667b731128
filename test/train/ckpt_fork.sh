#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A fork of a run trains on with another config, in the same store, and both lines come to the bits that they would have come to
# alone; a version that went through a file goes on with its bits.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml

run() {
	dir=$1
	shift
	expect 0 "$train" --set run.dir="$dir" --set checkpoint.every.steps=2 --set checkpoint.keep.last=20 "$@" "$config"
}

# same RUN RUN: their last versions have the same tensors.
same() {
	for one in "$1" "$2"; do
		"$ckpt" "$one" export --all last "$one.npz" >export.log || { cat export.log; fail "export of $one"; }
		rm -rf "$one.arrays"
		mkdir "$one.arrays"
		(cd "$one.arrays" && "$python3" -m zipfile -e "../../$one.npz" . && rm dlx_version.npy)
	done
	diff -r "$1.arrays" "$2.arrays" || fail "$1 and $2 have other bits"
}
find_python3

# Alone: a run to the end, and one that has another rate from step 4 on.
run runs/whole --set train.steps=8
run runs/turned --set train.steps=4
run runs/turned --resume --set train.steps=8 --set optimizer.learning_rate=0.01

begin "the same as a run and its fork, one after the other in one store"
run runs/line --set train.steps=6
expect 0 "$ckpt" runs/line fork 4 runs/fork
run runs/fork --resume --set train.steps=8 --set optimizer.learning_rate=0.01
run runs/line --resume --set train.steps=8
same runs/line runs/whole
same runs/fork runs/turned
[ ! -d runs/fork/checkpoints/packs ] || fail "the fork has a store of its own"

begin "both lines are there, and part at step 4; the best validation was at step 3"
expect 0 "$ckpt" runs/line log
sed 's/-[0-9a-f]*  .*//' out >tree
cat >want <<'END'
* 8
* 6
| * 8
| * 6
| * 4
|/
* 4
* 3
* 2
END
diff want tree >/dev/null || { cat out; fail "another tree"; }
line=$(sed -n 's/^\* \(8-[^ ]*\).*/\1/p' out)
expect 0 "$ckpt" runs/line verify
expect 1 "$ckpt" runs/fork diff "$line" last
says out 'conv_init.weight'
expect 0 "$ckpt" runs/fork search 'fork and step = 4'

begin "with the config that the fork brings along, by its folder"
expect 0 "$ckpt" runs/turned fork last runs/folder
expect 0 "$train" --resume --set train.steps=10 runs/folder
run runs/turned --resume --set train.steps=10 --set optimizer.learning_rate=0.01
same runs/folder runs/turned

begin "the best of a run and its fork"
# At its end a run says what goes on; a fork's best is one for all: its own, or its origin's, whose checkpoint it has not.
run runs/folder --resume --set train.steps=10 --set optimizer.learning_rate=0.01
says out "the checkpoint is at the end: '--set train.steps=N' goes on (it is of step 10, epoch "
run runs/folder --resume --set train.steps=0 --set train.epochs=3 --set optimizer.learning_rate=0.01
says out "the checkpoint is at the end: '--set train.epochs=N' goes on"
# best_alike RUN: dlx-train, whose output is in ./out, and dlx-report name the same best validation.
best_alike() {
	sed -n 's/^best validation: \([^ ]*\) .* at step \([0-9]*\) .*/\1 \2/p' out >trained
	[ -s trained ] || { cat out; fail "$1: no best validation"; }
	read -r metric step <trained
	expect 0 "$report" --json "$1"
	grep -o "\"$metric\": {\"best\": [^,]*, \"best_step\": [0-9]*" out | sed 's/.*: //' >reported
	[ "$(cat reported)" = "$step" ] || { cat out; fail "$1: best at step $step, dlx-report: $(cat reported)"; }
}
for rate in 0.01 1e-9; do
	for of in best last; do
		expect 0 "$ckpt" runs/line fork $of runs/$of-$rate
		run runs/$of-$rate --resume --set train.steps=10 --set optimizer.learning_rate=$rate --set train.validate.steps=1
		best_alike runs/$of-$rate
	done
done
# Nothing changes in the fork, so that the first of equal ones is the origin's.
run runs/still --set model.batch_norm=none --set train.steps=4 --set train.validate.steps=1
expect 0 "$ckpt" runs/still fork last runs/stiller
run runs/stiller --resume --set model.batch_norm=none --set train.steps=6 --set optimizer.learning_rate=1e-30 --set train.validate.steps=1
best_alike runs/stiller
[ "$step" -le 4 ] || fail "the best is of step $step, where nothing changed"

begin "through a file"
for kind in safetensors npz; do
	expect 0 "$ckpt" runs/whole export --all 4 "four.$kind"
	expect 0 "$ckpt" "runs/$kind" import "four.$kind"
	run "runs/$kind" --resume --set train.steps=10 --set optimizer.learning_rate=0.01
	same "runs/$kind" runs/turned
done

begin "weights alone are evaluated, not resumed"
expect 0 "$ckpt" runs/whole export last weights.safetensors
expect 0 "$ckpt" runs/weights import weights.safetensors
imported=$(sed -n 's/^\(0-[0-9a-f]*\), .*/\1/p' out)
expect 0 "$train" --evaluate --set run.dir=runs/whole "$config"
sed -n 's/.*\(mean_iou.*\)/\1/p' out >whole
expect 0 "$train" --evaluate --resume="$imported" --set run.dir=runs/weights "$config"
sed -n 's/.*\(mean_iou.*\)/\1/p' out >alone
[ -s whole ] && diff whole alone || fail "imported weights are worth another metric"
expect 78 "$train" --resume --set run.dir=runs/weights "$config"
says err 'model.init_from'
pass
