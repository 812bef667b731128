#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The demo: sea-surface-temperature regimes from wind and pressure. Converts the COADS monthly climatology to records, trains a
# per-pixel linear baseline and an FC-DenseNet with the same command line, and shows both results side by side.
#
#   data-tools/demo/demo.sh BUILD     BUILD: the folder with dlx-train and dlx-convert; run in the source folder
set -eu

build=${1:?usage: data-tools/demo/demo.sh BUILD}
coads=${DLX_COADS:-/usr/share/ferret-vis/data/coads_climatology.cdf}
configs="coads-linear coads-fcn"
validation='1,4,7,10' # February, May, August, November

[ -f "$coads" ] || {
	echo "demo: '$coads' is missing (Debian package ferret-datasets; DLX_COADS=FILE names another place)" >&2
	exit 66
}

convert() { # SAMPLES OUT
	"$build/dlx-convert" --input "$coads:WSPD,UWND,VWND,SLP" --validity-mask --target "$coads:SST" \
		--classes 10,20,27 --class-names 'below 10 C,10 to 20 C,20 to 27 C,above 27 C' --ignore 255 \
		--samples "$1" -o "$2"
}

echo "== converting the COADS monthly climatology"
mkdir -p data
convert "!$validation" data/coads-train.dlx
convert "$validation" data/coads-validation.dlx

for c in $configs; do
	echo
	echo "== training $c (configs/$c.yaml)"
	rm -rf "runs/$c"
	"$build/dlx-train" "configs/$c.yaml"
	"$build/dlx-train" --quiet --evaluate "configs/$c.yaml" >"runs/$c/evaluation.txt"
	"$build/dlx-train" --quiet --predict data/coads-validation.dlx -o "runs/$c/predictions" "configs/$c.yaml"
done

# metric RUN NAME: one number of a run's last validation.
metric() {
	sed -n 's/.*"type": "validation".*"'"$2"'": \([0-9.e+-]*\)[,}].*/\1/p' "runs/$1/evaluation.txt" | tail -n 1
}

echo
echo "== outcome: four unseen months, sea-surface temperature in four classes"
printf '\n%-28s %16s %16s\n' '' 'linear per pixel' 'FC-DenseNet'
for m in accuracy mean_iou; do
	printf '%-28s %16.4f %16.4f\n' "$m" "$(metric coads-linear $m)" "$(metric coads-fcn $m)"
done
cat <<END

pictures (predicted map above the true one, grey: land):
  runs/coads-fcn/predictions/000000.png ... 000003.png
  runs/coads-linear/predictions/000000.png ... 000003.png
everything written:
  data/coads-train.dlx data/coads-validation.dlx      records; look with $build/dlx-inspect
  runs/coads-fcn/ runs/coads-linear/                  config.yaml metrics.jsonl evaluation.txt checkpoints/
                                                      events.out.tfevents.* (TensorBoard)
the two runs side by side:
  $build/dlx-report runs/coads-fcn runs/coads-linear
END
