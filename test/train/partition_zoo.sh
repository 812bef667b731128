#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The ready configs with few channels, on small samples, each cut in two ways into subdomains of unequal size: loss, gradients, running
# statistics and metrics are those of whole samples, on the reference device to 1e-12 and on the CPU as --verify-partition limits them.
# The short form has those configs that take less than a second, each cut in one way.
. "${DLX_SOURCE:?}/test/lib.sh"
export OMP_NUM_THREADS=1

# verify CONFIG SIZE CUT CUT SETTING...: SIZE of samples, or "-".
verify() {
	config=$1
	size=${2#-}
	cuts="$3;$4"
	shift 4
	for option; do
		shift
		set -- "$@" --set "$option"
	done
	[ "$(form short long)" = short ] && cuts=${cuts%%;*}
	IFS=';'
	for cut in $cuts; do
		IFS=' '
		expect 0 "$train" --quiet --device cpu --verify-partition${size:+=$size} --set "parallel.spatial=$cut" "$@" \
			"$DLX_SOURCE/configs/$config.yaml"
		sed "s,^,$config: ," out
	done
	IFS=' '
}
plane='model.input={channels: 3, size: [40, 48]}'
box='model.input.size=[48, 48, 48]'

verify unet3d-lits 24x8x16 '[2, 1, 1]' '[1, 2, 2]' model.filters=2
verify cosmoflow-lbann-2023 40x32x32 '[3, 1, 1]' '[1, 2, 2]' "$box" model.filters=2 model.max_filters=4 'model.dense=[8, 4]'
verify deepcam-mlperf 48x80 '[2, 2]' '[3, 1]' 'model.widths=[2, 2, 4, 4, 4, 4, 4, 4]' model.middle_blocks=1 model.aspp_filters=4 \
	model.low_level_filters=3
verify cosmoflow-lbann-2020 40x32x33 '[2, 1, 1]' '[1, 2, 2]' "$box" model.filters=2 model.max_filters=4 'model.dense=[8, 4]'
verify cosmoflow-mlperf 40x32x32 '[2, 1, 1]' '[1, 2, 2]' "$box" model.filters=2 model.max_filters=4 'model.dense=[8, 4]'
verify cosmoflow-mlperf-v0.7 40x32x32 '[2, 1, 1]' '[1, 2, 2]' "$box" model.filters=2 model.max_filters=4 'model.dense=[8, 4]'
verify deeplabv3+-sc18 48x40 '[2, 2]' '[3, 1]' model.filters=4 model.aspp_filters=4 model.low_level_filters=3
verify fcn-pool-avg 40x32 '[2, 2]' '[3, 1]' 'model.input={channels: 3, size: [40, 48]}' model.growth=2
verify tiramisu-sc18 80x64 '[2, 2]' '[3, 1]' model.growth=2 model.initial_filters=4
[ "$(form short long)" = short ] && pass

verify cosmoflow-sc18 - '[2, 1, 1]' '[1, 1, 3]' model.filters=2 precision.winograd=false
verify resnet-50 90x64 '[2, 1]' '[1, 3]'
verify tiramisu-daint 80x64 '[2, 1]' '[1, 3]' model.growth=2 model.initial_filters=4
for d in 56 67 103; do
	verify tiramisu-fc-densenet$d 96x64 '[2, 1]' '[1, 3]' model.growth=2 model.initial_filters=4
done
verify coads-fcn 37x48 '[2, 1]' '[1, 3]' "$plane" model.classes=4
verify coads-linear 37x48 '[2, 1]' '[1, 3]' "$plane" model.classes=4
verify demo/climate - '[2, 1]' '[1, 3]' "$plane" model.classes=3
verify demo/climate-linear - '[2, 1]' '[1, 3]' "$plane" model.classes=3
verify demo/stem - '[2, 1]' '[1, 3]' "$plane" model.classes=1
verify demo/universes 24x16x16 '[2, 1, 1]' '[1, 2, 2]' 'model.input={channels: 1, size: [32, 32, 32]}' model.classes=4
verify examples/unet2d - '[2, 1]' '[1, 3]' "$plane" model.classes=3
verify examples/unet3d - '[2, 1, 1]' '[1, 2, 2]' 'model.input={channels: 1, size: [24, 24, 24]}' model.classes=3
verify examples/classifier - '[2, 1]' '[1, 3]' "$plane" model.classes=10
verify examples/netcdf - '[2, 1]' '[1, 3]' "$plane" model.classes=1
pass
