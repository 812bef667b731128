#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The demo of random fields: two networks learn from snapshots of a few sensors to generate conductivities k and solutions u of an
# elliptic equation, which they obey everywhere, as a third one tries to tell what they generate from what was measured. Mean and
# deviation are compared with those of other realizations.
#
#   data-tools/demo/demo_pigan.sh BUILD [OPTION...]
#
# BUILD: the folder with dlx-train; run in the source folder. OPTION: of dlx-train.
set -eu

build=${1:?usage: data-tools/demo/demo_pigan.sh BUILD [OPTION...]}
shift
config=configs/physics/elliptic_gan.yaml
run=runs/elliptic-gan
snapshots=data/elliptic-snapshots.dlx

echo "== 1000 snapshots of sensors, 2 of u at the ends, 13 of k and 21 of f, and 4000 realizations to compare with"
mkdir -p data
"$build/dlx-field" elliptic --quiet -n 1000 --u-sensors 2 --k-sensors 13 --f-sensors 21 -o "$snapshots"
"$build/dlx-field" elliptic --quiet -n 4000 --first 1000 --points 201 -o data/elliptic-truth.dlx

echo
echo "== training $config, which has the equation"
grep ' f: ' "$config"
rm -rf "$run"
set -- --set "points.us.record=$snapshots" --set "points.ks.record=$snapshots" --set "points.fs.record=$snapshots" \
	--set data.validation=data/elliptic-truth.dlx --set optimizer.learning_rate=0.001 --set train.steps=18000 \
	--set train.validate.steps=3000 --set train.validate.realizations=1000 "$@"
"$build/dlx-train" "$@" "$config"

for file in fields.nc fields.png; do
	"$build/dlx-train" --quiet --resume=best --predict 'grid: {x: 201}' -o "$run/$file" "$run"
done
cat <<END

mean_l2, std_l2: the relative errors of mean and deviation over the places; ks: the largest difference of the distributions
the picture:
  $run/fields.png    u and k, the mean in the band from 5 to 95 %, and the deviation: of the networks and known
everything written:
  $snapshots, data/elliptic-truth.dlx    look with $build/dlx-inspect
  $run/              config.yaml metrics.jsonl fields.nc fields.png checkpoints/
END
