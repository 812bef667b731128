#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Family resnet: published counts of the ready config, and PyTorch's step, curve and inference (pytorch_resnet.py).
. "${DLX_SOURCE:?}/test/lib.sh"
zoo=$DLX_SOURCE/test/train/zoo

# torchvision's: 25,557,032 parameters, 4.09 G multiply-adds
expect 0 "$train" --plan=json --set data.train=none.dlx "$DLX_SOURCE/configs/resnet-50.yaml"
says out '"parameters": 25557032, "trainable_parameters": 25557032, "tensors": 161'
says out '"forward": 8178368512, "training": 24535105536'

find_python
OMP_NUM_THREADS=2 "$python" "$zoo/pytorch_resnet.py" "$zoo/resnet-18-small.yaml" || fail "dlx and PyTorch differ"
pass
