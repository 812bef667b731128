#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The key reference in dlx-config(5) is what the program's own tables say. After a change of the tables:
#
#     test/lint/config_man.sh --update [BUILD]        (BUILD: the build folder; default: build)
set -u

# replace PAGE BUILD: the page with a fresh reference between its two marks.
replace() {
	sed '/^\.\\" generated: begin$/q' "$1" && "$2/dlx-train" --man-config && sed -n '/^\.\\" generated: end$/,$p' "$1"
}

if [ "${1:-}" = --update ]; then
	page=$(dirname "$0")/../../man/dlx-config.5
	replace "$page" "${2:-build}" >"$page.new" && mv "$page.new" "$page"
	exit
fi

. "${DLX_SOURCE:?}/test/lib.sh"
page=$DLX_SOURCE/man/dlx-config.5
[ "$(grep -c '^\.\\" generated: \(begin\|end\)$' "$page")" -eq 2 ] || fail "$page has lost its marks"
replace "$page" "$DLX_BUILD" >fresh || fail "dlx-train --man-config"
diff "$page" fresh >difference || {
	cat difference
	fail "$page does not fit the tables; run: test/lint/config_man.sh --update $DLX_BUILD"
}
pass
