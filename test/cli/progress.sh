#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The live line on a terminal: never wider than it, and on a narrow one the loss instead of the bar.
. "${DLX_SOURCE:?}/test/lib.sh"
command -v script >/dev/null || skip "no script (package bsdutils)"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml

# live COLUMNS: the states of the live line, one a line, in ./lines.
live() {
	rm -rf runs
	script -qec "stty cols $1; '$train' --set report.progress=bar --set train.validate.epochs=0 '$config'" /dev/null \
		</dev/null >typescript || fail "$1 columns: training failed"
	tr '\r' '\n' <typescript | grep 'step [0-9]*/' | sed 's/\x1b\[K//' >lines
	[ -s lines ] || fail "$1 columns: no live line"
	awk -v n="$1" 'length($0) >= n { exit 1 }' lines || {
		cat lines
		fail "$1 columns: a line is wider"
	}
}

live 40
grep -q 'loss [0-9]' lines || fail "40 columns: no loss"
live 12
live 120
grep -q '^\[=*>' lines || fail "120 columns: no bar"
pass
