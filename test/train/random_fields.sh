#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What networks of noise generate: realizations, their statistics on a grid and at the points of a record, the metrics by which
# they are validated (against NumPy, random_fields.py), drawings; seeds, ranks and what is refused.
. "${DLX_SOURCE:?}/test/lib.sh"
find_numpy
export OMP_NUM_THREADS=1
field=$DLX_BUILD/dlx-field
expect 0 "$field" elliptic --quiet -n 24 --points 101 --u-sensors 5 -o snapshots.dlx
expect 0 "$field" elliptic --quiet -n 50 --first 1000 --points 41 -o known.dlx

# Two networks show the noise that they take.
cat >fields.yaml <<'END'
run: {name: fields, seed: 3}
model:
  family: networks
  noise: {xi: 3, eta: {components: 2, law: uniform}}
  networks:
    u: {inputs: [x, xi], dense: [16, 16]}
    k: {inputs: [x, eta], dense: [8]}
    w: {inputs: [x, xi], dense: [4], outputs: 3, output: 0 * net + xi}
    e: {inputs: [x, eta], dense: [4], outputs: 2, output: 0 * net + eta}
    d: {inputs: [snapshot], dense: [16]}
points:
  us: {record: snapshots.dlx, sensors: u, realizations: 12, resample: 1}
objective:
  critic: {train: [d], minimise: {w: mean(d(u @ us)) - mean(d(us.u))}}
  generator: {train: [u, k, w, e], minimise: {u: -mean(d(u @ us)), rest: mean((k + mean(w) + mean(e))^2 @ us)}}
data: {validation: known.dlx}
metrics: [mean_l2, std_l2, ks]
optimizer: {type: adam, learning_rate: 0.01}
precision: {compute: f64}
train: {steps: 20, validate: {realizations: 400}}
report: {progress: none}
END
expect 0 "$train" fields.yaml

# predict WHAT FILE OPTION...
predict() {
	what=$1 file=$2
	shift 2
	expect 0 "$train" --quiet --predict "$what" -o "$file" "$@" fields.yaml
}
expect 0 "$train" --evaluate --json fields.yaml
cp out evaluated.json
expect 0 "$train" --export weights.safetensors fields.yaml
predict 'grid: {x: 31}, realizations: 600, seed: 5, samples: true' samples.npy
predict 'grid: {x: 31}, realizations: 600, seed: 5' statistics.npy
predict 'grid: {x: 31}, realizations: 9, seed: 5, samples: true' fewer.npy
predict '{grid: {x: 31}, realizations: 9, seed: 6, samples: true}' other.npy
predict 'record: known.dlx, samples: true' known.npy
predict known.dlx known.csv
predict 'record: snapshots.dlx, sensors: u, realizations: 10' sensors.csv
predict 'grid: {x: [0, 1, 3]}, realizations: 2, samples: true' samples.csv
"$python3" "$DLX_SOURCE/test/train/random_fields.py" || fail "see above"
[ "$(sed 1q samples.csv)" = "realization,x,u,k,w.0,w.1,w.2,e.0,e.1" ] || fail "the table has the columns $(sed 1q samples.csv)"

predict 'grid: {x: 7}, realizations: 5' fields.nc
expect 0 "$convert" --quiet --input fields.nc:u_mean -o u.dlx
predict 'grid: {x: 7}, realizations: 5, samples: true' fields.nc
expect 0 "$convert" --quiet --input fields.nc:u --samples 0:5 -o u.dlx
predict 'grid: {x: 31}' fields.svg
for word in 'u, mean, 5 to 95 %' 'u, deviation' network known fill-opacity; do
	grep -q "$word" fields.svg || fail "the drawing has no '$word'"
done

begin "ranks"
if has_ranks; then
	expect 0 on_ranks 2 "$train" --quiet --predict 'grid: {x: 31}, realizations: 600, seed: 5' -o ranks.npy fields.yaml
	cmp statistics.npy ranks.npy || fail "two ranks generate other fields than one"
	expect 0 on_ranks 2 "$train" --evaluate --json fields.yaml
	cmp evaluated.json out || fail "two ranks have other metrics than one"
fi

begin "the demo"
ln -s "$DLX_SOURCE/configs" configs
if big; then
	expect 0 "$DLX_SOURCE/data-tools/demo/demo_pigan.sh" "$DLX_BUILD"
	"$python3" -c '
import json
last = [json.loads(l) for l in open("runs/elliptic-gan/metrics.jsonl") if "\"validation\"" in l][-1]["metrics"]
assert last["mean_l2"] < 0.08 and last["std_l2"] < 0.25, last' || fail "the demo generates other fields"
else
	expect 0 "$DLX_SOURCE/data-tools/demo/demo_pigan.sh" "$DLX_BUILD" --quiet --set train.steps=6 --set train.validate.steps=6 \
		--set train.validate.realizations=20 --set points.us.realizations=8 --set points.ks.realizations=8 \
		--set points.fs.realizations=8
fi
[ "$(od -A n -t u1 -j 16 -N 8 runs/elliptic-gan/fields.png | tr -s ' ')" = " 0 0 6 64 0 0 4 96" ] ||
	fail "the picture of two fields is not 1600 x 1120 pixels"

begin "what is refused"
# refused STATUS TEXT WHAT FILE OPTION...
refused() {
	status=$1 text=$2 what=$3 file=$4
	shift 4
	expect "$status" "$train" --predict "$what" -o "$file" "$@" fields.yaml
	says err "$text"
}
refused 64 "'realizations' is out of range" 'grid: {x: 3}, realizations: 0' no.csv
refused 64 "unknown key 'sample' in '--predict'; did you mean 'samples'?" 'grid: {x: 3}, sample: true' no.csv
refused 64 "a picture is of statistics" 'grid: {x: 3}, samples: true' no.png
refused 65 "are more than 268435456 values" 'grid: {x: 100000}, realizations: 1000' no.csv
refused 78 "'relative_l2' is no metric of networks of noise, which are mean_l2, std_l2 and ks" known.dlx no.csv \
	--set 'metrics=[relative_l2]'
pass
