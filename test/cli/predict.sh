#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# --predict: the same numbers as .npy and as netCDF, pictures for each sample, and nothing left by what fails.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml

expect 66 "$train" --predict data/coads-validation.dlx -o out.npy "$config"
expect 0 "$train" --set train.steps=2 "$config"
expect 0 "$train" --predict data/coads-validation.dlx -o out.npy "$config"
says out '4 predictions in out.npy'
expect 0 "$train" --predict data/coads-validation.dlx -o out.nc "$config"
expect 0 "$train" --predict data/coads-validation.dlx -o pictures "$config"
[ "$(find pictures -name '*.png' | wc -l)" -eq 4 ] || fail "not a picture for each sample"
expect 64 "$train" --predict data/coads-validation.dlx -o out.png "$config"
expect 66 "$train" --predict data/nothere.dlx -o x.npy "$config"
expect 73 "$train" --predict data/coads-validation.dlx -o nowhere/x.nc "$config"
[ -z "$(find . -name '*.tmp*')" ] || fail "temporary files are left"

# Read back with dlx's own converter: both hold the same values.
"$convert" --quiet --input out.npy --target out.npy -o npy.dlx || fail "cannot read out.npy"
"$convert" --quiet --input out.nc:prediction --target out.nc:prediction -o nc.dlx || fail "cannot read out.nc"
"$inspect" npy.dlx | grep -E 'mean|f32' >npy.txt
"$inspect" nc.dlx | grep -E 'mean|f32' >nc.txt
[ -s npy.txt ] || fail "dlx-inspect shows no statistics"
statistics() { "$inspect" --json "$1" | tr ',' '\n' | grep -E '"(mean|std|min|max)"'; }
[ "$(statistics npy.dlx)" = "$(statistics nc.dlx)" ] || fail "out.npy and out.nc differ"
[ -n "$(statistics nc.dlx)" ] || fail "no statistics"
pass
