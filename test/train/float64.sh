#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# precision.compute: f64: ten steps against NumPy (float64.py), the same bits after a stop, on any number of threads and from an
# exported file; what is counted and what is refused.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python
debug strict=yes
OMP_NUM_THREADS=2 "$python" "$DLX_SOURCE/test/train/float64.py" || fail "see above"
config=float64.yaml
want=$(newest_state runs/whole)

run() {
	dir=$1
	shift
	expect 0 "$train" --set run.dir="$dir" "$@" "$config"
}

run runs/stopped --set train.steps=4
run runs/stopped --resume
[ "$(newest_state runs/stopped)" = "$want" ] || fail "stopped after step 4: other bits than the whole run"
OMP_NUM_THREADS=1 run runs/one
[ "$(newest_state runs/one)" = "$want" ] || fail "one thread: other bits than two"

# What is exported has all bits.
expect 0 "$train" --set run.dir=runs/none --set model.init_from=trained.safetensors --export again.safetensors "$config"
cmp trained.safetensors again.safetensors || fail "an export of exported weights differs"

# The forms of a plan and of results.
expect 0 "$train" --plan "$config"
says out 'float64'
says out "'device: auto' takes the CPU, which alone computes in f64"
grep -q '^ *0 *forward *dense *a .*8x33 .* 2112 ' out || fail 'its activations do not have 8 bytes each'
expect 0 "$train" --evaluate --json "$config"
says out '"mae": '
expect 0 "$train" --predict=data.dlx -o predicted.npy "$config"
for optimizer in '{type: sgd, learning_rate: 0.01, momentum: 0.9, nesterov: true}' '{type: rmsprop, learning_rate: 0.001}' \
	'{type: lamb, learning_rate: 0.001, weight_decay: 0.01, average: {decay: 0.9}}'; do
	run runs/other --set optimizer="$optimizer" --set train.accumulate=2 --set loss=huber --set train.skip_outliers.loss=100
	rm -r runs/other
done
run runs/limit --set train.memory.limit=60KiB
if has_ranks; then
	run runs/alone --set train.batch_size=16 --set train.steps=3
	expect 0 on_ranks 2 "$train" --set run.dir=runs/two --set train.batch_size=8 --set train.steps=3 "$config"
	for dir in alone two; do
		expect 0 "$train" --set run.dir=runs/$dir --export $dir.safetensors "$config"
	done
	"$python" "$DLX_SOURCE/test/train/float64.py" two.safetensors alone.safetensors || fail "two ranks: see above"
fi

# The comparison of products runs. No time is judged.
expect 0 "$python" "$DLX_SOURCE/test/bench/float64" --turns 1 5x7x3
grep -q '^5x7x3 .* times as fast$' out || fail 'no line of a product'

# Refusals, each at its line.
refuses() {
	status=$1
	text=$2
	shift 2
	expect "$status" "$train" --plan "$@" "$config"
	says err "$text"
}
refuses 78 "'wire: bf16' with 'compute: f64'" --set precision.wire=bf16
refuses 78 "float64.yaml:12:22: a GPU does not compute in f64 here; 'device: cpu' does" --set device=cuda
sed 's/- dense: {units: 33, activation: tanh, name: a}/- dense: {units: 33, name: a}\n    - dropout: 0.5\n    - batch_norm: {name: norm}/' \
	"$config" >norm.yaml
expect 78 "$train" --plan norm.yaml
says err "norm.yaml:7:7: layer 'norm': 'batch_norm' has no float64 kernel on the CPU; 'precision: {compute: f64}' is for dense networks"
pass
