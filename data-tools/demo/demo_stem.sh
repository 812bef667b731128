#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The demo of electron microscopy: scans crystals with an electron probe, trains a small network to see the projected potential
# of the diffraction patterns, and counts the columns of atoms that it finds in crystals that it has not seen.
#
#   data-tools/demo/demo_stem.sh BUILD [TRAIN VALIDATION [OPTION...]]
#
# BUILD: the folder with dlx-train and dlx-stem; run in the source folder. TRAIN, VALIDATION: numbers of scans. OPTION: of dlx-train.
set -eu

build=${1:?usage: data-tools/demo/demo_stem.sh BUILD [TRAIN VALIDATION [OPTION...]]}
train=${2:-320}
validation=${3:-64}
shift $(($# < 3 ? $# : 3))
config=configs/demo/stem.yaml
run=runs/stem
unseen=Si,GaAs,NaCl,CeO2,SrTiO3,Au,W,MoS2

[ -x "$build/dlx-stem" ] || {
	echo "demo: this build has no dlx-stem (Debian package libkissfft-dev)" >&2
	exit 69
}
# scans OPTION...: of 16 x 16 positions half an angstrom apart, 64 pixels of the detector
scans() {
	"$build/dlx-stem" --channels detector --detector 8 --map 32 --margin 8 --thickest 40 "$@"
}
echo "== making $train scans to train on and $validation of other crystals: $unseen"
mkdir -p data
scans -n "$train" --crystals "!$unseen" -o data/stem-train.dlx
scans -n "$validation" --first "$train" --crystals "$unseen" -o data/stem-validation.dlx

echo
echo "== training $config"
rm -rf "$run"
"$build/dlx-train" "$@" "$config"
"$build/dlx-train" --quiet --predict data/stem-validation.dlx -o "$run/predictions.npy" "$config"
"$build/dlx-train" --quiet --predict data/stem-validation.dlx -o "$run/predictions" "$config"

echo
echo "== outcome: columns of atoms in $validation scans of crystals that were not trained on"
echo
"$build/data-tools/stem_columns" data/stem-validation.dlx "$run/predictions.npy" 0.25
cat <<END

found: columns of the true potential with one of the predicted potential within 0.5 angstrom; extra: those that are not there,
in relation to the true ones; rms/A: the distance of those found, in angstrom.
pictures (predicted potential above the true one):
  $run/predictions/000000.png and so on
everything written:
  data/stem-train.dlx data/stem-validation.dlx    records; look with $build/dlx-inspect
  $run/                                     config.yaml metrics.jsonl predictions.npy checkpoints/
END
