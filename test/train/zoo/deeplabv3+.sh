#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Family deeplabv3+: published counts of the ready config and its decoders, and PyTorch's step, curve and inference
# (pytorch_climate.py).
. "${DLX_SOURCE:?}/test/lib.sh"
zoo=$DLX_SOURCE/test/train/zoo

# counts KEYS PARAMETERS TENSORS FORWARD TRAINING: KEYS is a list of 'key=value' of the model.
counts() {
	set -- "$2" "$3" "$4" "$5" $(for key in $1; do echo --set "model.$key"; done)
	parameters=$1 tensors=$2 forward=$3 training=$4
	shift 4
	expect 0 "$train" --plan=json "$@" "$DLX_SOURCE/configs/deeplabv3+-sc18.yaml"
	says out "\"parameters\": $parameters, "
	says out "\"tensors\": $tensors}"
	says out "\"forward\": $forward, \"training\": $training"
}

# Kurth et al. 2018: 43,718,883 parameters, of which 4,096 are never read; 13.0242 T flops a sample, without what
# TensorFlow's way with dilations adds
counts "" 43718883 213 4341407678464 13024223035392
says out '"trainable_parameters": 43714787'
counts variant=sc18-no-batch-norm 43669251 99 4341407678464 13024223035392
counts decoder=deconv 42160675 205 1585447960576 4756343881728
counts decoder=bilinear 40390435 199 1241717407744 3725152223232
counts "decoder=bilinear postnorm=false batch_norm=false" 40340803 85 1241717407744 3725152223232
counts image_affine=true 43718883 213 4341407678976 13024223036928
expect 0 "$train" --plan=json --set model.image_affine=true --set train.batch_size=1 "$DLX_SOURCE/configs/deeplabv3+-sc18.yaml"
expect 78 "$train" --plan --set model.rates='[1, 2]' "$DLX_SOURCE/configs/deeplabv3+-sc18.yaml"
says err "'rates' has 2 numbers instead of 3"

find_python
OMP_NUM_THREADS=2 "$python" "$zoo/pytorch_climate.py" deeplab "$zoo/deeplabv3+-sc18-small.yaml" ||
	fail "dlx and PyTorch differ"
pass
