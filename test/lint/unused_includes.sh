#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# No include that nothing needs: a header of dlx's that a file includes must declare something that
# the file names: a function, a variable, a type, a macro, a value of an enumeration, or a member of
# a struct. A header that only includes others declares nothing. A file that needs a header for another reason says so after the include:
# /* kept: the reason */.
#
#     srcdir=DIR test/lint/unused_includes.sh        (make check sets it)
set -u
cd "${srcdir:-.}" || exit 99

# shellcheck disable=SC2046
awk '
function is_header(f) { return f ~ /[.](h|cuh)$/ }
# The path of the tree that an include means, or "".
function target(text, file,   folder) {
	folder = file
	sub(/[^\/]*$/, "", folder)
	if (("src/" text) in known)
		return "src/" text
	if (text in known)
		return text
	if ((folder text) in known)
		return folder text
	return ("test/" text) in known ? "test/" text : ""
}
function declare(name) { declared[FILENAME] = declared[FILENAME] " " name }

# Every word of a header, without comments and strings: depth counts braces, round parentheses, what
# is the word that began a body.
function take(word) {
	if (word == "{" && (before == "extern" || space))
		space = 0                      # of C++: what is declared in there counts as outside
	else if (word == "{") {
		body[++depth] = what == "" && depth > 1 ? body[depth - 1] : what
		what = ""
	} else if (word == "}") {
		if (depth > 0)
			depth--
		what = ""
	} else if (word == "(") {
		if (round++ == 0 && depth == 0 && last != "")
			declare(last)
	} else if (word == ")") {
		round -= round > 0
	} else if (word ~ /^[A-Za-z_]/) {
		if (word == "namespace")
			space = 1
		else if (word == "struct" || word == "enum" || word == "union")
			what = word
		else if (before == "struct" || before == "enum" || before == "union")
			tag = word
	}
	if (word == "{" && tag != "" && round == 0) {
		declare(tag)
		defined[tag]
	}
	if (word == ";" && depth == 0 && before == tag)
		opaque[FILENAME] = opaque[FILENAME] " " tag
	# Members, values of enumerations, variables and typedefs stand before these.
	if (word ~ /^[;,=\[:}]$/ && last != "" && before == last && (depth > 0 ? body[depth] != "" || word == "}" : round == 0))
		declare(last)
	if (word == ")" && depth > 0 && body[depth] != "" && before == last)
		declare(last)
	if (word == ";" && depth == 0)
		what = tag = ""
	if (word != "{" && word !~ /^[A-Za-z_*]/)
		tag = ""
	if (word ~ /^[A-Za-z_]/)
		last = word
	before = word
}
BEGIN {
	for (i = 1; i < ARGC; i++)
		known[ARGV[i]]
}
FNR == 1 { comment = define = depth = round = space = 0; what = tag = last = before = "" }
{
	line = $0
	kept = line ~ /\/\* kept: /
	include = ""
	if (!comment && line ~ /^[ \t]*#[ \t]*include[ \t]*"/) {
		include = line
		sub(/^[^"]*"/, "", include)
		sub(/".*/, "", include)
	}
	text = ""
	while (line != "") {
		if (comment) {
			at = index(line, "*/")
			if (!at)
				break
			line = substr(line, at + 2)
			comment = 0
		} else if (match(line, /\/[*]|\/\/|"/)) {
			text = text substr(line, 1, RSTART - 1) " "
			mark = substr(line, RSTART, RLENGTH)
			line = substr(line, RSTART + RLENGTH)
			if (mark == "//")
				break
			if (mark == "/*")
				comment = 1
			else if (match(line, /^([^"\\]|\\.)*"/))
				line = substr(line, RLENGTH + 1)
		} else {
			text = text line
			break
		}
	}
	if (include != "") {
		to = target(include, FILENAME)
		if (to != "" && !kept) {
			n = ++includes[FILENAME]
			include_of[FILENAME, n] = to
			place[FILENAME, n] = FNR
		}
		next
	}
	directive = text ~ /^[ \t]*#/ || define
	if (is_header(FILENAME) && text ~ /^[ \t]*#[ \t]*define[ \t]/) {
		name = text
		sub(/^[ \t]*#[ \t]*define[ \t]+/, "", name)
		sub(/[^A-Za-z0-9_].*/, "", name)
		if (name !~ /_H$/)
			declare(name)
	}
	define = directive && $0 ~ /\\$/
	rest = text
	while (match(rest, /[A-Za-z_][A-Za-z_0-9]*|[^ \tA-Za-z_0-9]/)) {
		word = substr(rest, RSTART, RLENGTH)
		rest = substr(rest, RSTART + RLENGTH)
		if (word ~ /^[A-Za-z_]/)
			names[FILENAME, word]
		if (is_header(FILENAME) && !directive)
			take(word)
	}
}
END {
	for (i = 1; i < ARGC; i++) {
		f = ARGV[i]
		for (k = 1; k <= includes[f]; k++) {
			h = include_of[f, k]
			m = split(opaque[h], list, " ")
			for (j = 1; j <= m; j++)       # its struct has no other place
				if (!(list[j] in defined))
					declared[h] = declared[h] " " list[j]
			opaque[h] = ""
			n = split(declared[h], list, " ")
			found = n == 0
			for (j = 1; j <= n && !found; j++)
				found = (f, list[j]) in names
			checked++
			if (!found) {
				print f ":" place[f, k] ": nothing of " h " is named in this file"
				bad = 1
			}
		}
	}
	if (!checked) {
		print "no includes found"
		bad = 1
	}
	exit bad
}' $(find src cuda data-tools test -type f ! -path '*/corpus/*' \( -name '*.[ch]' -o -name '*.cu' \
	-o -name '*.cuh' -o -name '*.cc' \) | sort)
