#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Data that meet: files of a training set, of validation and evaluation, those that are predicted from, and those that a run goes on
# with. The same channels, classes and places in another order are refused, with both readings; other places are not.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
"$python3" "$DLX_SOURCE/test/cli/same_places.py" || exit 99
for grid in north south rolled west turned shifted part upward celsius kelvin; do
	expect 0 "$convert" -q -i $grid.nc:a,b -t $grid.nc:c --class-names calm,windy -o $grid.dlx
done
expect 0 "$convert" -q -i north.nc:b,a -t north.nc:c --class-names calm,windy -o channels.dlx
expect 0 "$convert" -q -i north.nc:a,b -t north.nc:c --class-names windy,calm -o classes.dlx
expect 0 "$convert" -q -i north.nc:a,b -t north.nc:c -o unsaid.dlx
cat >config.yaml <<'END'
run: {name: agree, dir: run}
model: {family: layers, classes: 2, layers: [{conv2d: {filters: 2, kernel: 1}}]}
data: {train: north.dlx}
loss: softmax_cross_entropy
train: {steps: 2, batch_size: 3}
checkpoint: {every: {steps: 1}}
report: {progress: none}
END
expect 0 "$train" config.yaml

# all STATUS TEXT RECORD: wherever the record meets north.dlx.
all() {
	met 'north.dlx' "$@" --check --set "data.train=[north.dlx, $3]"
	met 'north.dlx' "$@" --check --set "data.validation=$3"
	met 'the training set of checkpoint' "$@" --evaluate --set "data.validation=$3"
	met 'the training set of checkpoint' "$@" --predict "$3" -o p.nc
}
# met WITH STATUS TEXT RECORD OPTION...
met() {
	with=$1 status=$2 text=$3 record=$4
	shift 4
	expect "$status" "$train" "$@" config.yaml
	[ "$status" = 0 ] || says err "'$record' does not fit "
	[ "$status" = 0 ] || says err "$with"
	[ -z "$text" ] || says err "$text"
}
all 65 "the axis 'lat' is in reversed order: lat -80 ... 80 degrees_north (9 of them), not lat 80 ... -80 degrees_north (9 of them)" south.dlx
all 65 "the axis 'lon' is rolled by 4 of 8: lon 180 ... 135 degrees_east (8 of them), not lon 0 ... 315 degrees_east (8 of them)" rolled.dlx
all 65 'the axes are transposed: lon, lat, not lat, lon' turned.dlx
all 65 "input channel 0 is 'b', expected 'a' (dlx-convert --channel-names)" channels.dlx
all 65 "class 0 is 'windy', expected 'calm' (dlx-convert --class-names)" classes.dlx
all 65 "input channel 0 'a' has the units 'degC', expected 'K'" celsius.dlx
all 0 '' kelvin.dlx
all 0 '' west.dlx
all 0 '' part.dlx
grep 'other places' err && fail "a part is reported"
met '' 0 '' unsaid.dlx --evaluate --set data.validation=unsaid.dlx
met '' 0 "'shifted.dlx' has other places than" shifted.dlx --predict shifted.dlx -o p.nc
says err "the axis 'lon' has coordinates that are shifted by 10: lon 10 ... 325 degrees_east (8 of them), not lon 0 ... 315"
all 0 "the axis 'lat' runs the other way: lat -80 ... -40 degrees_north (3 of them), not lat 80 ... -80" upward.dlx
# Files that are no records are named as they were given.
# Where their coordinates are the training set's in another order, they are read in its.
expect 0 "$train" --predict north.nc:a,b -o north-p.nc config.yaml
for grid in south rolled turned; do
	expect 0 "$train" --predict $grid.nc:a,b -o p.nc config.yaml
	says err "input 'a': "
	says err "in '$grid.nc' than in 'the training set', and is read as there"
	cmp north-p.nc p.nc || fail "$grid.nc is another place"
done
met '' 0 '' west.nc --predict west.nc:a,b -o p.nc
# Unless the order is to count: for this command, or for a record that was made so.
met '' 0 '' south.dlx --match=index --evaluate --set data.validation=south.dlx
met '' 0 '' south.nc --match=index --predict south.nc:a,b -o p.nc
expect 0 "$convert" -q -i south.nc:a,b -t south.nc:c --class-names calm,windy --match=index -o index.dlx
all 0 '' index.dlx
# So does dlx-convert compare what is read for a network.
expect 0 "$convert" -q -i south.nc --like north.dlx -o like.dlx
says err "the places of an axis are in another order in 'south.nc' than in 'north.dlx', and is read as there"
expect 0 "$convert" -q -i south.nc --like north.dlx --match=index -o like.dlx
expect 0 "$convert" -i shifted.nc --like north.dlx -o like.dlx
says err "'shifted.nc' has other places than 'north.dlx': the axis 'lon' has coordinates that are shifted by 10"
# Targets that are fields have channels, too.
expect 0 "$convert" -q -i north.nc:a,b -t north.nc:a,b -o ab.dlx
expect 0 "$convert" -q -i north.nc:a,b -t north.nc:b,a -o ba.dlx
expect 65 "$train" --check --set loss=mse --set 'data.train=[ab.dlx, ba.dlx]' config.yaml
says err "'ba.dlx' does not fit 'ab.dlx': target channel 0 is 'b', expected 'a'"
expect 65 "$train" --check --set loss=mse --set data.train=ab.dlx --set data.validation=ba.dlx config.yaml
says err "'ba.dlx' does not fit 'ab.dlx': target channel 0 is 'b', expected 'a'"
expect 0 "$convert" -q -i north.nc:b -t north.nc:a -o kelvins.dlx
expect 0 "$convert" -q -i north.nc:b -t celsius.nc:a -o degrees.dlx
expect 65 "$train" --check --set loss=mse --set data.train=kelvins.dlx --set data.validation=degrees.dlx config.yaml
says err "'degrees.dlx' does not fit 'kelvins.dlx': target channel 0 'a' has the units 'degC', expected 'K'"
# A run that goes on: what differs is said before that something does.
for record in south channels classes celsius; do
	met 'the training set of checkpoint' 65 'data.train=' $record.dlx --resume --set data.train=$record.dlx --set train.steps=4
done
sed 's/name: agree, dir: run/name: fields, dir: fields/; s/softmax_cross_entropy/mse/; s/north.dlx/ab.dlx/' config.yaml >fields.yaml
expect 0 "$train" fields.yaml
expect 65 "$train" --resume --set data.train=ba.dlx --set train.steps=4 fields.yaml
says err "target channel 0 is 'b', expected 'a'"
expect 0 "$convert" -q -i north.nc:a,b -t north.nc:a -o one.dlx
expect 78 "$train" --resume --set data.train=one.dlx --set model.layers='[{conv2d: {filters: 1, kernel: 1}}]' --set train.steps=4 fields.yaml
expect 78 "$train" --resume --set data.train=west.dlx --set train.steps=4 config.yaml
says err 'training data'
pass
