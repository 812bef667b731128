#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The man pages: mandoc has nothing to object to, and each program's page names exactly the options that its --help does,
# and dlx-train's the exit statuses that there are.
. "${DLX_SOURCE:?}/test/lib.sh"

command -v mandoc >/dev/null || lacks mandoc
for page in "$DLX_SOURCE"/man/*.[157]; do
	mandoc -Tlint -Wwarning "$page" >lint || { cat lint; fail "$page"; }
done

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

# Every exit status of the table of errors is in dlx-train(1) and in its --help.
statuses=$(sed -n 's/^	X(E_[A-Z_]*, *\([0-9]*\),.*/\1/p' "$DLX_SOURCE/src/base/err.h" | sort -u)
[ "$(echo "$statuses" | wc -l)" -ge 10 ] || fail "found no exit statuses in src/base/err.h"
"$train" --help | sed -n '/^Exit status/,$p' | tr '\n' ' ' >help
for status in $statuses; do
	grep -qx "\.It $status" "$DLX_SOURCE/man/dlx-train.1" || fail "dlx-train(1) has no exit status $status"
	grep -q "[ ,]$status [a-z]" help || fail "'dlx-train --help' has no exit status $status"
done
pass
