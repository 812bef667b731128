#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The architecture, checked: a file under src/ includes only from its own folder and from folders before it in
# src/LAYERS, which README.md shows as it is; a vendor's header is included only where its home is; every header
# compiles alone.
#
#     srcdir=DIR CC=cc test/lint/layers.sh        (make check sets both)
set -u
srcdir=${srcdir:-.}
CC=${CC:-cc}
build=$(pwd)
cd "$srcdir" || exit 99
failed=0

folders=
for d in src cuda data-tools; do
	[ -d "$d" ] && folders="$folders $d"
done

# shellcheck disable=SC2086
find $folders -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | sort | xargs awk '
function complain(text) {
	printf "%s:%d: %s\n", FILENAME, FNR, text
	bad = 1
}
function home(pattern, folders,   n, f, i) {
	vendors++
	vendor[vendors] = pattern
	where[vendors] = folders
	n = split(folders, f, " ")
	for (i = 1; i <= n; i++)
		allowed[pattern, f[i]] = 1
}
BEGIN {
	while ((getline line < "src/LAYERS") > 0)
		if (line != "")
			rank[line] = ++layers
	if (!layers) {
		print "src/LAYERS: no layers"
		exit bad = 1
	}
	home("^yaml[.]h$", "yaml")
	home("^zstd[a-z_]*[.]h$", "ckpt data data-tools")
	home("^(mpi|nccl)[.]h$", "comm")
	home("^(oneapi/.*|dnnl.*[.]h.*)$", "backend op")
	home("^(cuda|cudnn|cublas|cupti|driver_types).*[.]h$", "backend op cuda")
	home("^png[.]h$", "report data-tools")
	home("^netcdf[.]h$", "report data-tools")
	home("^zlib[.]h$", "report data-tools")
	home("^(blosc|lmdb)[.]h$", "data-tools")
	home("^xxhash[.]h$", "base")
}
FNR == 1 {
	n = split(FILENAME, part, "/")
	in_src = part[1] == "src"
	folder = in_src ? part[2] : part[1]
	if (in_src && !(folder in rank) && !(folder in missing)) {
		complain("the folder is not listed in src/LAYERS")
		missing[folder] = 1
	}
}
/^[ \t]*#[ \t]*include[ \t]*["<]/ {
	quoted = $0 ~ /include[ \t]*"/
	name = $0
	sub(/^[^"<]*["<]/, "", name)
	sub(/[">].*$/, "", name)
	for (i = 1; i <= vendors; i++)
		if (name ~ vendor[i] && !((vendor[i], folder) in allowed))
			complain("<" name "> belongs to " where[i] ", not to " folder)
	if (!quoted || !in_src || name == "config.h" || name ~ /^cuda\//)
		next
	if (name !~ /\//) {
		complain("\"" name "\" must be included as \"folder/" name "\"")
		next
	}
	to = name
	sub(/\/.*$/, "", to)
	if (!(to in rank))
		complain("\"" name "\": no such layer")
	else if (rank[to] > rank[folder])
		complain("\"" name "\" is to the right of " folder " in src/LAYERS")
}
END { exit bad }
' || failed=1

# README shows the order too: a line of names with arrows between them.
shown=$(sed -n 's/^    \(base → .*\)$/\1/p' README.md 2>/dev/null)
order=$(awk 'NF { printf "%s%s", between, $0; between = " → " }' src/LAYERS)
if [ -f README.md ] && [ "$shown" != "$order" ]; then
	echo "README.md: the line of folders is '$shown', src/LAYERS is '$order'"
	failed=1
fi

# What a port to another maker's GPU replaces: each of NVIDIA's libraries
# has one file that knows its header, and the runtime a family of files.
# one_place HEADER PATTERN: only files of this name include it.
one_place()
{
	others=$(grep -rlE "^ *# *include *<$1>" src | grep -vE "^src/$2\$")
	[ -z "$others" ] || {
		echo "$others: <$1> belongs to src/$2 alone"
		failed=1
	}
}
one_place 'cublas.*[.]h' 'backend/cuda/cublas[.]c'
one_place 'cudnn.*[.]h' 'backend/cuda/cudnn_desc[.]h'
one_place 'cupti.*[.]h' 'backend/cuda/cupti[.]c'
one_place 'nccl.*[.]h' 'comm/nccl_library[.]h'
one_place '(cuda(_.*)?|(driver|library|vector)_types)[.]h' 'backend/cuda/cuda[_a-z]*[.][ch]'

# A vendor's header that this machine lacks, or has in a place of its own, says nothing about ours.
lacks_vendor_header()
{
	missing=$(echo "$1" | sed -n 's/.*fatal error: \(.*\): No such file.*/\1/p; s/.*fatal error: .\(.*\). file not found/\1/p' | head -n 1)
	[ -n "$missing" ] && ! grep -qx "${missing%%/*}" src/LAYERS
}

# A NAME_body.h is no header but text that its NAME.c compiles twice.
for h in $(find src -name '*.h' ! -name '*_body.h' | sort); do
	# shellcheck disable=SC2086
	if ! errors=$(echo "#include \"${h#src/}\"" | $CC -std=c11 -D_GNU_SOURCE ${CPPFLAGS-} -Isrc \
		-I"$build/src" -I"$build" -Wall -Wextra -Wno-unused-parameter -Werror -fsyntax-only -x c - 2>&1) &&
		! lacks_vendor_header "$errors"; then
		echo "$h: does not compile alone:"
		echo "$errors"
		failed=1
	fi
done

exit $failed
