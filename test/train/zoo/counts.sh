#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Published counts of the ready configs: parameters, tensors and flops at their published sizes.
. "${DLX_SOURCE:?}/test/lib.sh"
configs=$DLX_SOURCE/configs

# What is counted depends on no device, and to plan for the CPU times its kernels for two seconds. So of the short form only the first
# DeepCAM and DeepLab are planned for it, as test/cli/memory_peak.sh plans other families.
others=$(form '--device reference' '')

# deepcam
expect 0 "$train" --plan=json "$configs/deepcam-mlperf.yaml"
says out '"parameters": 56454720, "trainable_parameters": 56454720, "tensors": 301}'
says out '"forward": 655337666560, "training": 1966012999680'
expect 0 "$train" --plan=json $others --set 'model.input.size=[101, 130]' "$configs/deepcam-mlperf.yaml"
says out '"parameters": 56454720'
expect 78 "$train" --plan --set 'model.widths=[1, 2]' "$configs/deepcam-mlperf.yaml"
says err "'widths' has 2 numbers instead of 8"

# deeplabv3+ and its decoders
# deeplab KEYS PARAMETERS TENSORS FORWARD TRAINING: KEYS is a list of 'key=value' of the model; without any it is for the CPU.
deeplab() {
	set -- "$2" "$3" "$4" "$5" ${1:+$others} $(for key in $1; do echo --set "model.$key"; done)
	parameters=$1 tensors=$2 forward=$3 training=$4
	shift 4
	expect 0 "$train" --plan=json "$@" "$configs/deeplabv3+-sc18.yaml"
	says out "\"parameters\": $parameters, "
	says out "\"tensors\": $tensors}"
	says out "\"forward\": $forward, \"training\": $training"
}

# Kurth et al. 2018: 43,718,883 parameters, of which 4,096 are never read; 13.0242 T flops a sample, without what
# TensorFlow's way with dilations adds
deeplab "" 43718883 213 4341407678464 13024223035392
says out '"trainable_parameters": 43714787'
deeplab variant=sc18-no-batch-norm 43669251 99 4341407678464 13024223035392
deeplab decoder=deconv 42160675 205 1585447960576 4756343881728
deeplab decoder=bilinear 40390435 199 1241717407744 3725152223232
deeplab "decoder=bilinear postnorm=false batch_norm=false" 40340803 85 1241717407744 3725152223232
deeplab image_affine=true 43718883 213 4341407678976 13024223036928
expect 0 "$train" --plan=json $others --set model.image_affine=true --set train.batch_size=1 "$configs/deeplabv3+-sc18.yaml"
expect 78 "$train" --plan --set model.rates='[1, 2]' "$configs/deeplabv3+-sc18.yaml"
says err "'rates' has 2 numbers instead of 3"

# resnet
# torchvision's: 25,557,032 parameters, 4.09 G multiply-adds
expect 0 "$train" --plan=json $others --set data.train=none.dlx "$configs/resnet-50.yaml"
says out '"parameters": 25557032, "trainable_parameters": 25557032, "tensors": 161'
says out '"forward": 8178368512, "training": 24535105536'

# tiramisu
# tiramisu CONFIG MODEL FLOPS: what --plan=json says of a config at its published size.
tiramisu() {
	expect 0 "$train" --plan=json $others --set data.train=none.dlx "$configs/$1.yaml"
	says out "$2"
	says out "$3"
}
# Kurth et al.: 4.188 and 3.703 TFLOP a sample
tiramisu tiramisu-sc18 '"parameters": 7801315, "trainable_parameters": 7504835' '"training": 4187766915072'
tiramisu tiramisu-daint '"parameters": 7413523, "trainable_parameters": 7134211' '"training": 3702593617920'
# Jegou et al.: 9.4 million with the running statistics
tiramisu tiramisu-fc-densenet103 '"parameters": 9322091, "trainable_parameters": 9322091' '"forward": 138136128000'

pass
