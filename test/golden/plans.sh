#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The graph of every config in configs/, as the model, its gradients and the update made it and before
# any device has a say: for all of them the counts of leaves and ops and fingerprints of the leaves and
# of the forward nodes with all that they have (plans.txt), and of one config of each family the forward
# nodes themselves (graphs/NAME.txt). A change of a published network shows here. If it is meant:
#
#     test/golden/plans.sh --update BUILD        and look at the difference before it is committed
#     test/golden/plans.sh --print BUILD NAME    the whole text of configs/NAME.yaml, to compare two builds
update= print=
case ${1:-} in
--update | --print)
	[ "$1" = --update ] && update=1 || print=${3:?usage: plans.sh --print BUILD NAME}
	DLX_SOURCE=$(cd "$(dirname "$0")/../.." && pwd)
	DLX_BUILD=$(cd "${2:?usage: plans.sh --update BUILD}" && pwd)
	export DLX_SOURCE DLX_BUILD
	;;
esac
. "${DLX_SOURCE:?}/test/lib.sh"
golden=$DLX_SOURCE/test/golden

# plan CONFIG: its graph; a config that takes sizes from its data gets those of the COADS climatology.
plan() {
	set -- "$1"
	grep -q '^  input:' "$1" ||
		set -- "$1" --set 'model.input={channels: 5, size: [90, 180]}' --set model.classes=4
	config=$1
	shift
	"$train" --device reference --plan --dump=dce "$@" "$config" 2>err >dump || {
		cat err
		fail "cannot plan $config"
	}
	sed 's/ \[[^]]*\.yaml:[0-9:]*\]$//' dump | awk '
		$2 == "backward" || $2 == "update" { sub(/\{.*/, "", $3); count[$2 " " $3]++; next }
		{ print }
		END { for (i in count) print count[i], i | "sort -k 2" }'
}

fingerprint() {
	sha256sum | cut -c 1-16
}

# summary NAME FILE: the counts of each part of a plan; fingerprints of the leaves and of the forward nodes.
summary() {
	echo "$1"
	awk -v leaves="$(grep '^[a-z]' "$2" | fingerprint)" -v nodes="$(forward "$2" | fingerprint)" '
		/^#/ { next }
		/^[a-z]/ { n["leaf " $1]++; next }
		$2 == "forward" { sub(/\{.*/, "", $3); n["forward " $3]++; next }
		{ n[$2 " " $3] += $1 }
		END {
			print "forward = " nodes
			print "leaf = " leaves
			for (i in n) print i, n[i]
		}' "$2" | LC_ALL=C sort | awk '
		$1 != part { printf "%s  %s", part ? "\n" : "", $1; part = $1; comma = "" }
		{ printf "%s %s %s", comma, $2, $3; comma = "," }
		END { print "" }'
}

forward() {
	grep ' forward ' "$1"
}

# block NAME FILE: a plan's lines of plans.txt.
block() {
	awk -v name="$1" '/^[^ ]/ { on = $0 == name } on' "$2"
}

# counts NAME FILE: one line a count.
counts() {
	block "$1" "$2" | awk 'NR > 1 { part = $1; sub(/^ *[^ ]* /, ""); gsub(/, /, "\n" part " "); print part, $0 }'
}

# another NAME: what is different in its plan.
another() {
	if [ -f "$golden/graphs/$1.txt" ]; then
		forward "$1.txt" | diff -u "$golden/graphs/$1.txt" - | head -n 40
	fi
	counts "$1" "$golden/plans.txt" >was
	counts "$1" plans.txt | diff -U 0 was -
	fail "the plan of $1 is another one: test/golden/plans.sh --print BUILD $1 prints all of it"
}

if [ "$print" ]; then
	plan "$DLX_SOURCE/configs/$print.yaml"
	exit
fi
for config in "$DLX_SOURCE"/configs/*.yaml; do
	name=$(basename "$config" .yaml)
	plan "$config" >"$name.txt" || exit 1
	summary "$name" "$name.txt" >>plans.txt
done
if [ "$update" ]; then
	cp plans.txt "$golden/plans.txt"
	for file in "$golden"/graphs/*.txt; do
		name=$(basename "$file")
		forward "$name" >"$golden/graphs/$name"
	done
fi
for config in "$DLX_SOURCE"/configs/*.yaml; do
	name=$(basename "$config" .yaml)
	text=$golden/graphs/$name.txt
	[ ! -f "$text" ] || forward "$name.txt" | cmp -s "$text" - || another "$name"
	block "$name" plans.txt >is
	block "$name" "$golden/plans.txt" | cmp -s is - || another "$name"
done
cmp -s plans.txt "$golden/plans.txt" || fail "$golden/plans.txt has lines of no config"
for file in "$golden"/graphs/*.txt; do
	[ -f "$(basename "$file")" ] || fail "$file has no config"
done
pass
