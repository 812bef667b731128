#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# data.target_transforms: the loss sees scaled targets, metrics and predictions have the target's units, as in double precision. The
# scaling belongs to the network: it goes with a moved run and an export. data.statistics: init_from takes that of a file.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
arrays=$DLX_SOURCE/test/train/targets.py
"$python3" "$arrays" make || fail "no arrays"
expect 0 "$convert" -i x.npy -t y.npy --channel-names a,b,c -o known.dlx
expect 0 "$convert" -i strange-x.npy -t strange-y.npy --channel-names a,b,c -o strange.dlx
expect 0 "$convert" -i x.npy -t low-y.npy --channel-names a,b,c -o low.dlx
expect 0 "$convert" -i field.npy -t rain.npy -o rain.dlx
mkdir data
cp known.dlx data/train.dlx
cat >config.yaml <<'END'
run: {name: known, dir: runs/known}
model: {family: layers, layers: [{dense: {units: 2}}]}
data:
  train: data/train.dlx
  validation: known.dlx
  target_transforms:
    - log1p: 1
    - normalize: {method: standard, channels: 0}
    - normalize: {method: min_max, channels: 1}
loss: mse
metrics: [mae, mse]
optimizer: {type: sgd, learning_rate: 0.2}
schedule: constant
train: {steps: 25, batch_size: 16}
report: {progress: none}
END

begin "scaled targets"
evaluated() {
	result=$1
	shift
	expect 0 "$train" --evaluate "$@"
	grep '^{' out >"$result.json"
}
expect 0 "$train" --check config.yaml
says out "target        the loss sees 'y[0]' as (x - 2"
says out "'y[1]' as (log1p(x) - "
says out "metrics and predictions have the target's own units"
expect 0 "$train" --plan=json config.yaml
"$python3" -c '
import json, sys
plan = json.load(sys.stdin)
assert [t["channel"] for t in plan["target"]] == ["y[0]", "y[1]"] and plan["target"][1]["loss_sees"].startswith("(log1p(x) - ")
' <out || fail "the plan does not say what the loss sees"
expect 0 "$train" --export first.safetensors config.yaml
expect 0 "$train" config.yaml
evaluated before config.yaml
expect 0 "$train" --export last.safetensors config.yaml
expect 0 "$train" --predict known.dlx -o before.npy config.yaml
expect 0 "$train" --predict known.dlx -o before.csv config.yaml
[ "$(head -n 1 before.csv)" = 'sample,y[0],y[1]' ] || fail "outputs are not called what the targets are"
expect 0 "$train" --predict known.dlx -o before.nc config.yaml
grep -aq 'y\[0\], y\[1\]' before.nc || fail "outputs have no names in netCDF"
"$python3" "$arrays" trained first.safetensors last.safetensors before.json 25 0.2 || fail "not what double precision computes"
"$python3" "$arrays" unscaled last.safetensors before.npy before.csv || fail "not what the export's metadata makes of its outputs"
expect 0 "$ckpt" runs/known export last by-ckpt.safetensors
"$python3" "$arrays" unscaled by-ckpt.safetensors before.npy before.csv || fail "not what the metadata of dlx-ckpt export makes of its outputs"
expect 0 "$train" --evaluate --set 'data.target_transforms=[{normalize: standard}]' config.yaml
says err "was trained with other 'data.target_transforms': [{\"log1p\": 1}, "

begin "a moved run without its training data, and an export in its place"
rm -r data
mkdir far
mv runs/known far/away
expect 0 "$train" --predict known.dlx -o moved.npy far/away
cmp before.npy moved.npy || fail "a moved run predicts something else"
evaluated moved far/away
cmp before.json moved.json || fail "a moved run is evaluated as something else"
from() {
	from_file=$1
	shift
	"$train" --set run.dir=none --set "model.init_from=$from_file" "$@" config.yaml
}
expect 0 from last.safetensors --predict known.dlx -o from.npy
cmp before.npy from.npy || fail "an export predicts something else than its run"
expect 0 from last.safetensors --export again.safetensors
cmp last.safetensors again.safetensors || fail "an export of an export is another"
expect 0 from last.safetensors --evaluate --set data.validation=strange.dlx --set data.statistics=data
if has_ranks; then
	expect 0 on_ranks 2 "$train" --predict known.dlx -o ranks.npy far/away
	"$python3" "$arrays" close before.npy ranks.npy || fail "2 ranks predict something else"   # in other batches
	for n in 1 2; do
		expect 0 on_ranks $n "$train" --set data.train=known.dlx --set run.dir=runs/ranks-$n --set train.batch_size=4 \
			--set train.global_batch_size=16 --set parallel.reproducible=true config.yaml
		expect 0 "$train" --export ranks-$n.safetensors runs/ranks-$n
	done
	cmp ranks-1.safetensors ranks-2.safetensors || fail "2 ranks train something else than 1"
fi

begin "fine-tuning on other data"
start=
fine() {
	dir=$1
	shift
	$start "$train" --set run.dir="runs/$dir" --set model.init_from=last.safetensors --set data.train=strange.dlx \
		--set data.validation=known.dlx --set train.steps=1 --set optimizer.learning_rate=1e-30 "$@" config.yaml
}
expect 0 fine own
says err "'last.safetensors' was trained with other statistics; this run's are those of 'data.train' ('data.statistics: init_from'"
says err "'last.safetensors' was trained with other statistics of the target; this run's are those of 'data.train'"
expect 0 fine theirs --set data.statistics=init_from
says err "the statistics are those that 'last.safetensors' was trained with"
grep -q 'other statistics' err && { cat err; fail "adopted statistics are called others"; }
expect 0 fine inputs --set data.statistics=init_from_inputs
says err "'last.safetensors' was trained with other statistics of the target"
for run in own theirs inputs; do
	expect 0 "$train" --predict known.dlx -o $run.npy runs/$run
done
cmp before.npy theirs.npy || fail "the file's statistics are not those of the run"
cmp -s before.npy own.npy && fail "a run's own statistics are the file's"
cmp own.npy inputs.npy || fail "of inputs alone, without transforms of inputs, is something else than none"
if has_ranks; then
	start="on_ranks 2"
	expect 0 fine ranks --set data.statistics=init_from
	start=
	expect 0 "$train" --predict known.dlx -o ranks.npy runs/ranks
	cmp before.npy ranks.npy || fail "2 ranks have other statistics"
fi
expect 0 fine others --set 'data.target_transforms=[{normalize: standard}]'
says err "'last.safetensors' was trained with other 'data.target_transforms': [{\"log1p\": 1}, "
"$python3" "$arrays" bare last.safetensors bare.safetensors || fail "no metadata"
expect 65 fine bare --set data.statistics=init_from --set model.init_from=bare.safetensors
says err "'bare.safetensors' does not say what it was trained on; 'data.statistics: model' takes the statistics of 'data.train'"

begin "a resumed run does not need the file"
mv last.safetensors elsewhere.safetensors
expect 0 fine theirs --resume --set data.statistics=init_from --set train.steps=2
says err "the statistics are those that checkpoint 1-"
expect 0 "$train" --predict known.dlx -o theirs.npy runs/theirs
cmp before.npy theirs.npy || fail "a resumed run has other statistics"
expect 78 "$train" --check --set data.statistics=init_from --set data.train=known.dlx config.yaml
says err "'data.statistics' are those of 'model.init_from', which names no file"
expect 65 "$train" --check --set data.statistics=init_from --set model.init_from=elsewhere.safetensors --set data.train=rain.dlx \
	--set data.validation=rain.dlx config.yaml
says err "the statistics of 'elsewhere.safetensors' are those of inputs of f32 3, but the training set has f32 1x66x88"

begin "fields in tiles have the bits of the whole"
cat >rain.yaml <<'END'
run: {name: rain}
model: {family: layers, layers: [{conv2d: {filters: 4, kernel: 3, padding: same}}, relu, {conv2d: {filters: 1, kernel: 3, padding: same}}]}
data: {train: rain.dlx, validation: rain.dlx, target_transforms: [log1p, {normalize: min_max}]}
loss: l1
metrics: [mae]
optimizer: {type: adam, learning_rate: 0.01}
train: {steps: 4, batch_size: 2}
report: {progress: none}
END
expect 0 "$train" rain.yaml
expect 0 "$train" --predict rain.dlx -o whole.npy rain.yaml
expect 0 "$train" --predict rain.dlx --tile 16 -o tiles.npy rain.yaml
cmp whole.npy tiles.npy || fail "tiles have other bits"
"$python3" "$arrays" between whole.npy -1 1e30 || fail "log1p is not undone"
expect 0 "$train" --predict rain.dlx -o pictures rain.yaml
[ -s pictures/000003.png ] || fail "no pictures"
expect 0 "$train" $(compute_bf16 rain.yaml) --predict rain.dlx -o half.npy rain.yaml

begin "targets that cannot be scaled"
expect 78 "$train" --check --set data.train=low.dlx config.yaml
says err "log1p needs values above -1; channel 1 'low-y[1]' goes down to -"
expect 65 "$train" --check --set data.train=known.dlx --set data.validation=low.dlx config.yaml
says err "'low.dlx': log1p needs targets above -1; channel 1 'y[1]' goes further down"
expect 78 "$train" --check --set data.train=known.dlx --set 'data.target_transforms=[log1p, {normalize: standard}]' config.yaml
says err "mean and deviation of channel 0 'y[0]' are not known after log1p; say 'mean' and 'std'"
expect 78 "$train" --check --set data.train=known.dlx --set 'data.target_transforms=[{log1p: nothing}]' config.yaml
says err "no target channel 'nothing'; there are 2: y[0], y[1]"
pass
