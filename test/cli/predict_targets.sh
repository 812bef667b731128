#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# --predict needs no target that fits: pictures then show the prediction alone. One that fits is drawn below it.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
expect 0 "$convert" --input "$coads:WSPD,UWND,VWND,SLP" --validity-mask --target "$coads:SST" --samples 1 -o field.dlx
expect 0 "$train" --quiet --set train.steps=1 "$config"

# height FILE: of a PNG picture, big-endian at byte 20.
height() {
	echo $((0x$(od -An -tx1 -j20 -N4 "$1" | tr -d ' \n')))
}

expect 0 "$train" --predict field.dlx -o alone "$config"
says err 'the prediction alone'
expect 0 "$train" --predict data/coads-validation.dlx -o both "$config"
[ "$(height both/000000.png)" -gt $((2 * $(height alone/000000.png))) ] || fail "pictures are not one below the other"
expect 0 "$train" --predict field.dlx -o field.npy "$config"

expect 64 "$train" --predict field.dlx -o out.png "$config"
says err '.npy'
pass
