#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Metrics of all kinds on one rank and on two: the same numbers. The confusion matrix as table, JSON, csv and pictures, and in
# metrics.jsonl; options that do not fit.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
find_coads
export OMP_NUM_THREADS=1
mkdir data
for samples in 1,2,3,4,5 6,7,8,9,10; do
	expect 0 "$convert" --input "$coads:WSPD,UWND,VWND,SLP" --validity-mask --target "$coads:SST" --classes 10,20,27 --ignore 255 \
		--class-names 'cold,<mild>,warm,hot' --samples $samples -o data/classes-$samples.dlx
done
expect 0 "$convert" --input "$coads:WSPD,UWND,VWND" --validity-mask --target "$coads:SLP,AIRT" --samples 1,2,3,4,5 -o data/fields.dlx
write_config() {
	cat <<END
run: {name: $1, seed: 5}
model:
  family: layers
  layers:
    - conv2d: {filters: 8, kernel: 3, padding: same}
    - relu
    - conv2d: {filters: $2, kernel: 3, padding: same}
data:
  train: data/$3
  validation: data/$4
  transforms:
    - crop: {size: [24, 32]}
    - normalize: {method: standard, mask: validity}
loss: $5
metrics: [$6]
optimizer: {type: sgd, learning_rate: 1e-3}
train: {steps: 4, global_batch_size: 4}
checkpoint: {every: null}
report: {every: 1, progress: none}
END
}
write_config classes 4 classes-1,2,3,4,5.dlx classes-6,7,8,9,10.dlx softmax_cross_entropy \
	'top_2, accuracy, f1, precision, mean_dice, confusion, mean_iou_per_sample' >classes.yaml
write_config fields 2 fields.dlx fields.dlx mse 'r2, rmse, mae_by_output, r2_by_output' >fields.yaml

# same A B: the tables of two evaluations; sums of floats are taken in another order, which the fifth digit may show.
same() {
	"$python3" - "$1" "$2" <<'END'
import json
import sys

a, b = (json.loads(open(f).read().splitlines()[-1]) for f in sys.argv[1:])


def close(x, y):
    if isinstance(x, list):
        return len(x) == len(y) and all(map(close, x, y))
    return x == y or abs(x - y) < 1e-6 * abs(x)


if a["metrics"].keys() != b["metrics"].keys() or not all(close(v, b["metrics"][k]) for k, v in a["metrics"].items()):
    sys.exit("%s\n%s" % (a, b))
if a["metrics"].get("confusion") != b["metrics"].get("confusion"):
    sys.exit("other counts")
END
}

for run in classes fields; do
	expect 0 "$train" $run.yaml
	expect 0 "$train" --evaluate $run.yaml
	cp out $run.txt
done

begin "the table has rows for classes and outputs by name, and the matrix"
grep -q '^class  *f1  *precision$' classes.txt || fail "no head of the metrics by class"
grep -q '^label \\ predicted ' classes.txt || fail "no confusion matrix"
[ "$(grep -c '^<mild> ' classes.txt)" -eq 2 ] || fail "no rows for the class <mild>"
for name in 'SLP  *[0-9.]*  *[-0-9.]*' 'AIRT  *[0-9.]*  *[-0-9.]*' 'output  *mae_by_output  *r2_by_output'; do
	grep -q "^$name\$" fields.txt || fail "no line '$name'"
done

begin "a matrix in JSON is a list of rows, whose counts are those of csv"
expect 0 "$train" --evaluate --confusion=matrix.csv classes.yaml
"$python3" - classes.txt runs/classes/metrics.jsonl matrix.csv <<'END' || fail "other matrices"
import csv
import json
import sys

matrix = json.loads(open(sys.argv[1]).read().splitlines()[-1])["metrics"]["confusion"]
journal = [json.loads(line) for line in open(sys.argv[2])]
last = [line for line in journal if line["type"] == "validation"][-1]["metrics"]
rows = list(csv.reader(open(sys.argv[3])))
assert len(matrix) == 4 and all(len(row) == 4 for row in matrix) and sum(map(sum, matrix)) > 100, matrix
assert last["confusion"] == matrix and 0 < last["top_2"] <= 1, last
assert rows[0] == ["label", "cold", "<mild>", "warm", "hot"] and [[int(v) for v in row[1:]] for row in rows[1:]] == matrix, rows
END

begin "pictures, also where the config does not ask for the matrix"
expect 0 "$train" --set 'metrics=[accuracy]' --evaluate --confusion=matrix.svg classes.yaml
grep -q '&lt;mild&gt;' matrix.svg || fail "no names in the picture"
[ "$(grep -c '<rect' matrix.svg)" -eq 17 ] || fail "other cells"
expect 0 "$train" --evaluate --confusion=matrix.png classes.yaml
[ "$(od -An -tx1 -j16 -N8 matrix.png | tr -d ' \n')" = 000000c0000000c0 ] || fail "a picture of another size"

expect 64 "$train" --evaluate --confusion=matrix.jpg classes.yaml
says err "'--confusion=matrix.jpg': expected a name that ends in .svg, .png or .csv"
expect 64 "$train" --confusion=matrix.svg classes.yaml
says err "'--confusion' goes with '--evaluate'"
expect 78 "$train" --evaluate --confusion=matrix.svg fields.yaml
says err "'--confusion' needs class labels"
expect 73 "$train" --evaluate --confusion=none/matrix.svg classes.yaml

begin "TensorBoard and the choice of the best use top_2, not a list"
expect 0 "$train" --set checkpoint.metric=top_2 --set run.dir=runs/top classes.yaml
expect 78 "$train" --set checkpoint.metric=f1 --set run.dir=runs/f1 classes.yaml
says err "metric 'f1' has a value for each class, so that nothing can be decided by it; use 'mean_f1'"

find_mpiexec
for run in classes fields; do
	expect 0 on_ranks 2 "$train" --evaluate $run.yaml
	same $run.txt out || fail "$run: other metrics on two ranks"
	expect 0 "$train" --set parallel.reproducible=true --set train.batch_size=1 --evaluate $run.yaml
	same $run.txt out || fail "$run: other metrics from canonical micro-batches"
	cp out alone.txt
	expect 0 on_ranks 2 "$train" --set parallel.reproducible=true --set train.batch_size=1 --evaluate $run.yaml
	cmp alone.txt out || fail "$run: other bits on two ranks"
done
pass
