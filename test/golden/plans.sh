#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The graph of every config in configs/, as the model, its gradients and the update made it and before
# any device has a say, against test/golden/graphs/NAME.txt: forward nodes one by one, the others
# counted by op. A change of a published network shows here. If it is meant:
#
#     test/golden/plans.sh --update BUILD        and look at the difference before it is committed
update=
if [ "${1:-}" = --update ]; then
	update=1
	DLX_SOURCE=$(cd "$(dirname "$0")/../.." && pwd)
	DLX_BUILD=$(cd "${2:?usage: plans.sh --update BUILD}" && pwd)
	export DLX_SOURCE DLX_BUILD
fi
. "${DLX_SOURCE:?}/test/lib.sh"
golden=$DLX_SOURCE/test/golden/graphs

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

for config in "$DLX_SOURCE"/configs/*.yaml; do
	name=$(basename "$config" .yaml)
	plan "$config" >"$name.txt" || exit 1
	if [ "$update" ]; then
		cp "$name.txt" "$golden/$name.txt"
	else
		[ -f "$golden/$name.txt" ] || fail "no $golden/$name.txt: run test/golden/plans.sh --update BUILD"
		diff -u "$golden/$name.txt" "$name.txt" >difference || {
			head -n 40 difference
			fail "the plan of $config is another one"
		}
	fi
done
for file in "$golden"/*.txt; do
	[ -f "$DLX_SOURCE/configs/$(basename "$file" .txt).yaml" ] || fail "$file has no config"
done
pass
