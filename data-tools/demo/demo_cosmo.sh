#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The demo of cosmology: makes universes of known parameters, trains a small 3D network to tell these from counts of matter,
# and shows how well it does on universes that it has not seen.
#
#   data-tools/demo/demo_cosmo.sh BUILD [TRAIN VALIDATION [OPTION...]]
#
# BUILD: the folder with dlx-train and dlx-cosmo; run in the source folder. TRAIN, VALIDATION: numbers of universes. OPTION: of dlx-train.
set -eu

build=${1:?usage: data-tools/demo/demo_cosmo.sh BUILD [TRAIN VALIDATION [OPTION...]]}
train=${2:-800}
validation=${3:-160}
shift $(($# < 3 ? $# : 3))
config=configs/demo/universes.yaml
run=runs/universes

[ -x "$build/dlx-cosmo" ] || {
	echo "demo: this build has no dlx-cosmo (Debian package libkissfft-dev)" >&2
	exit 69
}
echo "== making $train universes to train on and $validation others"
mkdir -p data
"$build/dlx-cosmo" --universes "$train" --cell 8 -o data/universes-train.dlx
"$build/dlx-cosmo" --universes "$validation" --first "$train" --cell 8 -o data/universes-validation.dlx

echo
echo "== training $config"
rm -rf "$run"
"$build/dlx-train" "$@" "$config"
"$build/dlx-train" --quiet --evaluate "$config" >"$run/evaluation.txt"
"$build/dlx-train" --quiet --predict data/universes-validation.dlx -o "$run/predictions.csv" "$config"
"$build/dlx-inspect" --png "$run/universes" --samples :4 data/universes-validation.dlx >/dev/null

# of NAME: a list of the last line of JSON, as words.
of() {
	sed -n 's/.*"type": "validation".*"'"$1"'": \[\([^]]*\)\].*/\1/p' "$run/evaluation.txt" | tail -n 1 | tr -d ,
}

echo
echo "== outcome: $validation universes that were not trained on"
printf '\n%-12s %14s %14s\n' '' 'correlation' 'error (rms)'
# shellcheck disable=SC2046
echo omega_m sigma_8 n_s h_0 $(of r2_by_output) $(of rmse_by_output) | awk '{
	for (i = 1; i <= 4; i++)
		printf "%-12s %14s %14.3f\n", $i, ($(i + 4) > 0 ? sprintf("%.3f", sqrt($(i + 4))) : "none"), $(i + 8) }'
cat <<END

The correlation with the truth is at least the root of R2, which is what stands here; the error is in units of half the
range of a parameter, of which a guess has 0.58.
  $run/predictions.csv                  what the network says of each universe
  $run/universes/                       pictures of four of them
  $run/                                 config.yaml metrics.jsonl evaluation.txt checkpoints/
END
