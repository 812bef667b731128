#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A network keeps what it was trained on: with its run's folder, or an export, it is evaluated, predicts and is exported to the same bits
# whatever 'data.train' is now, where its training data is gone, and where the folder was moved.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
arrays=$DLX_SOURCE/test/train/trained_on.py
"$python3" "$arrays" make || fail "no arrays"
# set_of NAME OPTION...: NAME.dlx of NAME.npy
set_of() {
	set_name=$1
	shift
	expect 0 "$convert" -i "$set_name.npy" --channel-names red,blue --class-names p,q,r -o "$set_name.dlx" "$@"
}
set_of x -t y.npy
set_of scaled -t y.npy
set_of floats -t y.npy
set_of one -t one-y.npy
mkdir data
cp x.dlx data/train.dlx
cat >config.yaml <<'END'
run: {name: known, dir: runs/known}
model:
  family: layers
  layers:
    - conv2d: {filters: 4, kernel: 3, padding: same}
    - batch_norm
    - relu
    - global_average
    - flatten
    - batch_norm
    - dense: {units: 3}
data: {train: data/train.dlx, validation: x.dlx, transforms: [cast, {normalize: standard}]}
loss: {type: softmax_cross_entropy, class_weights: inverse_frequency}
metrics: [accuracy]
optimizer: {type: sgd, learning_rate: 0.05, momentum: 0.9}
train: {steps: 12, batch_size: 4}
checkpoint: {every: null}
report: {progress: none}
END
expect 0 "$train" config.yaml
# evaluated NAME OPTION...: the line of JSON goes to NAME.json
evaluated() {
	result=$1
	shift
	expect 0 "$train" --evaluate "$@"
	grep '^{' out >"$result.json"
}
evaluated before config.yaml
expect 0 "$train" --predict x.dlx -o before.npy config.yaml
expect 0 "$train" --export before.safetensors config.yaml

begin "other data in place of the training set"
evaluated other --set data.train=scaled.dlx config.yaml
cmp before.json other.json || fail "an evaluation depends on what 'data.train' is now"
expect 0 "$train" --predict scaled.dlx -o scaled.npy config.yaml
cmp -s before.npy scaled.npy && fail "rescaled data predict what the data themselves predict"
says err "'cast' divides by 255, as for the training set, which is stored as u8; these data are f32"
expect 0 "$train" --predict scaled.dlx -o own.npy --set data.statistics=data config.yaml
says err "'data.statistics' is data: the transforms use each set's own statistics"
"$python3" "$arrays" close before.npy own.npy 1e-4 || fail "with their own statistics rescaled data predict something else"
expect 0 "$train" --predict floats.dlx -o floats.npy config.yaml
cmp before.npy floats.npy || fail "a prediction depends on the type that the same numbers are stored in"
evaluated transforms --set 'data.transforms=[normalize: min_max]' config.yaml
says err "was trained with other 'data.transforms': [\"cast\", {\"normalize\": \"standard\"}] there, [{\"normalize\": \"min_max\"}] here"

begin "without the training data"
rm data/train.dlx
evaluated gone config.yaml
cmp before.json gone.json || fail "an evaluation depends on the training data"
grep -q 'not there' err && { cat err; fail "the training data was looked for"; }
expect 0 "$train" --predict x.dlx -o gone.npy config.yaml
cmp before.npy gone.npy || fail "a prediction depends on the training data"

begin "a batch of one, in which batch norm has one value a channel"
expect 0 "$train" --predict one.dlx -o one.npy --set train.batch_size=1 config.yaml
mv x.dlx elsewhere.dlx
expect 0 "$train" --export gone.safetensors --set train.batch_size=1 config.yaml
cmp before.safetensors gone.safetensors || fail "an export depends on data"
expect 66 "$train" --resume config.yaml
says err "data/train.dlx"

begin "a run that was moved: by its folder, by its config, on ranks"
mkdir far
mv runs/known far/away
expect 0 "$train" --predict elsewhere.dlx -o moved.npy far/away
cmp before.npy moved.npy || fail "a moved run predicts something else"
expect 0 "$train" --predict elsewhere.dlx -o moved.npy far/away/config.yaml
says err "the run is in 'far/away' now, no longer in 'runs/known'"
cmp before.npy moved.npy || fail "a moved run predicts something else by its config"
(cd far/away && expect 0 "$train" --predict ../../elsewhere.dlx -o ../../moved.npy config.yaml) || fail
cmp before.npy moved.npy || fail "a moved run predicts something else in its folder"
expect 66 "$train" --evaluate far
says err "'far' is a folder, but not of a run: it has no config.yaml"
if has_ranks; then
	for n in 1 2; do
		expect 0 on_ranks $n "$train" --predict elsewhere.dlx -o ranks.npy far/away/config.yaml
		cmp before.npy ranks.npy || fail "$n ranks predict something else"
		[ "$(grep -c 'no longer in' err)" -eq 1 ] || { cat err; fail "more than one rank says what all know"; }
		expect 0 on_ranks $n "$train" --evaluate --set data.validation=elsewhere.dlx far/away
		says out '"accuracy"'
	done
fi
cp elsewhere.dlx data/train.dlx
expect 0 "$train" --resume --set data.validation=elsewhere.dlx --set train.steps=14 far/away
[ -d runs/known ] && fail "a moved run went on where it was"

begin "an export in place of the run"
rm data/train.dlx
from() {
	"$train" --set run.dir=none --set "model.init_from=$1" "$2" "$3" -o from.npy config.yaml
}
expect 0 from before.safetensors --predict elsewhere.dlx
cmp before.npy from.npy || fail "an export predicts something else than its run"
evaluated from --set run.dir=none --set model.init_from=before.safetensors --set data.validation=elsewhere.dlx config.yaml
cmp before.json from.json || fail "an export is evaluated as something else than its run"
expect 0 "$train" --set run.dir=none --set model.init_from=before.safetensors --export again.safetensors config.yaml
cmp before.safetensors again.safetensors || fail "an export of an export is another"
expect 66 "$train" --set run.dir=none --predict elsewhere.dlx -o from.npy config.yaml
says err "no checkpoint in 'none/checkpoints'; train first"

begin "a training that begins with an export uses the statistics of its own data"
expect 0 "$train" --set run.dir=runs/fine --set model.init_from=before.safetensors --set data.train=scaled.dlx \
	--set data.validation=scaled.dlx --set train.steps=1 config.yaml
says err "'before.safetensors' was trained with other statistics; this run's are those of 'data.train'"
expect 0 "$train" --set run.dir=runs/same --set model.init_from=before.safetensors --set data.train=elsewhere.dlx \
	--set data.validation=elsewhere.dlx --set train.steps=1 config.yaml
grep -q 'other statistics' err && { cat err; fail "the same statistics are called others"; }

begin "weights of other origin have no statistics"
"$python3" "$arrays" strip before.safetensors bare.safetensors || fail "the export does not say what it was trained on"
cp elsewhere.dlx data/train.dlx
expect 0 from bare.safetensors --predict elsewhere.dlx
says err "'bare.safetensors' does not say what it was trained on; the statistics are those of 'data.train' as it is now"
cmp before.npy from.npy || fail "weights alone predict something else with their training data"
rm data/train.dlx
expect 78 from bare.safetensors --predict elsewhere.dlx
says err "mean and deviation of channel 0 'red' are not known; say 'mean' and 'std'"
expect 0 "$train" --set run.dir=none --set model.init_from=bare.safetensors --predict elsewhere.dlx -o from.npy \
	--set 'data.transforms=[{normalize: {method: standard, mean: [100], std: [40]}}]' config.yaml
expect 78 "$train" --set run.dir=none --set model.init_from=bare.safetensors --evaluate --set data.validation=elsewhere.dlx \
	--set 'data.transforms=[{normalize: {method: standard, mean: [100], std: [40]}}]' config.yaml
says err "class weights by frequency need the training set"
pass
