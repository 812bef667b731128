#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Samples that are cut over ranks: 2 to 6 ranks train, validate and predict as one rank with whole samples does, in double precision to
# the rounding of files, with subdomains of unequal size, several teams, last batches of fewer samples than teams; checkpoints resume on
# other cuts. Combinations and cuts that there are not are refused at their line.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
find_python3
coads_data
export OMP_NUM_THREADS=1
sed 's/crop: {size: .*}/crop: {size: [16, 20]}/' "$DLX_SOURCE/test/train/tiny.yaml" >small.yaml
base="--set device=reference --set train.batch_size=null --set train.steps=$(form 4 8)"

more=
# run RANKS CUT DIR SETTING...: and its weights as DIR.safetensors; $more: further options.
run() {
	n=$1
	cut=$2
	dir=$3
	shift 3
	expect 0 on_ranks "$n" "$train" --quiet $more --set run.dir="$dir" $base "$@" --set "parallel.spatial=$cut" small.yaml
	expect 0 "$train" --set run.dir="$dir" $base "$@" --export "$dir.safetensors" small.yaml
}
# close A B: weights, states, losses and metrics of two runs.
close() {
	weights_close "$1.safetensors" "$2.safetensors" 1e-7 || fail "weights: $*"
	"$python3" - "$1" "$2" <<'EOF' || fail "losses: $*"
import json, sys
def numbers(v):
    return [x for w in (v.values() if isinstance(v, dict) else v) for x in numbers(w)] if isinstance(v, (dict, list)) else [v]
def lines(run):
    return [numbers([m["loss"], m.get("metrics", {})]) for m in map(json.loads, open(run + "/metrics.jsonl")) if "loss" in m]
a, b = map(lines, sys.argv[1:])
assert a and len(a) == len(b), (len(a), len(b))
for x, y in zip(a, b):
    assert all(abs(p - q) <= 1e-12 * abs(p) for p, q in zip(x, y)), (x, y)
EOF
}

# Eight samples: batches of 4; of 6 and 2, with a loss that is a sum.
run 1 null runs/one --set train.global_batch_size=4
for cut in '2 [2, 1]' '3 [1, 3]' '4 [2, 2]'; do
	set -- $cut
	run "$1" "${cut#* }" "runs/cut-$1" --set train.global_batch_size=4
	close runs/one "runs/cut-$1"
done
run 1 null runs/six --set train.global_batch_size=6 --set train.accumulate=2 --set train.clip_norm=0.5 --set loss.reduction=sum
run 4 '[4, 1]' runs/cut-six --set train.global_batch_size=6 --set train.accumulate=2 --set train.clip_norm=0.5 --set loss.reduction=sum
close runs/six runs/cut-six

# Two and three teams of two ranks: as two and three ranks with whole samples, of which one has none in the last batch.
for teams in 2 3; do
	run "$teams" null "runs/ranks-$teams" --set train.global_batch_size=6
	run $((2 * teams)) "[1, 2]" "runs/teams-$teams" --set train.global_batch_size=6
	close "runs/ranks-$teams" "runs/teams-$teams"
done
# The statistics of all ranks: as of one.
run 4 '[2, 1]' runs/synchronous --set train.global_batch_size=6 --set parallel.sync_batch_norm=true
run 1 null runs/together --set train.global_batch_size=6
close runs/together runs/synchronous

# predict RANKS CUT FILE
predict() {
	expect 0 on_ranks "$1" "$train" --set run.dir=runs/one $base --set train.global_batch_size=6 --set "parallel.spatial=$2" --predict \
		data/coads-validation.dlx -o "$3" small.yaml
}
predict 1 null one.npy
predict 2 '[2, 1]' rows.npy
predict 6 '[1, 3]' columns.npy
for f in rows columns; do
	npy_close one.npy $f.npy 1e-5 || fail "predictions: $f"
done

# Stopped on one cut, resumed on others.
half="--set train.steps=$(form 2 4) --set train.global_batch_size=4"
expect 0 on_ranks 4 "$train" --quiet --set run.dir=runs/resumed $base $half --set 'parallel.spatial=[4, 1]' small.yaml
expect 0 on_ranks 2 "$train" --resume --set run.dir=runs/resumed $base --set train.steps=$(form 3 6) --set train.global_batch_size=4 \
	--set 'parallel.spatial=[1, 2]' small.yaml
says err "'parallel.spatial' was [4, 1] and is [1, 2] from now on"
more=--resume
run 1 null runs/resumed --set train.global_batch_size=4
weights_close runs/one.safetensors runs/resumed.safetensors 1e-7 || fail "resumed on other cuts"

# refuse STATUS TEXT RANKS CUT SETTING...
refuse() {
	status=$1
	text=$2
	n=$3
	cut=$4
	shift 4
	expect "$status" on_ranks "$n" "$train" --quiet --set run.dir=runs/no $base "$@" --set "parallel.spatial=$cut" small.yaml
	says err "$text"
}
refuse 78 "'spatial' [4, 1] needs a multiple of 4 ranks, there are 2" 2 '[4, 1]'
refuse 78 "'spatial' [2, 1, 1] is for samples with 3 spatial axes; these have 2" 2 '[2, 1, 1]'
refuse 78 "'spatial' must be auto, or a list" 2 '[2, x]'
refuse 78 "'reproducible' is not possible with 'parallel.spatial'" 2 '[2, 1]' --set parallel.reproducible=true
refuse 78 "'mixup' is not possible with 'parallel.spatial'" 2 '[2, 1]' --set data.mixup.alpha=0.2
refuse 78 "cuts 16 rows into 20 subdomains: 'input' would have none in 4 of them; at most 16" 1 '[20, 1]' --plan
pass
