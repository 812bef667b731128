#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The demo of climate: makes snapshots of weather, trains a linear baseline and a U-Net that find tropical cyclones and
# atmospheric rivers in them, and shows both on snapshots that neither has seen.
#
#   data-tools/demo/demo_climate.sh BUILD [TRAIN VALIDATION [OPTION...]]
#
# BUILD: the folder with dlx-train and dlx-climate; run in the source folder. TRAIN, VALIDATION: numbers of snapshots. OPTION: of dlx-train.
set -eu

build=${1:?usage: data-tools/demo/demo_climate.sh BUILD [TRAIN VALIDATION [OPTION...]]}
train=${2:-96}
validation=${3:-24}
shift $(($# < 3 ? $# : 3))

[ -x "$build/dlx-climate" ] || {
	echo "demo: this build has no dlx-climate (Debian package libkissfft-dev)" >&2
	exit 69
}
echo "== making $train snapshots to train on and $validation others"
mkdir -p data
"$build/dlx-climate" -n "$train" --height 192 --width 288 -o data/climate-train.dlx
"$build/dlx-climate" -n "$validation" --first "$train" --height 192 --width 288 -o data/climate-validation.dlx

for c in climate-linear climate; do
	echo
	echo "== training $c (configs/demo/$c.yaml)"
	rm -rf "runs/$c"
	"$build/dlx-train" "$@" "configs/demo/$c.yaml"
	"$build/dlx-train" --quiet --evaluate "configs/demo/$c.yaml" >"runs/$c/evaluation.txt"
done
"$build/dlx-train" --quiet --predict data/climate-validation.dlx -o runs/climate/predictions configs/demo/climate.yaml

# row NAME INDEX: the intersection over union of a class, linear and U-Net.
row() {
	printf '%-20s' "$1"
	for c in climate-linear climate; do
		sed -n 's/.*"type": "validation".*"iou": \[\([^]]*\)\].*/\1/p' "runs/$c/evaluation.txt" | tail -n 1 | tr -d , |
			awk -v i="$2" '{ printf " %16.4f", $i }'
	done
	echo
}

echo
echo "== outcome: $validation snapshots that were not trained on, intersection over union"
printf '\n%-20s %16s %16s\n' '' 'linear per point' 'U-Net'
row background 1
row 'tropical cyclone' 2
row 'atmospheric river' 3
cat <<END

pictures (predicted classes above the true ones):
  runs/climate/predictions/000000.png and so on
everything written:
  data/climate-train.dlx data/climate-validation.dlx    records; look with $build/dlx-inspect
  runs/climate/ runs/climate-linear/                    config.yaml metrics.jsonl evaluation.txt checkpoints/
END
