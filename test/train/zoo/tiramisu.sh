#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Family tiramisu: published counts of the ready configs, and PyTorch's steps, curves and inference
# (pytorch_tiramisu.py).
. "${DLX_SOURCE:?}/test/lib.sh"
zoo=$DLX_SOURCE/test/train/zoo

# counts CONFIG MODEL FLOPS: what --plan=json says of a config at its published size.
counts() {
	expect 0 "$train" --plan=json --set data.train=none.dlx "$DLX_SOURCE/configs/$1.yaml"
	says out "$2"
	says out "$3"
}
# Kurth et al.: 4.188 and 3.703 TFLOP a sample
counts tiramisu-sc18 '"parameters": 7801315, "trainable_parameters": 7504835' '"training": 4187766915072'
counts tiramisu-daint '"parameters": 7413523, "trainable_parameters": 7134211' '"training": 3702593617920'
# Jegou et al.: 9.4 million with the running statistics
counts tiramisu-fc-densenet103 '"parameters": 9322091, "trainable_parameters": 9322091' '"forward": 138136128000'

find_python
OMP_NUM_THREADS=2 "$python" "$zoo/pytorch_tiramisu.py" "$zoo/tiramisu-small.yaml" || fail "dlx and PyTorch differ"
pass
