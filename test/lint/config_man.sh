#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The key references in dlx-config(5) and dlx-sweep(5) are what the program's own tables say. After a change of the tables:
#
#     test/lint/config_man.sh --update [BUILD]        (BUILD: the build folder; default: build)
set -u

# replace PAGE BUILD: the page with a fresh reference between its two marks.
replace() {
	sed '/^\.\\" generated: begin$/q' "$1" && "$2/dlx-train" --man-config="$(basename "$1" .5 | sed 's/^dlx-//')" && sed -n '/^\.\\" generated: end$/,$p' "$1"
}

if [ "${1:-}" = --update ]; then
	for page in "$(dirname "$0")"/../../man/dlx-config.5 "$(dirname "$0")"/../../man/dlx-sweep.5; do
		replace "$page" "${2:-build}" >"$page.new" && mv "$page.new" "$page" || exit
	done
	exit
fi

. "${DLX_SOURCE:?}/test/lib.sh"
for page in "$DLX_SOURCE/man/dlx-sweep.5" "$DLX_SOURCE/man/dlx-config.5"; do
	[ "$(grep -c '^\.\\" generated: \(begin\|end\)$' "$page")" -eq 2 ] || fail "$page has lost its marks"
	replace "$page" "$DLX_BUILD" >fresh || fail "dlx-train --man-config"
	diff "$page" fresh >difference || {
		cat difference
		fail "$page does not fit the tables; run: test/lint/config_man.sh --update $DLX_BUILD"
	}
done

# The page that teaches equations has each of their keys: of points, variables, objectives and networks.
awk '/^\.Bl/ { depth++ } /^\.El/ { depth-- }
	/^\.It Cm/ { name = $0; sub(/^\.It Cm "\\&/, "", name); sub(/"$/, "", name) }
	/^\.It Cm/ && depth == 1 { on = name ~ /^(points|variables|objective)$/; next }
	/^\.It Cm/ && depth == 2 && name ~ /:/ { on = name == "family: networks" }
	/^\.It Cm/ && on && name !~ /[: ]/ { print name }' fresh | sort -u >keys
[ "$(wc -l <keys)" -gt 40 ] || fail "the keys of equations are not found in the reference"
while read -r key; do
	grep -Eq "^\\.(Cm|Ic|It Cm|Brq Cm)( [A-Za-z_]+ ,)* $key( |\$)|(^|[ {\"])$key:" "$DLX_SOURCE/man/dlx-physics.7" || echo "$key"
done <keys >missing
[ ! -s missing ] || fail "dlx-physics(7) lacks the keys:" $(cat missing)
pass
