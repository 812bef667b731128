#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Parameters and flops that --plan=json gives, to the digit, at published sizes and without data.
. "${DLX_SOURCE:?}/test/lib.sh"

# Laanait et al. 2019: 220 million parameters, 17.1698 TFLOP forward.
expect 0 "$train" --plan=json "$DLX_SOURCE/configs/fcn-pool-avg.yaml"
says out '"parameters": 220406272, "trainable_parameters": 220406272, "tensors": 32}'
says out '"flops": {"forward": 17169802854400, "training": 51509408563200}'

# The three dilated convolutions of DeepLabv3+, 2048 to 256 on 96 x 144: 130.460 GFLOP each, and on folded grids of
# 120 x 168, 144 x 192 and 180 x 216. Two samples count as one.
cat >aspp.yaml <<'END'
model:
  family: layers
  input: {channels: 2048, size: [96, 144]}
  classes: 256
  layers:
    - conv2d: {filters: 256, kernel: 3, padding: same, dilation: 12, bias: false, inputs: [input], name: a}
    - conv2d: {filters: 256, kernel: 3, padding: same, dilation: 24, bias: false, inputs: [input], name: b}
    - conv2d: {filters: 256, kernel: 3, padding: same, dilation: 36, bias: false, inputs: [input], name: c}
    - add: {inputs: [a, b]}
    - add: {inputs: [previous, c]}
data: {train: none.dlx}
loss: softmax_cross_entropy
train: {steps: 1, batch_size: 2}
END
expect 0 "$train" --plan=json aspp.yaml
says out '"parameters": 14155776, "trainable_parameters": 14155776, "tensors": 3}'
says out '"flops": {"forward": 391378894848, "training": 1174136684544, "forward_space_to_batch": 818090606592, "training_space_to_batch": 2454271819776}'

# The input alone would be 2 GiB; planning it takes no memory for tensors.
cat >volume.yaml <<'END'
model:
  family: layers
  input: {channels: 4, size: [512, 512, 512]}
  classes: 3
  layers:
    - conv3d: {filters: 16, kernel: 3, padding: same}
    - relu
    - conv3d: {filters: 3, kernel: 1}
data: {train: none.dlx}
loss: softmax_cross_entropy
train: {steps: 1}
END
limited() (
	ulimit -v 1048576 && "$train" "$@"
)
limited --version >out 2>err || skip "the program does not start in 1 GiB of address space (sanitizers?)"
expect 0 limited --plan=json volume.yaml
says out '"parameters": 1795,'
pass
