#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Classic mistakes are warned of, with the remedy, by --check and by the run; what is right is not.
. "${DLX_SOURCE:?}/test/lib.sh"

# npy FILE SHAPE VALUE...: an array of bytes.
npy() {
	file=$1
	head=$(printf "{'descr': '|u1', 'fortran_order': False, 'shape': %s, }" "$2")
	shift 2
	{
		printf '\223NUMPY\001\000\166\000'
		printf '%-117s\n' "$head"
		for value in "$@"; do printf "\\$(printf %03o "$value")"; done
	} >"$file"
}
npy x.npy '(4, 1, 2, 2)' 0 40 80 255 3 50 90 200 7 60 100 250 9 70 110 240
npy y0.npy '(4, 2, 2)' 0 1 2 2 0 1 1 2 0 0 1 2 2 2 1 0
npy y1.npy '(4, 2, 2)' 1 1 2 2 1 1 1 2 1 2 1 2 2 2 1 1
npy f.npy '(4, 1, 2, 2)' 0 1 0 1 1 1 0 0 1 0 1 0 0 0 1 1
for y in y0 y1; do
	expect 0 "$convert" -q -i x.npy -t $y.npy --input-layout first -o $y.dlx
done
expect 0 "$convert" -q -i x.npy -t y0.npy --input-layout first --samples 1:3 --threads 2 -o part.dlx
expect 0 "$convert" -q -i x.npy -t f.npy --input-layout first --target-layout first -o f.dlx
cat >right.yaml <<'END'
run: {name: m}
model:
  family: layers
  layers:
    - conv2d: {filters: 3, kernel: 1}
data: {train: y0.dlx, transforms: [cast]}
loss: softmax_cross_entropy
optimizer: {type: sgd, learning_rate: 0.01}
train: {steps: 1, batch_size: 2}
report: {tensorboard: false}
END

# warns TEXT OPTION...: both do.
warns() {
	text=$1
	shift
	for how in --check --quiet; do
		rm -rf runs
		expect 0 "$train" $how "$@"
		says err "$text"
		[ "$(grep -c 'warning: ' err)" -eq 1 ] || { cat err; fail "not one warning: $*"; }
	done
}

expect 0 "$train" right.yaml
! grep 'warning: ' err || fail "a warning where all is right"
sed '5a\    - softmax' right.yaml >softmax.yaml
warns "softmax.yaml:6:7: 'softmax' is the last layer, and the loss 'softmax_cross_entropy' makes one itself" softmax.yaml
warns "'softmax' is the last layer, and the loss 'dice' makes one itself" --set loss=dice softmax.yaml
sed 's/filters: 3/filters: 1/; 5a\    - sigmoid' right.yaml >sigmoid.yaml
warns "'sigmoid' is the last layer, and the loss 'binary_cross_entropy' makes one itself" --set data.train=f.dlx \
	--set loss=binary_cross_entropy sigmoid.yaml
warns "inputs are 8-bit, up to 255, and reach the network as they are; 'data: {transforms: [cast]}'" --set 'data.transforms=[{flip: width}]' \
	right.yaml
warns "no label of the training data is 0, the first of the network's 3 classes" --set data.train=y1.dlx right.yaml
warns "2 of the 2 validation samples are among the training samples, the first of them sample 0 of 'part.dlx', which is sample 1 of 'y0.dlx'" \
	--set data.validation=part.dlx right.yaml
warns "6 of the 6 validation samples are among the training samples, the first of them sample 0 of 'part.dlx', which is sample 1 of 'y0.dlx'" \
	--set 'data.validation=[part.dlx, y0.dlx]' --set 'data.train=[y1.dlx, y0.dlx]' right.yaml
rm -rf runs
expect 0 "$train" --set data.validation=y1.dlx right.yaml
! grep 'warning: ' err || fail "a warning of samples with other targets"

# Classes that are counted from 1: the warning is there before the network that has a class too few is refused.
sed 's/filters: 3/filters: 2/' right.yaml >two.yaml
expect 78 "$train" --check --set data.train=y1.dlx two.yaml
says err "no label of the training data is 0"
says err "two.yaml:5:7: the model's output is 2x2x2x2, but needs 3 channels (axis 1), as 'model.classes' or the data says: the last layer has to make 3"
for swap in 's/conv2d/conv3d/' 's/conv2d/conv1d/'; do
	sed "$swap" right.yaml >rank.yaml
	expect 78 "$train" --check rank.yaml
	says err "which is one of 'conv2d'"
done
sed '5a\   - relu' right.yaml >lines.yaml
expect 78 "$train" --check lines.yaml
says err 'the lines of one list or map begin in the same column'
sed '/^loss/d' right.yaml >loss.yaml
expect 78 "$train" --check loss.yaml
says err "'dlx-train --help-config=loss' says what it takes"
rm -rf runs
expect 0 "$train" --set data.train=y1.dlx --set 'loss={type: softmax_cross_entropy, ignore: 0}' right.yaml
! grep 'warning: ' err || fail "a warning of a class that is ignored"
pass
