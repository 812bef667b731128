#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What every file must keep to: 600 lines a file in C (800 a test, which is a list of cases), 100 lines a function,
# no notes to self in place of work, the licence's line at the top, no blanks at the end of a line. A function is
# what stands between '{' and '}' in the first column.
#
#     srcdir=DIR test/lint/budgets.sh        (make check sets it)
set -u
cd "${srcdir:-.}" || exit 99

# An archive's members have no folders, so that two of one name are hard to tell apart in it.
twice=$(find src -name '*.c' | sed 's,.*/,,' | sort | uniq -d)
[ -z "$twice" ] || {
	echo "two files of src have the name:" $twice
	exit 1
}

# A script that cannot be run is a test that fails, in a release if not here.
locked=$(find test data-tools -name '*.sh' ! -name lib.sh ! -perm -u+x)
[ -z "$locked" ] || {
	echo "not executable: $locked"
	exit 1
}

roots=
for d in src data-tools cuda test man m4 configs .ci; do
	[ -d "$d" ] && roots="$roots $d"
done

# shellcheck disable=SC2086
{
	find $roots -type f ! -path '*/corpus/*' ! -path 'src/op/table.inc' \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \
		-o -name '*.sh' -o -name '*.py' -o -name '*.m4' -o -name local.mk -o -name '*.[15]' -o -name '*.yaml' -o -path '.ci/*' \)
	find . -maxdepth 1 -type f \( -name configure.ac -o -name Makefile.am -o -name bootstrap -o -name '*.md' \
		-o -name NEWS -o -name COPYING \)
} | sed 's,^\./,,' | sort | xargs awk '
function complain(line, text) {
	printf "%s:%d: %s\n", FILENAME, line, text
	bad = 1
}
function close_file() {
	if (file != "" && is_c && lines > limit) {
		printf "%s: %d lines; %d is the limit\n", file, lines, limit
		bad = 1
	}
	if (file != "" && licensed && !spdx) {
		printf "%s: no SPDX-License-Identifier in its first lines\n", file
		bad = 1
	}
}
BEGIN {
	# Written so that this file does not name them.
	note = "(^|[^A-Za-z_])(TO" "DO|FIX" "ME|XX" "X)([^A-Za-z_]|$)"
}
FNR == 1 {
	close_file()
	file = FILENAME
	is_c = file ~ /[.](c|h|cu|cuh)$/
	limit = file ~ /^test\// ? 800 : 600
	licensed = file !~ /[.](md|yaml)$/ && file !~ /^(NEWS|COPYING)$/
	spdx = begin = 0
}
{ lines = FNR }
FNR <= 4 && /SPDX-License-Identifier: BSD-3-Clause/ { spdx = 1 }
/[ \t\r]$/ { complain(FNR, "blanks at the end of the line") }
$0 ~ note { complain(FNR, "a note to self; do it, or open an issue") }
is_c && /^\{/ { begin = FNR }
is_c && /^\}/ && begin {
	if (FNR - begin + 1 > 100)
		complain(begin, "a function of " FNR - begin + 1 " lines; 100 is the limit")
	begin = 0
}
END {
	close_file()
	exit bad
}
'
