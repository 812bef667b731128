#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# No circle of calls among the files of the library: files that need each other in a circle can only be understood, moved and tested
# as one. Read from the symbols of libdlx.a, since calls do not show in includes. Two files may need each other (one module in two
# files), and a table may name its rows, which call what stands next to the table.
#
#     DLX_BUILD=DIR test/lint/circles.sh        (make check sets it)
set -u
library=${DLX_BUILD:?}/libdlx.a
command -v nm >/dev/null || {
	echo "FAIL: no nm (package binutils)"
	exit 1
}
# op/table.c, model/families.c, data/transform.c, the backends in backend/device.c, a driver in cuda.c
tables="table families transform device cuda"
base="buf err hash intern log mem"       # base: an error's text is memory, and memory that is not there an error

nm -A "$library" 2>/dev/null | awk -v tables="$tables" -v base="$base" '
{
	n = split($0, part, ":")
	file = part[2]
	sub(/[.]o$/, "", file)
	type = $(NF - 1)
	if (type == "U")
		used[file, $NF]
	else if (type ~ /^[TDBRVWC]$/)
		maker[$NF] = file
}
# Tarjan: low[f] is the first file on the path to f that f leads back to.
function visit(f,   i, n, to, list) {
	at[f] = low[f] = ++count
	path[++depth] = f
	open[f] = 1
	n = split(needs[f], list, " ")
	for (i = 1; i <= n; i++) {
		to = list[i]
		if (!(to in at))
			visit(to)
		if (open[to] && low[to] < low[f])
			low[f] = low[to]
	}
	if (low[f] == at[f])
		close_circle(f)
}
function close_circle(f,   text, n, g) {
	do {
		g = path[depth--]
		open[g] = 0
		text = text " " g
		n += !(g in in_base)
	} while (g != f)
	if (n > 2) {
		print "a circle of files:" text
		bad = 1
	}
}
END {
	n = split(tables, list, " ")
	for (i = 1; i <= n; i++)
		is_table[list[i]]
	n = split(base, list, " ")
	for (i = 1; i <= n; i++)
		in_base[list[i]]
	for (key in used) {
		split(key, pair, SUBSEP)
		to = maker[pair[2]]
		if (to != "" && to != pair[1] && !(pair[1] in is_table) && !((pair[1], to) in seen)) {
			seen[pair[1], to]
			needs[pair[1]] = needs[pair[1]] " " to
			files++
		}
	}
	if (!files) {
		print "no calls between files in the library"
		exit 1
	}
	for (f in needs)
		if (!(f in at))
			visit(f)
	exit bad
}'
