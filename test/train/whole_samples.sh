#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Networks that are trained on windows: validation and prediction see whole samples, padded to what the network needs and
# cut back without an ignored label; the accuracy that is printed is that of the predictions that are written.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data

begin "two poolings: 90 rows are padded to 92"
sed 's/poolings: 1/poolings: 2/; s/layers_per_block: .*/layers_per_block: [1, 1, 1, 1, 2]/; s/crop: {size: .*}/crop: {size: [44, 64]}/' \
	"$DLX_SOURCE/test/train/tiny.yaml" >two.yaml

expect 0 "$train" --check two.yaml
says out 'sees          training   windows of 44 x 64, at random in 90 x 180'
says out '              validation whole samples of 90 x 180, padded to 92 x 180'
says out '              prediction whole samples of 90 x 180, padded to 92 x 180'
expect 0 "$train" --plan two.yaml
says out '              whole samples fit: arena of a prediction'
expect 0 "$train" --plan=json two.yaml
says out '"sees": {"training": {"windows": true, "size": [44, 64], "padded": [44, 64], "of": [90, 180], "other_sizes": 0},'
says out '  "validation": {"windows": false, "size": [90, 180], "padded": [92, 180], "of": [90, 180], "other_sizes": 0},'
says out '  "prediction": {"windows": false, "size": [90, 180], "padded": [92, 180], "tile": {"whole": true, "size": [92, 180], "arena": '
expect 0 "$train" --quiet two.yaml
expect 0 "$train" --evaluate two.yaml
cp out evaluation
expect 0 "$train" --predict data/coads-validation.dlx -o whole.npy two.yaml
says whole.npy "'shape': (4, 4, 90, 180,)"

begin "with the metric of another program"
for python in ${PYTHON:-} /usr/bin/python3 python3; do
	"$python" -c 'import numpy' 2>/dev/null && break
	python=
done
if [ "$python" ]; then
	PYTHONDONTWRITEBYTECODE=1 "$python" - "$DLX_SOURCE/test/cli" <<'EOF' || fail "the accuracy is another one"
import json, sys
sys.path.insert(0, sys.argv[1])
import dlxrecord, numpy as np
_, _, labels = dlxrecord.read("data/coads-validation.dlx")
found = np.load("whole.npy").argmax(1)
line = [json.loads(t) for t in open("evaluation") if t.startswith("{")][0]
counts = labels != 255
have, want = line["metrics"]["accuracy"], (found == labels)[counts].mean()
print(have, want)
sys.exit(1 if abs(have - want) > 1e-12 else 0)
EOF
fi

begin "any number of ranks and of samples in a batch give the same"
loss() { sed -n 's/^loss *//p' "$1"; }
expect 0 "$train" --evaluate --set train.batch_size=1 two.yaml
[ "$(loss out)" = "$(loss evaluation)" ] || fail "the loss depends on the batch"
if has_ranks; then
	expect 0 on_ranks 2 "$train" --evaluate two.yaml
	[ "$(loss out)" = "$(loss evaluation)" ] || fail "the loss depends on the ranks"
fi

begin "windows in the centre"
sed 's/crop: {size: .*}/crop: {size: [44, 64], validation: centre}/' two.yaml >centre.yaml
expect 0 "$train" --check centre.yaml
says out '              validation windows of 44 x 64, in the centre of 90 x 180'
expect 0 "$train" --predict data/coads-validation.dlx -o centre.npy centre.yaml
says centre.npy "'shape': (4, 4, 44, 64,)"

begin "samples of several sizes in one set"
zeros side16 16 --channel-names x
zeros side24 24 --channel-names x
mixed() {
	"$train" --set 'data.train=[side16.dlx, side24.dlx]' --set train.steps=3 --set run.dir=runs/mixed \
		--set 'data.transforms=[{crop: {size: 12, per_sample: 2}}]' "$@" two.yaml
}
expect 0 mixed --set data.validation=side24.dlx --check
says out 'training   windows of 12 x 12, at random in 16 x 16 and 1 other size'
says out '8 training samples, 2 windows of each, 6 batches an epoch'
expect 0 mixed --set data.validation=side24.dlx --plan=json
says out '"training": {"windows": true, "size": [12, 12], "padded": [12, 12], "of": [16, 16], "other_sizes": 1}'
expect 0 mixed --set data.validation=side24.dlx --quiet
for side in 16 24; do
	expect 0 mixed --set data.validation=null --predict side$side.dlx -o p.npy
	says p.npy "'shape': (4, 2, $side, $side,)"
done
expect 0 "$convert" -q -f idx --input side24.idx --target side24.idx --class-names none,some -o named.dlx
expect 0 mixed --set data.validation=null --set 'data.train=[side16.dlx, named.dlx]' --check
expect 0 mixed --set data.validation=null --set 'data.train=[named.dlx, side16.dlx]' --check
cp named.dlx stem.dlx
expect 0 "$convert" -q -f idx --input side24.idx --target side24.idx --channel-names y --class-names none,some -o named.dlx
expect 65 mixed --set data.validation=null --set 'data.train=[stem.dlx, side16.dlx, named.dlx]' --check
says err "'named.dlx' does not fit 'side16.dlx': input channel 0 is 'y', expected 'x'"
expect 65 mixed --set data.validation=null --set 'data.train=[side16.dlx, named.dlx]' --check
says err "input channel 0 is 'y', expected 'x' (dlx-convert --channel-names)"
expect 0 mixed --set data.validation=null --set 'data.transforms=[]' --check
says out 'training   whole samples, batches of one size each: 24 x 24 (4 samples, 2 batches); 16 x 16 (4 samples, 2 batches)'
expect 0 mixed --set data.validation=null --set 'data.transforms=[]' --set run.dir=runs/apart --quiet
expect 0 mixed --set 'data.validation=[side16.dlx, side24.dlx]' --quiet \
	--set run.dir=runs/centres --set 'data.transforms=[{crop: {size: 12, validation: centre}}]'

begin "whole samples of several sizes are validated in batches of one size each"
# Whole samples of several sizes are validated in batches of one size each: with the metrics of all together, whatever the
# batches and ranks, and with the same bits on any number of ranks if requested.
digits many16 16 7 1000 --channel-names x
digits many22 22 5 1000 --channel-names x
digits many9 9 3 1000 --channel-names x
whole() {
	set=$1
	shift
	mixed --set run.dir=runs/sizes --set "data.validation=$set" --set 'data.transforms=[{crop: {size: 12, validation: whole}}]' \
		--set 'metrics=[accuracy]' "$@"
}
all='[many16.dlx, many22.dlx, many9.dlx]'
expect 0 whole "$all" --check
says out 'validation whole samples, batches of one size each: 16 x 16; 22 x 22, padded to 24 x 24; 9 x 9, padded to 12 x 12'
arena=$(sed -n 's/.*arena of an evaluation //p' out)
expect 0 whole many22.dlx --check
[ "$arena" = "$(sed -n 's/.*arena of an evaluation //p' out)" ] || fail "the arena is not that of the largest samples"
expect 0 whole "$all" --plan=json
says out '"of": [16, 16], "other_sizes": 2, "further": [{"windows": false, "size": [22, 22], "padded": [24, 24]}, {"wi'
expect 0 whole "$all" --quiet
number() {
	sed -n "s/^{.*\"$1\": *\([0-9.e-]*\).*/\1/p" out
}
: >parts
for part in 1792:many16 2420:many22 243:many9; do
	expect 0 whole "${part#*:}.dlx" --evaluate
	echo "${part%:*} $(number loss) $(number accuracy)" >>parts
done
for batch in 1 2 3 8; do
	expect 0 whole "$all" --evaluate --set train.batch_size=$batch
	echo "all $(number loss) $(number accuracy)" >>parts
done
cat parts
awk '$1 != "all" { n += $1; l += $1 * $2; a += $1 * $3; next }
	{ k++; if ((d = $2 - l / n) > 1e-6 || d < -1e-6 || (d = $3 - a / n) > 1e-9 || d < -1e-9) bad = 1 }
	END { exit bad || k != 4 }' parts || fail "the metrics of several sizes are not those of all samples"
if has_ranks; then
	on() {
		ranks=$1
		shift
		on_ranks "$ranks" "$train" --evaluate --set run.dir=runs/sizes --set "data.validation=$all" \
			--set 'data.transforms=[{crop: {size: 12, validation: whole}}]' --set 'metrics=[accuracy]' "$@" two.yaml
	}
	: >ranks
	for ranks in 1 2; do
		expect 0 on $ranks --set 'data.train=[side16.dlx, side24.dlx]' --set train.global_batch_size=4 --set train.batch_size=1 \
			--set parallel.reproducible=true
		echo "$(number loss) $(number accuracy)" >>ranks
		expect 0 on $ranks --set 'data.train=[side16.dlx, side24.dlx]'
		echo "all $(number loss) $(number accuracy)" >>parts
	done
	cat ranks parts
	[ "$(sort -u ranks | wc -l)" = 1 ] || fail "with parallel.reproducible the metrics of several sizes depend on the ranks"
	[ "$(sed -n 's/^all .* //p' parts | sort -u | wc -l)" = 1 ] || fail "the accuracy depends on the ranks"
fi

begin "targets that are no maps"
# Where targets are no maps the centre is seen, or the whole as it is: a mean over places would count zeros after it.
printf '\0\0\010\001\0\0\0\004\0\001\0\001' >label.idx
printf '\0\0\010\003\0\0\0\004\0\0\0\021\0\0\0\021' >image.idx
head -c 1156 /dev/zero >>image.idx
expect 0 "$convert" -q --input image.idx --target label.idx --class-names none,some -o image.dlx
classifier() {
	"$train" --set data.train=image.dlx --set data.validation=image.dlx --set train.steps=1 --set 'metrics=[accuracy]' \
		--set 'model.layers=[{conv2d: {filters: 4, kernel: 3, stride: 2, padding: same}}, relu, global_average, {dense: {units: 2}}]' "$@" \
		layers.yaml
}
sed 's/^  family: fcn/  family: layers/; /^  growth/,/^  dropout/d' two.yaml >layers.yaml
expect 0 classifier --check --set 'data.transforms=[{crop: 12}]'
says out 'validation windows of 12 x 12, in the centre of 17 x 17'
expect 0 classifier --check --set 'data.transforms=[{crop: {size: 12, validation: whole}}]'
says out 'validation whole samples of 17 x 17'
! grep -q 'padded to' out || fail "a classifier's samples are padded"
expect 0 classifier --set run.dir=runs/classes --set 'data.transforms=[{crop: {size: 12, validation: whole}}]'

begin "a network that takes one size alone"
sed 's/^  family: fcn/  family: layers/; /^  growth/,/^  dropout/d' centre.yaml >layers.yaml
dense='[{conv2d: {filters: 4, kernel: 3, padding: same}}, {max_pool: {kernel: 4}}, {resize: {size: [44, 64]}}]'
expect 0 "$train" --check --set "model.layers=$dense" layers.yaml
sed 's/validation: centre/validation: whole/' layers.yaml >fixed.yaml
expect 78 "$train" --check --set "model.layers=$dense" fixed.yaml
says err "validation: centre"
expect 78 "$train" --check --set 'data.transforms=[{crop: {size: [44, 64], validation: middle}}]' two.yaml
says err "must be one of auto, whole, centre"
pass
