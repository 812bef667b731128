#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The demo of equations: a network learns the solution of Burgers' equation, in which a wave steepens to a shock, from the equation
# alone, and is compared with the exact one.
#
#   data-tools/demo/demo_burgers.sh BUILD [OPTION...]
#
# BUILD: the folder with dlx-train; run in the source folder. OPTION: of dlx-train.
set -eu

build=${1:?usage: data-tools/demo/demo_burgers.sh BUILD [OPTION...]}
shift
config=configs/physics/burgers.yaml
run=runs/burgers

echo "== the exact solution, to compare with"
mkdir -p data
"$build/dlx-field" burgers -o data/burgers.dlx

echo
echo "== training $config, which has the equation"
grep residual: "$config"
rm -rf "$run"
"$build/dlx-train" --set data.validation=data/burgers.dlx "$@" "$config"

for file in u.nc u.png; do
	"$build/dlx-train" --quiet --resume=best --predict 'grid: {t: 101, x: 201}' -o "$run/$file" "$run"
done
cat <<END

the picture:
  $run/u.png        what the network has learned, the exact solution and the difference
everything written:
  data/burgers.dlx         the solution at points; look with $build/dlx-inspect
  $run/             config.yaml metrics.jsonl u.nc u.png checkpoints/
END
