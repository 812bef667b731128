#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The tests of numbers under every cap of the instruction set that this processor has something to cap for: ops, networks against
# PyTorch, the bits of runs that are resumed and of ranks. A processor has other kernels under each, of oneDNN's and of dlx's own.
# The short form takes ops of one shard under the lowest cap.
# limit: 15 minutes
. "${DLX_SOURCE:?}/test/lib.sh"
plain=$DLX_DEBUG

# The caps from the lowest to what is used without one.
caps_of() {
	uses=$("$train" --version | sed -n 's/^instructions: oneDNN \([a-z0-9_]*\),.*/\1/p')
	for cap in avx2 avx512 avx512_bf16 amx; do
		echo "$cap"
		[ "$cap" != "$uses" ] || return
	done
}
caps=$(caps_of)
"$train" --version | grep -q ', dlx.s kernels base$' && skip "a processor without AVX2"

# under CAP TEST: a test of the tree under a cap, in a folder of its own.
under() {
	DLX_TIER=check DLX_DEBUG=$(DLX_DEBUG=$plain debug "isa=$1") DLX_WORK=$work/$1-$(basename "$2" .sh) "$DLX_SOURCE/$2" >"$1.log" 2>&1
	status=$?
	[ $status -eq 0 ] || [ $status -eq 77 ] || {
		tail -n 40 "$1.log"
		fail "$2 under isa=$1: status $status"
	}
}

if big; then
	for cap in $caps; do
		for part in optest/optest-1 optest/optest-2 optest/optest-3 optest/optest-4 train/resume train/ranks_bits train/zoo/pytorch; do
			under "$cap" "test/$part.sh"
		done
	done
else
	DLX_DEBUG=$(debug "isa=$(echo "$caps" | head -n 1)") expect 0 "$DLX_BUILD/test/optest/optest" --kernels --shard=3/16
fi
pass
