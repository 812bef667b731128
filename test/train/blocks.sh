#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Blocks with parameters: dlx-config(5)'s U-Net, written with them, is the network that the same layers written one by one
# are: the same graph, node for node, and after some steps the same bits. The effective config keeps the blocks and trains to
# the same bits, and a parameter's default can be set on the command line.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data

rest() {
	cat <<-'END'
	data: {train: data/coads-train.dlx, transforms: [{crop: 32}, {normalize: {method: standard, mask: validity}}]}
	loss: softmax_cross_entropy
	optimizer: {type: sgd, learning_rate: 0.05}
	train: {steps: 3, batch_size: 3}
	report: {progress: none}
	END
}

# The U-Net of the manual page.
{
	awk '/^\.Ed/ { inside = 0 } inside { print } /^# A U-Net/ { inside = 1 }' "$DLX_SOURCE/man/dlx-config.5"
	rest
} >blocks.yaml
grep -q 'parameters:' blocks.yaml || fail "dlx-config.5 has lost its U-Net"

# double NAME FILTERS [INPUTS]; up NAME FILTERS SKIP
double() {
	for i in 0 1; do
		echo "    - {conv2d: {filters: $2, kernel: 3, padding: same, bias: false, name: $1_repeat_0_${i}_conv2d_0}}"
		echo "    - {batch_norm: {name: $1_repeat_0_${i}_batch_norm_0}}"
		echo "    - {relu: {name: $1_repeat_0_${i}_relu_0}}"
	done
}
up() {
	echo "    - {conv_transpose2d: {filters: $2, kernel: 2, stride: 2, name: $1_conv_transpose2d_0}}"
	echo "    - {concat: {inputs: [$3_repeat_0_1_relu_0, previous], name: $1_concat_0}}"
	double $1_double_0 $2
}
{
	printf 'model:\n  family: layers\n  classes: 4\n  layers:\n'
	double enc1 32
	echo '    - {max_pool: 2}'
	double enc2 64
	echo '    - {max_pool: 2}'
	double double_0 128
	up up_0 64 enc2
	up up_1 32 enc1
	echo '    - {conv2d: {filters: 4, kernel: 1}}'
	rest
} >long.yaml

# graph NAME: its nodes and parameters, with the same names of layers in both forms and without places.
graph() {
	for pass in build update layout; do
		expect 0 "$train" --plan --dump=$pass "$1.yaml"
		sed -n 's/ \[[^ ]*\.yaml:[0-9:]*\]$//; /^#/,$p' out | sed '/^# after/!{ s/\.\([0-9]*[a-z]\)/_\1/g; s/_\([01]\)\./_\1_/g; }'
	done >"$1.graph"
	[ "$(wc -l <"$1.graph")" -gt 200 ] || fail "no graph of $1"
}
graph blocks
graph long
cmp blocks.graph long.graph || { diff blocks.graph long.graph | head; fail "the two forms have different graphs"; }

# First values follow from names, so both start from one export, in which the layers are called as in the long form.
expect 0 "$train" --quiet --set run.name=first blocks.yaml
expect 0 "$train" --export=blocks.safetensors --set run.name=first blocks.yaml
head -c 9999 blocks.safetensors | grep -aq '"up_1.double_0.repeat_0.1.batch_norm_0.bias"' || fail "an unexpected name of a weight"
LC_ALL=C sed 's/\.repeat_0\.\([01]\)\./_repeat_0_\1_/g; s/\(up_[01]\)\.\(double\|conv\)/\1_\2/g' blocks.safetensors >long.safetensors

# bits NAME WEIGHTS: what its network predicts three steps after these weights.
bits() {
	expect 0 "$train" --quiet --set run.name="$1" --set model.init_from="$2" "$1.yaml"
	expect 0 "$train" --predict data/coads-validation.dlx --set run.name="$1" --set model.init_from="$2" -o "$1.npy" "$1.yaml"
}
bits blocks blocks.safetensors
bits long long.safetensors
cmp blocks.npy long.npy || fail "the two forms predict other values after three steps"

# The effective config is the same network, under the same names.
sed '1s|dir: runs/first, ||' runs/first/config.yaml >effective.yaml
says effective.yaml 'filters: $filters'
bits effective blocks.safetensors
cmp blocks.npy effective.npy || fail "the effective config predicts other values"

# A default set on the command line.
expect 0 "$train" --plan --dump=build --set model.blocks.double.parameters.kernel=5 blocks.yaml
says out 'param %1 enc1.repeat_0.0.conv2d_0.weight 32x5x5x5'
pass
