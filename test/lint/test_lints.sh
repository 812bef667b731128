#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Each lint that reads the sources or the library must find the mistake that it is for, and nothing in
# a clean tree. layers.sh has test_layers.sh.
[ "${DLX_TIER:-check}" = big ] || { echo "SKIP: a test of tests: in make bigcheck"; exit 77; }
set -u
lint=$(cd "${srcdir:-.}" && pwd)/test/lint
CC=${CC:-cc}
tree=$(mktemp -d) || exit 99
trap 'rm -rf "$tree"' EXIT
failed=0

fresh()
{
	rm -rf "$tree"
	mkdir -p "$tree/src/base" "$tree/cuda" "$tree/data-tools" "$tree/test" "$tree/man"
	head=$(printf '/* SPDX-License-Identifier: BSD-3-Clause\n *\n * A file. */')
	printf '%s\nstruct a {\n\tint x;\n};\nint a_get(struct a *);\n' "$head" >"$tree/src/base/a.h"
	printf '%s\n#include "base/a.h"\n\nint a_get(struct a *a)\n{\n\treturn a->x;\n}\n' "$head" >"$tree/src/base/a.c"
	echo '# A text' | tee "$tree/README.md" "$tree/HACKING.md" >"$tree/NEWS"
	printf '.\\" SPDX-License-Identifier: BSD-3-Clause\n.Dd 1\n' >"$tree/man/a.1"
}

# expect LINT [TEXT]: fails in the tree with TEXT in its output; without TEXT, it passes.
expect()
{
	output=$(cd "$tree" && srcdir=. DLX_BUILD="$tree" sh "$lint/$1.sh" 2>&1)
	status=$?
	if [ $# -eq 1 ] && [ $status -ne 0 ]; then
		echo "$1.sh fails in a clean tree: $output"
		failed=1
	elif [ $# -eq 2 ] && { [ $status -eq 0 ] || ! echo "$output" | grep -qF -e "$2"; }; then
		echo "$1.sh does not find '$2': $output"
		failed=1
	fi
}

fresh
for l in struct_names unused_includes width words budgets; do
	expect $l
done

printf 'struct a {\n\tint y;\n};\n' >"$tree/cuda/b.h"
expect struct_names 'a second struct a'
fresh
printf '#include "base/a.h"\nint z;\n' >"$tree/src/base/b.c"
expect unused_includes 'src/base/b.c:1: nothing of src/base/a.h is named'
fresh
printf '\t/* %0100d */\n' 1 >>"$tree/src/base/a.c"
expect width 'src/base/a.c:10: 110 columns'
fresh
echo '/* The rank who waits. */' >>"$tree/src/base/a.c"
expect words 'src/base/a.c'
fresh
echo 'int y; ' >>"$tree/src/base/a.c"
expect budgets 'src/base/a.c:10: blanks at the end'
fresh
{
	echo 'void f(void)'
	echo '{'
	seq -f 'f%g();' 100
	echo '}'
} >>"$tree/src/base/a.c"
expect budgets 'a function of 102 lines'
fresh
seq -f 'int x%g;' 600 >>"$tree/src/base/a.c"
expect budgets 'src/base/a.c: 609 lines'
fresh
sed -i 1d "$tree/src/base/a.h"
expect budgets 'src/base/a.h: no SPDX-License-Identifier'
fresh
mkdir "$tree/src/yaml"
cp "$tree/src/base/a.c" "$tree/src/yaml"
expect budgets 'two files of src have the name'

# library CALLS...: libdlx.a of files a, b and c, of which each calls the others that are named: "a:b" is a call.
library()
{
	fresh
	for f in a b c; do
		for call in "$@"; do
			[ "${call%:*}" = $f ] && echo "int ${call#*:}_f(void); int $f${call#*:}(void) { return ${call#*:}_f(); }"
		done >"$tree/$f.c"
		echo "int ${f}_f(void); int ${f}_f(void) { return 1; }" >>"$tree/$f.c"
		$CC -c -o "$tree/$f.o" "$tree/$f.c" || failed=1
	done
	ar rc "$tree/libdlx.a" "$tree/a.o" "$tree/b.o" "$tree/c.o" || failed=1
}

# programs TRAIN TOOL: dlx-train and dlx-tool of these statements, linked with a library of a file of ops and another one.
programs()
{
	fresh
	mkdir "$tree/src/op"
	echo 'int op_at(void); int op_find(void); int op_at(void) { return 1; } int op_find(void) { return 2; }' >"$tree/src/op/table.c"
	echo 'int a_get(void); int a_get(void) { return 0; }' >"$tree/src/base/a.c"
	for f in src/op/table src/base/a; do
		$CC -c -o "$tree/${f##*/}.o" "$tree/$f.c" || failed=1
	done
	ar rc "$tree/libdlx.a" "$tree/table.o" "$tree/a.o" || failed=1
	for p in "train:$1" "tool:$2"; do
		echo "int a_get(void), op_at(void), op_find(void); int main(void) { ${p#*:} }" >"$tree/main.c"
		$CC -o "$tree/dlx-${p%%:*}" "$tree/main.c" "$tree/libdlx.a" || failed=1
	done
}

library a:b b:c
expect circles
library a:b b:a b:c          # two files may be one module
expect circles
library a:b b:c c:a
expect circles 'a circle of files:'
programs 'return a_get() + op_find() + op_at();' 'return a_get();'
expect programs
programs 'return a_get() + op_find() + op_at();' 'return a_get(); } int op_at(void) { return 3;'      # a function of its own
expect programs
programs 'return a_get() + op_find() + op_at();' 'return a_get() + op_find();'
expect programs 'src/op/table.c op_'
expect programs 'dlx-tool runs no network, but contains:'
programs 'return a_get();' 'return a_get();'
expect programs 'dlx-train contains no table of ops'
exit $failed
