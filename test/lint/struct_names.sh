#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The structs, unions and enumerations of headers have different names: two of one name in two
# headers are two things that a reader, a debugger and an index of tags take for one.
#
#     srcdir=DIR test/lint/struct_names.sh        (make check sets it)
set -u
cd "${srcdir:-.}" || exit 99

# shellcheck disable=SC2046
awk '
FNR == 1 { inside = 0 }
# A definition begins in the first column, or after typedef.
!inside && match($0, /^(typedef +)?(struct|union|enum) +[A-Za-z_][A-Za-z_0-9]* *\{/) {
	name = substr($0, RSTART, RLENGTH - 1)
	sub(/^typedef +/, "", name)
	sub(/ *$/, "", name)
	place = FILENAME ":" FNR
	if (name in first) {
		print place ": a second " name ": the first is in " first[name]
		bad = 1
	} else {
		first[name] = place
		n++
	}
}
{
	line = $0
	gsub(/\/[*].*[*]\//, "", line)
	if (inside && line ~ /[*]\//)
		inside = 0
	else if (line ~ /\/[*]/)
		inside = 1
}
END {
	if (!n) {
		print "no struct found in any header"
		bad = 1
	}
	exit bad
}' $(find src cuda data-tools -name '*.h' -o -name '*.cuh' | sort)
