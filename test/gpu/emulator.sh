#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The emulation of a GPU notices kernels and launches that only work by chance.
. "${DLX_SOURCE:?}/test/lib.sh"
[ -x "${DLX_BUILD:?}/test/gpu/emulator" ] || skip "dlx was built without CUDA"
"${DLX_BUILD:?}/test/gpu/emulator" || fail "the emulation lets pass what a GPU does not"

# A kernel waits before anything else. The emulation sees whether it waits, but not whether it read or wrote memory before.
awk '
	FNR == 1 { open = 0 }
	/__global__/ { open = 1; at = FNR }
	open && /;/ && !/\{/ { open = 0 }
	open && /\{/ {
		rest = $0
		sub(/.*\{[ \t]*/, "", rest)
		if (rest == "" && (getline rest) <= 0) rest = ""
		if (rest !~ /^[ \t]*BEGIN_KERNEL\(\);/) { print FILENAME ":" at ": the kernel does not begin with BEGIN_KERNEL"; bad = 1 }
		open = 0
		seen++
	}
	END { exit bad || !seen }' "$DLX_SOURCE"/cuda/*.cu "$DLX_SOURCE"/cuda/*.cuh >kernels || { cat kernels; fail "kernels do not wait first"; }
pass
