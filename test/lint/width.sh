#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Lines of at most 100 columns, where a tab is 4: sources in C, C++ and CUDA, and the prose of
# HACKING and README. A table, a link and an example of a document may be wider.
#
#     srcdir=DIR test/lint/width.sh        (make check sets it)
set -u
cd "${srcdir:-.}" || exit 99

# shellcheck disable=SC2046
awk '
BEGIN { utf8 = length("\303\251") == 1 }
# Columns up to the end of the line; of a character of several bytes the first one counts.
function columns(line,   at, n, i, c) {
	if (!utf8)
		gsub(/[\200-\277]/, "", line)
	n = split(line, part, "\t")
	for (i = 1; i <= n; i++) {
		at += length(part[i])
		if (i < n)
			at += 4 - at % 4
	}
	return at
}
FNR == 1 {
	example = 0
	files++
}
FILENAME ~ /[.]md$/ {
	if ($0 ~ /^ *```/)
		example = !example
	if (example || $0 ~ /^ *[|]/ || $0 ~ /^(    |\t)/ || $0 ~ /^[^ ]*https?:[^ ]*$/)
		next
}
length($0) > 50 && (n = columns($0)) > 100 {
	printf "%s:%d: %d columns; 100 is the limit\n", FILENAME, FNR, n
	bad = 1
}
END {
	if (files < 3) {
		print "no files found"
		bad = 1
	}
	exit bad
}' README.md HACKING.md $(find src cuda data-tools test -type f ! -path '*/corpus/*' \( -name '*.[ch]' \
	-o -name '*.cu' -o -name '*.cuh' -o -name '*.cc' \) | sort)
