#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The demo of learning over ranks: a sweep trains one network on one rank and on two, with three seeds each, until it reaches a target;
# a page shows how much sooner two ranks reach it.
#
#   data-tools/demo/demo_speedup.sh BUILD [OPTION...]
#
# BUILD: the folder with dlx-train; run in the source folder. OPTION: of dlx-train.
set -eu

build=${1:?usage: data-tools/demo/demo_speedup.sh BUILD [OPTION...]}
shift
config=configs/demo/speedup.yaml
sweep=configs/demo/speedup-sweep.yaml
run=runs/speedup

command -v mpiexec >/dev/null || {
	echo "demo: mpiexec is missing (Debian package mpich)" >&2
	exit 69
}

echo "== the data: weather of four files"
mkdir -p data
"$build/dlx-example" netcdf -o data/weather
"$build/dlx-convert" --concatenate --input 'data/weather/weather-[123].nc:u,v,q' --input data/weather/ground.nc:height \
	--target 'data/weather/weather-[123].nc:rain' -o data/rain-train.dlx
"$build/dlx-convert" --input data/weather/weather-4.nc:u,v,q --input data/weather/ground.nc:height \
	--target data/weather/weather-4.nc:rain -o data/rain-validation.dlx

echo
echo "== six runs of $config: one and two ranks, three seeds ($sweep)"
rm -rf "$run"
# One thread a rank, so that two ranks have twice the processors of one.
OMP_NUM_THREADS=1 mpiexec -n 2 "$build/dlx-train" --sweep="$sweep" "$@" "$config"

echo
echo "== the page"
for ranks in 1 2; do
	one="$run/ranks=$ranks,seed=1"
	"$build/dlx-train" --quiet --predict data/rain-validation.dlx -o "$one/predictions" "$one"
done
"$build/dlx-report" --html "$run/speedup.html" --svg "$run/speedup.svg" "$run"
cat <<END

the page, for any browser; it is complete in one file:
  $run/speedup.html     speed-up, statistical efficiency and their product over ranks, curves, rates, memory, pictures, configs
everything written:
  data/rain-train.dlx data/rain-validation.dlx
  $run/                 sweep.jsonl speedup.html speedup.svg; a folder for each run
END
