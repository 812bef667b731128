#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Family deepcam: published counts of the ready config, and PyTorch's step, curve and inference (pytorch_climate.py).
. "${DLX_SOURCE:?}/test/lib.sh"
zoo=$DLX_SOURCE/test/train/zoo
config=$DLX_SOURCE/configs/deepcam-mlperf.yaml

expect 0 "$train" --plan=json "$config"
says out '"parameters": 56454720, "trainable_parameters": 56454720, "tensors": 301}'
says out '"forward": 655337666560, "training": 1966012999680'
expect 0 "$train" --plan=json --set 'model.input.size=[101, 130]' "$config"
says out '"parameters": 56454720'
expect 78 "$train" --plan --set 'model.widths=[1, 2]' "$config"
says err "'widths' has 2 numbers instead of 8"

find_python
OMP_NUM_THREADS=2 "$python" "$zoo/pytorch_climate.py" deepcam "$zoo/deepcam-mlperf-small.yaml" ||
	fail "dlx and PyTorch differ"
pass
