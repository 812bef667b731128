#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The English of comments and documents: words for which the field has a standard term, and persons
# in place of ranks, threads and nodes; words that had become a dialect.
#
#     srcdir=DIR test/lint/words.sh        (make check sets it)
set -u
cd "${srcdir:-.}" || exit 99

# A pattern (extended, in lower case, between word boundaries), a tab, what to write instead.
words='minimal filtering	Winograd convolution
rectifiers?	ReLU
who(ever)?	the rank, thread, node or code that is meant
nobody(.s)?	no rank, no reader, nothing
(some|any|every)body	a rank, a thread, a reader
(he|his|him)	it, or the noun
takes? note	reads back the result
sums of cuts	adds of slices
cuts? of (the )?channels	slices of channels
gradient groups?	buckets of gradients
groups of gradients	buckets of gradients
(recorded|replayed) step	a captured step, a launched one
(in|at) (its|his|a) seat	the slot of the liveness table
had best ask	the command to run'
dialect="behind	after
beside	next to, concurrently with, in addition to
of ours	dlx's
so many	this many, or the number
told	reported, passed
tells? of	reports
asked	requested, queried
asks	requests, queries
alike	the same, equal"

comments=$(mktemp) && documents=$(mktemp) || exit 99
trap 'rm -f "$comments" "$documents"' EXIT

# The text of comments, each line with its file and number.
find src cuda data-tools test -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cc' | sort | xargs awk '
FNR == 1 { inside = 0 }
{
	line = $0
	text = ""
	if (inside || line ~ /^[ \t]*\/[*]/)
		own = 1
	else
		own = 0
	while (line != "") {
		if (!inside) {
			at = index(line, "/*")
			if (!at)
				break
			line = substr(line, at + 2)
			inside = 1
		}
		end = index(line, "*/")
		text = text " " (end ? substr(line, 1, end - 1) : line)
		if (!end)
			break
		inside = 0
		line = substr(line, end + 2)
	}
	if (text != "")
		printf "%s:%d:%d:%s\n", FILENAME, FNR, own, text
}' >"$comments"
# Comments of scripts: a line of its own, or what follows a blank and "# ".
find test data-tools .ci -type f \( -name '*.sh' -o -name '*.py' -o -path 'test/gpu/*' -o -path 'test/bench/*' -o -path '.ci/*' \) \
	! -name '*.[ch]' ! -name '*.cc' ! -path test/lint/words.sh | sort |
	xargs grep -nE '(^|[[:blank:]])# ' | sed -E 's/^([^:]*:[0-9]+):(.*[[:blank:]])?# (.*)/\1:0: \3/' >>"$comments"
grep -n '' README.md HACKING.md NEWS man/*.[15] >"$documents"

failed=0
refuse() { printf '%s\n' "$1" && failed=1; }

tab=$(printf '\t')
# search WORDS FILE...: the lines of these that have one of the words.
search() {
	table=$1
	shift
	while IFS=$tab read -r pattern instead; do
		# Names of authors, variables in the text, and words in quotes are no persons.
		found=$(grep -niE "(^|[^[:alnum:]_'.\"-])$pattern([^[:alnum:]_'(]|\$)" "$@" /dev/null |
			sed 's/^[^:]*:[0-9]*://' | grep -vE 'He et al|\(?He [0-9(]|\(He |world health')
		[ -z "$found" ] || refuse "$found
    write: $instead"
	done <<-END
	$table
	END
}
search "$words" "$comments" "$documents"
search "$dialect" "$comments"
# 'beside' is the name of a setting of trust ratios.
grep -v -E 'beside, \|g\||beside, within|decay: beside' "$documents" >"$comments"
search "$dialect" "$comments"

exit $failed
