#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# layers.sh must find each kind of violation, and nothing in a clean tree.
[ "${DLX_TIER:-check}" = big ] || { echo "SKIP: a test of tests: in make bigcheck"; exit 77; }
set -u
lint=$(cd "${srcdir:-.}" && pwd)/test/lint/layers.sh
tree=$(mktemp -d) || exit 99
trap 'rm -rf "$tree"' EXIT
failed=0

fresh()
{
	rm -rf "$tree/src" "$tree/README.md"
	mkdir -p "$tree/src/base" "$tree/src/yaml" "$tree/src/comm"
	printf 'base\nyaml\ncomm\n' >"$tree/src/LAYERS"
	printf '#include <stddef.h>\nsize_t a(void);\n' >"$tree/src/base/a.h"
	printf '#include "base/a.h"\n#include <yaml.h>\n' >"$tree/src/yaml/c.c"
}

# expect TEXT: the tree fails with TEXT in the output; with no TEXT it passes.
expect()
{
	output=$(cd "$tree" && srcdir=. "$lint" 2>&1)
	status=$?
	if [ $# -eq 0 ] && [ $status -ne 0 ]; then
		echo "a clean tree fails: $output"
		failed=1
	elif [ $# -eq 1 ] && { [ $status -eq 0 ] || ! echo "$output" | grep -qF -- "$1"; }; then
		echo "not found: '$1' in: $output"
		failed=1
	fi
	fresh
}

fresh
expect
echo '#  include "yaml/x.h"' >"$tree/src/base/b.c"
expect 'src/base/b.c:1: "yaml/x.h" is to the right of base'
echo '#include <mpi.h>' >"$tree/src/yaml/m.c"
expect '<mpi.h> belongs to comm, not to yaml'
echo '#include <oneapi/dnnl/dnnl.h>' >"$tree/src/comm/m.c"
expect '<oneapi/dnnl/dnnl.h> belongs to backend op, not to comm'
echo '#include <nccl.h>' >"$tree/src/comm/reducer.c"
expect 'src/comm/reducer.c: <nccl.*[.]h> belongs to src/comm/nccl_library[.]h alone'
for header in cuda_runtime_api driver_types library_types; do
	echo "#include <$header.h>" >"$tree/src/comm/reducer.c"
	expect 'src/comm/reducer.c: <(cuda(_.*)?|(driver|library|vector)_types)[.]h> belongs to src/backend/cuda/cuda[_a-z]*[.][ch] alone'
done
echo '#include "a.h"' >"$tree/src/base/b.c"
expect '"a.h" must be included as "folder/a.h"'
echo '#include "elsewhere/a.h"' >"$tree/src/base/b.c"
expect '"elsewhere/a.h": no such layer'
mkdir "$tree/src/new" && echo 'int x;' >"$tree/src/new/n.c"
expect 'not listed in src/LAYERS'
echo '    base → yaml' >"$tree/README.md"
expect "README.md: the line of folders is 'base → yaml', src/LAYERS is 'base → yaml → comm'"
echo '    base → yaml → comm' >"$tree/README.md"
expect
echo 'uint64_t f(void);' >"$tree/src/base/b.h"
expect 'src/base/b.h: does not compile alone'
exit $failed
