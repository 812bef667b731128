#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What the programs print as JSON is JSON, and no object in it has a key twice, of which a reader would keep one: plans, benches,
# evaluations, journals, traces, reports and descriptions of records.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml

# json SUFFIX COMMAND...: what the command prints, from its last line that begins an object on.
json() {
	suffix=$1
	shift
	expect 0 "$@"
	sed -n '/^{/,$p' out >"printed.$suffix"
	"$python3" "$DLX_SOURCE/test/cli/json_keys.py" "printed.$suffix" || { cat "printed.$suffix"; fail "$*"; }
}

# The reader can fail.
echo '{"a": [{"b": 1, "c": 2, "b": 3}]}' >twice.json
"$python3" "$DLX_SOURCE/test/cli/json_keys.py" twice.json 2>err && fail "a key that is there twice is not found"
says err 'twice.json: an object has twice: b'

# Plans: with data and without, of ranks, of a GPU, under a limit of memory.
plan() {
	json json "$train" --plan=json "$@"
}
plan "$config"
says out '"sees": {'
plan --ranks=2x2 "$config"
plan --ranks=4 --set 'parallel.spatial=[2,2]' "$config"
plan --ranks=4 --set parallel.spatial=auto "$config"
plan --ranks=4 --set parallel.gradient_lag=1 --set parallel.sync_batch_norm=true "$config"
if "$train" --version | grep -q '^backends:.*cuda'; then
	plan --gpu a100 --set precision.compute=fp16 "$config"
fi
plan --set train.memory.limit=1GiB --set optimizer.average.decay=0.9 --set train.accumulate=3 "$config"
plan --set 'data.transforms=[{normalize: {method: standard, mask: validity}}]' "$config"
DLX_DEBUG=$(debug trials=no)
plan --set data.train=none.dlx "$DLX_SOURCE/configs/resnet-50.yaml"
for config_of in cosmoflow-mlperf deepcam-mlperf; do
	plan "$DLX_SOURCE/configs/$config_of.yaml"
done

# A run, and what is said of it.
expect 0 "$train" --quiet --trace trace.json "$config"
"$python3" "$DLX_SOURCE/test/cli/json_keys.py" trace.json runs/tiny/metrics.jsonl || fail "a run"
json json "$train" --evaluate "$config"
json json "$train" --bench=1 --profile "$config"
json jsonl "$report" --json --target mean_iou=0.01 runs/tiny
json jsonl "$inspect" --json data/coads-train.dlx data/coads-validation.dlx
pass
