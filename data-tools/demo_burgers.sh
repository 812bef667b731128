#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The demo of equations: a network learns the solution of Burgers' equation, in which a wave steepens to a shock, from the equation
# alone, and is compared with the exact one.
#
#   data-tools/demo_burgers.sh BUILD [OPTION...]
#
# BUILD: the folder with dlx-train; run in the source folder. OPTION: of dlx-train.
set -eu

build=${1:?usage: data-tools/demo_burgers.sh BUILD [OPTION...]}
shift
config=configs/physics/burgers.yaml
run=runs/burgers

echo "== the exact solution, to compare with"
mkdir -p data
"$build/dlx-field" burgers -o data/burgers.dlx
"$build/dlx-field" burgers --form grid --quiet -o data/burgers-grid.dlx

echo
echo "== training $config, which has the equation"
grep residual: "$config"
rm -rf "$run"
"$build/dlx-train" --set data.validation=data/burgers.dlx "$@" "$config"

"$build/dlx-train" --quiet --resume=best --predict 'grid: {t: 101, x: 201}' -o "$run/u.nc" "$run"
"$build/dlx-convert" --quiet --input "$run/u.nc:u" -o "$run/u.dlx"
"$build/dlx-inspect" --png "$run/pictures" "$run/u.dlx" >/dev/null
"$build/dlx-inspect" --png "$run/exact" data/burgers-grid.dlx >/dev/null
cat <<END

pictures (time downwards):
  $run/pictures/sample-00000.png     what the network has learned
  $run/exact/sample-00000.png        places, and the exact solution next to them
everything written:
  data/burgers.dlx data/burgers-grid.dlx    records; look with $build/dlx-inspect
  $run/                              config.yaml metrics.jsonl u.nc checkpoints/
END
