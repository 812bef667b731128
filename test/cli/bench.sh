#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# --bench and --dump-step on data made up in memory, and what they say where that cannot be.
. "${DLX_SOURCE:?}/test/lib.sh"

begin "a timed step of made-up data"
# bench SETTING... CONFIG: one timed step of a run whose data does not exist.
bench() {
	"$train" --quiet --bench=1 --set train.batch_size=2 "$@"
}
cat >labels.yaml <<END
run: {name: labels, seed: 3}
model:
  family: layers
  input: {channels: 3, size: [8, 6]}
  classes: 4
  layers: [{conv2d: {filters: 4, kernel: 3, padding: same}}]
data:
  train: nowhere.dlx
  transforms: [{normalize: {method: standard}}]
loss: {type: softmax_cross_entropy, class_weights: inverse_frequency}
train: {steps: 1}
END
sed -e 's/{type: soft.*/{type: mse}/' -e 's/: labels/: fields/' labels.yaml >fields.yaml

for kind in labels fields; do
	expect 0 bench --synthetic $kind.yaml
	for key in samples_per_second tflops step_median step_min step_max steps batch peak_memory first_step phases; do
		says out "\"$key\": "
	done
	says out '"batch": 2'
	says out '"parameters": 112,'           # 4 filters of 27 weights and a bias
done

begin "the profile: tables on standard error, and in the line"
expect 0 bench --synthetic --profile labels.yaml
says err 'through memory'
says err '2 convolutions'
says err 'conv_grad_weight (1)'
cp out profile.json

expect 66 bench labels.yaml
says err "cannot open 'nowhere.dlx'"
says err "'--synthetic' does without data"
expect 78 bench --synthetic --set model.input=null labels.yaml
says err "'--synthetic' makes data as the config declares it: 'model.input' with channels and size, and 'model.classes'"
expect 64 "$train" --synthetic labels.yaml
says err "'--synthetic' goes with '--bench' or '--dump-step'"

begin "one op alone"
expect 0 "$train" --bench-op conv '2x3x5x6 5x3x3x3! 5!'
says err 'of its roofline'
mv out op.json
expect 0 "$train" --quiet --device cpu --bench-op=conv '2x3x5x6 5x3x3x3! 5!; stride: [2]'
[ ! -s err ] || fail "--quiet prints a note"
if "$train" --quiet --compute bf16 --device cpu --bench-op=conv '2x3x5x6 5x3x3x3! 5!' >out 2>err; then
	says out '"compute": "bf16"'
else
	says err 'cannot compute in bf16'
fi
expect 0 "$train" --bench-op adam 's:positive s:index5 - - - 3x5! 3x5 3x5@ 3x5:positive@'

begin "refused"
# refuses TEXT OP SAMPLE...: status 64, or another one from the op itself.
refuses() {
	says_what=$1
	shift
	"$train" --bench-op "$@" >out 2>err && fail "takes $*"
	says err "$says_what"
}
refuses "there is no such op; did you mean 'relu'?" rellu 3
refuses "'--bench-op=relu' needs a sample of inputs and attributes, such as '" relu
refuses "several inputs are one argument, in quotes" conv 2x3x5x6 5x3x3x3!
refuses "unknown kind of values 'foo'" relu 9:foo
refuses "'relu' has no attributes" relu '9; slope: 3'
refuses "unknown key 'strid'" conv '2x3x5x6 5x3x3x3!; strid: 2'
refuses "in the sample '3x3'; one of conv is '" conv 3x3
refuses 'an input of more than 268435456 values' relu 99999999999x99999999999
refuses 'nothing runs' reshape '3; shape: [3]'
refuses "'--compute=fp16': expected f32, bf16 or f64" relu 3 --compute fp16
refuses "'conv' has no float64 kernel on the CPU" conv '2x3x5x6 5x3x3x3! 5!' --compute f64
refuses "'--set' is for configs" relu 3 --set run.seed=1
expect 64 "$train" --check --compute bf16 labels.yaml
says err "'--compute' goes with '--bench-op'"

begin "a batch depends on its seed alone"
for seed in 3 3 4; do
	expect 0 "$train" --quiet --dump-step step --synthetic --set train.batch_size=64 --set run.seed=$seed labels.yaml
	sha256sum <step/inputs.safetensors >>sums
done
[ "$(sed -n 1p sums)" = "$(sed -n 2p sums)" ] || fail "another batch from the same seed"
[ "$(sed -n 1p sums)" != "$(sed -n 3p sums)" ] || fail "the same batch from another seed"
find_python
expect 0 "$python" - "$DLX_SOURCE/test/train" <<'END'
import json
import sys

sys.path.insert(0, sys.argv[1])
from safetensors_read import read

batch = read("step/inputs.safetensors")
assert batch["input"].shape == (64, 3, 8, 6) and batch["target"].shape == (64, 8, 6)
assert abs(batch["input"].mean()) < 0.05 and abs(batch["input"].std() - 1) < 0.05
assert sorted({*batch["target"].flat}) == [0, 1, 2, 3]

op = json.load(open("op.json"))
assert op["flops"] == 2 * 2 * 5 * 3 * 4 * 3 * 9 and op["runs"] >= 5 and op["kernel"]
assert 0 < op["min"] <= op["seconds"] <= op["max"] and op["bound"] > 0

profile = json.load(open("profile.json"))["profile"]
assert profile["rates"]["bytes"] > 0 and profile["rates"]["f32"] > 0 and profile["rates"]["bf16"] > 0
assert profile["convolutions"] <= profile["step"] and profile["reorders"] <= profile["step"]
for rows in (profile["ops"], profile["nodes"]):
    assert [r["lost"] for r in rows] == sorted((r["lost"] for r in rows), reverse=True)
    for r in rows:
        assert abs(r["seconds"] - r["bound"] - r["lost"]) <= 1e-9 + 1e-9 * r["seconds"]
        assert r["bound"] >= 0.99 * max(r["flops"] / profile["rates"]["f32"], 0)
    assert abs(sum(r["seconds"] for r in rows) + profile["between_nodes"] - profile["step"]) < 1e-6
by_kind = {r["op"]: r for r in profile["ops"]}
for op, r in by_kind.items():
    nodes = [n for n in profile["nodes"] if n["op"] == op]
    assert r["nodes"] == len(nodes) and abs(r["flops"] - sum(n["flops"] for n in nodes)) < 1
assert by_kind["conv"]["flops"] == 2 * 2 * 4 * 8 * 6 * 3 * 9
assert {n["phase"] for n in profile["nodes"]} == {"forward", "backward", "update"}
END
pass
