#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# How much a reader has to hold at once: a room is a .c with its .h, and the floors of a folder are the longest path of includes from room
# to room inside it. Each folder of these has at most 25 rooms on 9 floors.
#
#     srcdir=DIR test/lint/rooms.sh        (make check sets it)
set -u
cd "${srcdir:-.}" || exit 99
folders=
for d in src/plan src/train data-tools; do
	[ -d "$d" ] && folders="$folders $d"
done
# shellcheck disable=SC2086
find $folders -name '*.[ch]' | sort | xargs awk -v most_rooms=25 -v most_floors=9 '
# The folder and the name of a path without its ending, in `in_folder` and `name`.
function split_path(path) {
	in_folder = path
	sub(/\/[^\/]*$/, "", in_folder)
	name = path
	sub(/^.*\//, "", name)
	sub(/[.][ch]$/, "", name)
}
FNR == 1 {
	split_path(FILENAME)
	folder = in_folder
	room = name
	if (!((folder, room) in seen)) {
		seen[folder, room] = 1
		rooms[folder] = rooms[folder] " " room
	}
}
/^#include "/ {
	split($0, quoted, "\"")
	split_path(folder ~ /^src\// ? "src/" quoted[2] : quoted[2])
	if (in_folder == folder && name != room)
		below[folder, room] = below[folder, room] " " name
}
# The longest path down from a room; a circle ends it (circles.sh finds those).
function floors(folder, room,   list, n, i, most, under) {
	if ((folder, room) in floor)
		return floor[folder, room]
	floor[folder, room] = 1
	n = split(below[folder, room], list, " ")
	for (i = 1; i <= n; i++) {
		under = floors(folder, list[i])
		if (under > most)
			most = under
	}
	return floor[folder, room] = most + 1
}
END {
	for (f in rooms) {
		n = split(rooms[f], list, " ")
		most = 0
		for (i = 1; i <= n; i++)
			if (floors(f, list[i]) > most)
				most = floors(f, list[i])
		if (n > most_rooms || most > most_floors) {
			printf "%s: %d rooms on %d floors; at most %d on %d\n", f, n, most, most_rooms, most_floors
			bad = 1
		}
	}
	exit bad
}'
