#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Averaged weights (their values: optimizers.sh): validation, --evaluate, --predict and --export use them, training does not; a run that
# was stopped has the same ones; they move once an update, and not at all in a step that overflows.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
average='optimizer.average={decay: 0.8, start: 2}'

run() {
	dir=$1
	shift
	expect 0 "$train" --set run.dir="$dir" "$@" "$config"
}
export_to() {
	file=$1
	shift
	run "$@" --export "$file"
}

# Training itself does not see them.
run runs/plain --set train.steps=12
run runs/whole --set train.steps=12 --set "$average"
export_to plain runs/plain
export_to last runs/whole --set "$average" --weights=last
export_to averaged runs/whole --set "$average"
cmp -s plain last || fail "the average changed the weights"
cmp -s averaged last && fail "--export did not take the averages"

# The validation of the last step was of the averages, and so is --evaluate's; predictions differ too.
run runs/whole --set "$average" --evaluate
validated=$(sed -n 's/.*"type": "validation".*"loss": \([^,]*\),.*/\1/p' runs/whole/metrics.jsonl | tail -n 1)
says out "\"loss\": $validated,"
run runs/whole --set "$average" --evaluate --weights=last
grep -q "\"loss\": $validated," out && fail "--evaluate --weights=last gives the loss of the averages"
cp out last.out
run runs/plain --evaluate
[ "$(tail -n 1 out)" = "$(tail -n 1 last.out)" ] || fail "--weights=last is not what a run without averages has"
for which in average last; do
	run runs/whole --set "$average" --weights=$which --predict data/coads-validation.dlx -o $which.npy
done
cmp -s average.npy last.npy && fail "--predict did not take the averages"
expect 64 "$train" --weights=first --evaluate "$config"
says err "expected average or last"

# A run that is stopped and resumed, with accumulation and without.
for more in train.accumulate=1 train.accumulate=2; do
	run runs/through --set train.steps=9 --set "$average" --set $more
	run runs/parts --set train.steps=4 --set "$average" --set $more
	run runs/parts --set train.steps=9 --set "$average" --set $more --resume
	[ "$(newest_state runs/parts)" = "$(newest_state runs/through)" ] || fail "$more: a resumed run ends with other bits"
	rm -r runs/parts runs/through
done

# A checkpoint without averages can be used, and says so; training cannot go on from it with averages.
run runs/plain --set "$average" --evaluate
says err "has no averaged weights"
expect 78 "$train" --set run.dir=runs/plain --set train.steps=14 --set "$average" --resume "$config"
says err "no tensor"

# One update of an average is one of Adam: steps that overflowed left no trace, and an average that begins is the weights.
huge='precision.loss_scale={type: dynamic, start: 6.338253001141147e+29, most: 1.0e+30, factor: 65536}'
whole() {
	dir=$1
	shift
	run "$dir" --set data.shuffle=false --set train.batch_size=8 --set model.dropout=0 --set model.batch_norm=none \
		--set 'data.transforms=[{normalize: {method: standard, mask: validity}}]' --set train.validate.epochs=0 \
		--set 'loss={type: softmax_cross_entropy, reduction: sum, scale: 1.0e+12}' \
		--set 'optimizer={type: adam, learning_rate: 0.01, average: 0.5}' "$@"
}
whole runs/once --set train.steps=2
whole runs/huge --set train.steps=10 --set "$huge"
skipped=$(sed -n 's/.*"type": "step".*"skipped": \([0-9]*\).*/\1/p' runs/huge/metrics.jsonl | tail -n 1)
[ "${skipped:-0}" -ge 1 ] && [ "$skipped" -lt 8 ] || fail "$skipped steps were left out"
whole runs/first --set train.steps=$((skipped + 2)) --set "$huge"
whole runs/once --export once
whole runs/first --export first
cmp -s once first || fail "the average of a run that overflowed is another"
pass
