#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Plans for a GPU that is not there: its memory and rates, what is not known without a driver, and values as where there is one. By
# cuDNN where that is installed, and without it in the emulation.
. "${DLX_SOURCE:?}/test/lib.sh"
emulated=$DLX_BUILD/test/gpu/train_emulated
cp "$DLX_SOURCE/test/train/tiny.yaml" .
plan() {
	program=$1
	shift
	capped "$program" "$@" --set 'model.input={channels: 2, size: [24, 32]}' --set model.classes=3 --set train.batch_size=2 \
		--set data.validation=null tiny.yaml
}
number() {
	sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" out | head -n 1
}
expect 64 plan "$train" --gpu h200
says err "'--gpu' goes with '--check' or '--plan'"
expect 64 plan "$train" --gpu h200 --check --device=cpu
if [ ! -x "$emulated" ]; then
	expect 69 plan "$train" --gpu h200 --check
	says err 'built without CUDA'
	pass
fi
for bad in h900 h200:none h200: 0GiB 80; do
	expect 64 plan "$train" --gpu "$bad" --check
	says err 'expected one of a100-40g, a100, h100, h200'
done
expect 0 plan "$train" --gpu h100:64GiB --plan
says out 'NVIDIA H100 80GB HBM3, 64 GiB'
says out 'not there: memory and rates as its maker publishes them'
says out 'by 67000 GFLOP/s and 3350 GB/s, as published'
says out 'GPU memory'
grep -q 'largest batch [1-9][0-9]* *' out || fail "no largest batch"
expect 0 plan "$train" --gpu 8GiB --plan --set precision.compute=bf16
says out ', 989000 GFLOP/s in bf16 and '
says out 'of 8 GiB 8 GiB are free'

# As where there is one, but for the workspace.
expect 0 plan "$train" --gpu a100 --plan=json
says out '"gpu": "described"'
[ "$(number offered)" = $((85899345920 - 268435456)) ] || fail "$(number offered) bytes are offered"
described="$(number parameters) $(number trainable_parameters) $(number optimizer) $(number inputs)"
expect 0 plan "$emulated" --device=cuda --plan=json
[ "$described" = "$(number parameters) $(number trainable_parameters) $(number optimizer) $(number inputs)" ] ||
	fail "other values where there is a GPU: $described"
# Several ranks leave room for NCCL.
expect 0 plan "$train" --gpu a100 --ranks 4 --plan=json
[ "$(number aside)" = 1073741824 ] || fail "$(number aside) bytes are left aside for four ranks"

# What is not known is said: without cuDNN the workspace of convolutions, and always that of matrix products.
expect 0 plan "$emulated" --gpu h200 --check
grep -q 'of [1-9][0-9]* convolutions the workspace is not known' out || fail "no word on what is not known"
expect 0 capped "$train" --gpu h200 --check --set 'model.input={channels: 4, size: [32, 32, 32]}' --set model.classes=4 \
	"$DLX_SOURCE/test/train/zoo/cosmoflow-mlperf-small.yaml"
grep -q 'of [1-9][0-9]* matrix products the workspace is counted with its limit' out || fail "no word on matrix products"
# A step that is too large for it is shown nevertheless.
expect 71 plan "$train" --gpu 513MiB --check --set train.memory.aside=513MiB
head -n 1 out | grep -q '^does not fit  a step of 2 samples needs .* but the GPU offers ' || { cat out; fail "the first line"; }
says out 'for the whole run, MORE THAN the'
expect 0 plan "$train" --gpu 513MiB --plan --set train.memory.aside=513MiB
says out 'for the whole run, MORE THAN the'

# Steps in bf16 that were timed on an H100: what the plan says is within a quarter.
while read -r config batch milliseconds; do
	expect 0 capped "$train" --gpu h100 --plan --set data.train=none.dlx --set data.validation=null --set data.transforms=[] \
		--set train.accumulate=1 --set precision.compute=bf16 --set "train.batch_size=$batch" "$DLX_SOURCE/configs/$config.yaml"
	sed -n 's/^predicted *\([0-9.e-]*\) s a step.*/\1/p' out | awk -v m="$milliseconds" '
		{ ratio = 1000 * $1 / m }
		END { exit !(ratio > 0.75 && ratio < 1.25) }' || fail "$config with $batch samples took $milliseconds ms: $(grep '^predicted' out)"
done <<END
resnet-50 256 36.35
resnet-50 1 1.99
deepcam-mlperf 8 69.40
deepcam-mlperf 1 13.05
tiramisu-sc18 2 29.95
tiramisu-sc18 1 16.30
cosmoflow-mlperf 16 11.81
cosmoflow-mlperf 1 1.10
deeplabv3+-sc18 2 59.91
fcn-pool-avg 1 80.17
END
pass
