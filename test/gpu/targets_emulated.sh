#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Targets that a GPU scales for the loss, and outputs that it brings back, are those of the CPU; targets may travel as they are stored.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
find_python3
arrays=$DLX_SOURCE/test/train/targets.py
"$python3" "$arrays" make || fail "no arrays"
expect 0 "$convert" -i x.npy -t y.npy -o points.dlx
expect 0 "$convert" -i field.npy -t rain.npy --target-dtype f16 -o rain.dlx
cat >points.yaml <<'END'
run: {name: points}
model: {family: layers, layers: [{dense: {units: 2}}]}
data:
  train: points.dlx
  validation: points.dlx
  target_transforms: [{log1p: 1}, {normalize: {method: standard, channels: 0}}, {normalize: {method: min_max, channels: 1}}]
loss: mse
metrics: [mae]
optimizer: {type: sgd, learning_rate: 0.2}
train: {steps: 5, batch_size: 8}
END
cat >rain.yaml <<'END'
run: {name: rain}
model: {family: layers, layers: [{conv2d: {filters: 4, kernel: 3, padding: same}}, relu, {conv2d: {filters: 1, kernel: 1}}]}
data: {train: rain.dlx, validation: rain.dlx, target_transforms: [log1p, {normalize: min_max}]}
loss: l1
metrics: [mae, mse]
optimizer: {type: sgd, learning_rate: 0.01}
train: {steps: 3, batch_size: 2}
END
# on DEVICE PROGRAM NET: trains, exports and evaluates it there.
on() {
	dir=$1-$3
	expect 0 capped "$2" --device="$1" --quiet --set run.dir="runs/$dir" --set precision.allow_emulation=true "$3.yaml"
	expect 0 capped "$2" --device="$1" --export "$dir.safetensors" "runs/$dir"
	expect 0 capped "$2" --device="$1" --evaluate "runs/$dir"
	sed -n 's/.*"mae": \([^,}]*\).*/\1/p' out >"$dir.mae"
	expect 0 capped "$2" --device="$1" --predict "$3.dlx" -o "$dir.npy" "runs/$dir"
}
for net in points rain; do
	on cpu "$train" $net
	on cuda "$emulated" $net
	weights_close cpu-$net.safetensors cuda-$net.safetensors 1e-4 || fail "$net: other weights"
	"$python3" -c 'import sys; a, b = (float(open(f).read()) for f in sys.argv[1:]); assert abs(a - b) <= 1e-3 * a, (a, b)' \
		cpu-$net.mae cuda-$net.mae || fail "$net: other errors"
done
expect 0 "$emulated" --device=cuda --check --set precision.allow_emulation=true rain.yaml
says out 'travels as f32; targets as f16'
says out 'the loss sees '
DLX_DEBUG=$(debug input=host)
expect 0 "$emulated" --device=cuda --predict rain.dlx -o host.npy runs/cuda-rain
cmp host.npy cuda-rain.npy || fail "the way of the targets shows in a prediction"
expect 0 "$emulated" --device=cuda --quiet --set run.dir=runs/host --set precision.allow_emulation=true rain.yaml
[ "$(newest_state runs/host)" = "$(newest_state runs/cuda-rain)" ] || fail "the way of the targets shows in the weights"
pass
