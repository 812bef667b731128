#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# checkpoint.plain: weights: next to the versions lies a safetensors file of the best one, or of the newest without validations, with the
# bytes of an export; it says which version it is of, and is renewed whole or not at all.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
plain=checkpoints/weights.safetensors

# of FILE: the id in its metadata
of() {
	LC_ALL=C grep -ao '"checkpoint": *"[0-9a-f-]*"' "$1" | head -n 1 | cut -d'"' -f4
}
run() {
	expect 0 "$train" --quiet --set run.dir="$1" --set checkpoint.plain=weights --set checkpoint.every.steps=1 "$config"
}
run runs/a
id=$(of runs/a/$plain)
best=$("$ckpt" runs/a show best | sed -n '1s/.* 0*\([0-9]*-[0-9a-f]*\).*/\1/p')
[ "$id" ] && [ "${id#"${id%%[!0]*}"}" = "${best#"${best%%[!0]*}"}" ] || fail "the file is of '$id', the best version is '$best'"
# The tensors of an export of that version, to the byte: they follow the header, whose length comes first.
data() {
	n=$(od -An -tu8 -N8 "$1" | tr -d ' ')
	tail -c +$((n + 9)) "$1" | sha256sum
}
expect 0 "$train" --quiet --resume="$id" --export export.safetensors "$config" --set run.dir=runs/a
[ "$(data runs/a/$plain)" = "$(data export.safetensors)" ] || fail "other bytes than an export"
# It begins a training, like any export.
expect 0 "$train" --quiet --set run.dir=runs/from --set train.steps=1 --set model.init_from=runs/a/$plain "$config"

average='optimizer.average={decay: 0.8, start: 2}'
# With averages it has these, as an export does.
expect 0 "$train" --quiet --set run.dir=runs/average --set checkpoint.plain=weights --set "$average" "$config"
expect 0 "$train" --quiet --resume="$(of runs/average/$plain)" --export export.safetensors --set run.dir=runs/average \
	--set "$average" "$config"
[ "$(data runs/average/$plain)" = "$(data export.safetensors)" ] || fail "averages: other bytes than an export"

# Without validations it is of the newest version.
expect 0 "$train" --quiet --set run.dir=runs/newest --set checkpoint.plain=weights --set train.validate.epochs=0 --set checkpoint.every.steps=1 \
	"$config"
newest=$(basename "$(version_of runs/newest)" .json)
[ "$(of runs/newest/$plain)" = "$newest" ] || fail "the file is of '$(of runs/newest/$plain)' instead of '$newest'"

# What a killed process left goes; a file that cannot be written is a warning, and versions are saved all the same.
touch "runs/newest/$plain.tmp-1-0"
rm runs/newest/$plain
mkdir runs/newest/$plain
expect 0 "$train" --set run.dir=runs/newest --set checkpoint.plain=weights --set train.validate.epochs=0 --set train.steps=20 --resume "$config"
says err 'the plain file of weights stays as it was'
[ ! -e "runs/newest/$plain.tmp-1-0" ] || fail "a leftover stays"
[ "$(basename "$(version_of runs/newest)" .json)" != "$newest" ] || fail "no version was saved"

# Nothing of it without the key.
expect 0 "$train" --quiet --set run.dir=runs/none "$config"
[ ! -e runs/none/$plain ] || fail "a file that was not requested"
expect 78 "$train" --set checkpoint.plain=all "$config"
pass
