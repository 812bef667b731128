#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The man pages: mandoc has nothing to object to, and each program's page names exactly the options that its --help does.
. "${DLX_SOURCE:?}/test/lib.sh"

if command -v mandoc >/dev/null; then
	for page in "$DLX_SOURCE"/man/*.[15]; do
		mandoc -Tlint -Wwarning "$page" >lint || { cat lint; fail "$page"; }
	done
fi

# What --help shows at the start of a line: "  --set KEY=VALUE", "  -o, --output FILE".
options_of_help() {
	"$1" --help | sed -n 's/^  -/-/p' | sed 's/^\(-[^ ]*\), -/\1\n-/' | sed 's/[ =[].*//' | sort -u
}

# What the page lists as tags: ".It Fl -set Ar KEY=VALUE", ".It Fl o , -output Ar FILE".
options_of_page() {
	awk '/^\.It Fl / {
		for (i = 2; i <= NF; i++)
			if ($i ~ /^(Fl|Ar|Ns|Op)$/)
				macro = $i
			else if (macro == "Fl" && $i != ",")
				print "-" $i
	}' "$1" | sort -u
}

pages=0
for page in "$DLX_SOURCE"/man/*.1; do
	program=$DLX_BUILD/$(basename "$page" .1)
	[ -x "$program" ] || fail "$page describes a program that is not built"
	options_of_help "$program" >help
	options_of_page "$page" >listed
	[ "$(wc -l <help)" -ge 3 ] || fail "found no options in the help of $program"
	diff help listed >difference || {
		cat difference
		fail "$page and '$program --help' name different options (<: only the help, >: only the page)"
	}
	pages=$((pages + 1))
done
[ $pages -ge 1 ] || fail "no pages"
command -v mandoc >/dev/null || skip "options compared, but no mandoc to check the pages with (package mandoc)"
pass
