#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# --verify-partition: layers of many kinds, cut into two and four subdomains, on the reference device and on the CPU; a partition that
# is damaged is found, with the layer and its rows; samples stored as integers; what cannot be verified is refused.
. "${DLX_SOURCE:?}/test/lib.sh"
export OMP_NUM_THREADS=1

# network LAYER...: a config of these layers after a convolution.
network() {
	cat >it.yaml <<END
model:
  family: layers
  input: {channels: 2, size: [26, 21]}
  classes: 2
  layers:
    - conv2d: {filters: 4, kernel: 3, padding: same, name: first}
    - relu
$(printf '    - %s\n' "$@")
    - conv2d: {filters: 2, kernel: 1, name: last}
data: {train: none.dlx}
loss: mse
metrics: [mae]
optimizer: {type: sgd, learning_rate: 0.1}
precision: {winograd: false}
train: {steps: 1, batch_size: 4}
END
}
# verify CUT
verify() {
	cut=$1
	expect 0 "$train" --quiet --device cpu --verify-partition=26x21 --set "parallel.spatial=$cut" it.yaml
	[ "$(grep -c ': agrees' out)" = 2 ] || fail "$what, $cut: $(cat out)"
}
# kind TEXT LAYER...: cut along the rows, the columns and both.
kind() {
	what=$1
	shift
	network "$@"
	verify '[2, 1]'
	for line in 2 3; do echo "$what, 2 ranks, $(sed -n "${line}p" out)"; done
	big || return 0
	verify '[1, 4]'
	verify '[4, 1]'
	for line in 2 3; do echo "$what, 4 ranks, $(sed -n "${line}p" out)"; done
}

# What other programs for partitioned samples refuse.
kind 'kernel 5, padding 2' 'conv2d: {filters: 4, kernel: 5, padding: 2}'
kind 'kernel 4' 'conv2d: {filters: 4, kernel: 4, padding: {before: 1, after: 2}}'
kind 'transposed' 'conv_transpose2d: {filters: 4, kernel: 4, stride: 2, padding: 1}'
kind 'running statistics' batch_norm 'conv2d: {filters: 4, kernel: 3, padding: same}' batch_norm
kind 'dilation 2' 'conv2d: {filters: 4, kernel: 3, padding: 2, dilation: 2}'
kind 'uneven extents, stride 2' 'conv2d: {filters: 4, kernel: 3, stride: 2, padding: 1}'
kind 'pooling 3, stride 2, padding 1' 'max_pool: {kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1}'

# The size that is chosen: unequal subdomains.
expect 0 "$train" --quiet --device reference --verify-partition --set 'parallel.spatial=[2, 1]' it.yaml
says out 'parallel.spatial [2, 1] against whole samples of 24 x 8'
[ "$(wc -l <out)" = 2 ] || fail "reference: $(cat out)"

# Damaged rows are found: those at the plane, of the layer that reads them.
network 'conv2d: {filters: 4, kernel: 3, padding: same, name: second}'
plain=$DLX_DEBUG
DLX_DEBUG=$(debug fault=exchange:2)
export DLX_DEBUG
expect 70 "$train" --quiet --device cpu --verify-partition=26x21 --set 'parallel.spatial=[2, 1]' it.yaml
says err "it.yaml:8:"
says err "layer 'second' (conv) is the first to compute other values: in subdomain"
grep -q 'rows 1[23] to 1[23] x 0 to 20 of its rows [0-9]* to [0-9]* x 0 to 20 differ by' err || fail "rows: $(cat err)"
grep -q '^reference: .*: differs' out || fail "reference: $(cat out)"
DLX_DEBUG=$plain
verify '[2, 1]'

# Samples that are stored as integers, which the plans of a GPU read: cast, normalised, with a mask, cropped, and as they are. Labels
# are stored in bytes.
# stored TYPE TEXT TRANSFORMS: and the text of the partition's line.
stored() {
	expect 0 "$train" --quiet --device cpu --verify-partition --set "data.train=$1.dlx" --set "data.transforms=$3" \
		--set 'parallel.spatial=[2, 1]' stored.yaml
	[ "$(grep -c ': agrees' out)" = 2 ] || fail "$1, $3: $(cat out)"
	says out "$2"
}
digits u8 26 6 1
digits i16 26 6 1 --dtype i16
digits mask 26 6 1 --dtype i16 --validity-mask
cat >stored.yaml <<'END'
model:
  family: layers
  layers:
    - conv2d: {filters: 4, kernel: 3, padding: same}
    - relu
    - conv2d: {filters: 2, kernel: 3, padding: same}
loss: softmax_cross_entropy
metrics: [accuracy]
optimizer: {type: sgd, learning_rate: 0.1}
precision: {winograd: false}
train: {steps: 1, batch_size: 4}
END
stored u8 'reference, samples in u8: loss' '[{cast: 255}]'
stored u8 'reference, samples in u8: loss' '[]'
stored i16 'reference, samples in i16: loss' '[{normalize: standard}, {crop: {size: [20, 18]}}]'
stored mask 'reference, samples in i16: loss' '[{normalize: {method: standard, mask: validity}}]'
stored u8 'reference: loss' '[{normalize_sample: standard}]'

if has_ranks; then
	expect 64 on_ranks 2 "$train" --quiet --verify-partition --set 'parallel.spatial=[2, 1]' it.yaml
	[ "$(grep -c "'--verify-partition' has all ranks in one process" err)" = 1 ] || fail "not one error: $(cat err)"
fi
expect 78 "$train" --quiet --verify-partition it.yaml
says err "'--verify-partition' is of samples that are cut"
for size in 0 27x2 2x3x4 2x 9x8z; do
	expect 64 "$train" --quiet --verify-partition=$size --set 'parallel.spatial=[2, 1]' it.yaml
	says err "'--verify-partition=$size': expected one extent, or one for each spatial axis"
done
pass
