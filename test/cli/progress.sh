#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The live line on a terminal: never wider than it, and on a narrow one the loss instead of the bar.
. "${DLX_SOURCE:?}/test/lib.sh"
command -v script >/dev/null || lacks bsdutils
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

# an evaluation: the table alone on a terminal, with JSON elsewhere, JSON alone with --json
evaluated() {
	script -qec "'$train' --quiet --evaluate $1 '$config'" /dev/null </dev/null >typescript || fail 'no evaluation'
}
evaluated ''
grep -q '^loss  *[0-9]' typescript || { cat typescript; fail 'no table on a terminal'; }
! grep -q '{"type"' typescript || { cat typescript; fail 'JSON on a terminal that did not ask for it'; }
evaluated --json
grep -q '^{"type": "validation", ' typescript || { cat typescript; fail 'no JSON on a terminal with --json'; }
expect 0 "$train" --quiet --evaluate "$config"
grep -q '^loss  *[0-9]' out || fail 'no table in a pipe'
tail -n 1 out >line
expect 0 "$train" --quiet --evaluate --json "$config"
cmp out line || fail '--json is not the line of JSON alone'
expect 64 "$train" --check --json "$config"
says err "'--json' goes with '--evaluate'"

expect 78 "$train" --evaluate --set data.validation=null "$config"
says err "'data.validation' is not given; dlx-convert --split sets a part of the samples aside for it"

# a conversion: samples, rate and time left on a terminal, nothing elsewhere or with -q
converted() {
	script -qec "stty cols 100; '$convert' $1 -i '$coads:WSPD' -o wind.dlx" /dev/null </dev/null >typescript || fail 'no conversion'
	tr '\r' '\n' <typescript | sed 's/\x1b\[K//' >lines
}
converted ''
grep -q '^\[=*> *\] [0-9]*/12 samples  [0-9.]* MB/s  [0-9:]* *s* left$' lines || { cat lines; fail 'no progress of a conversion'; }
converted -q
! grep -q 'MB/s' lines || { cat lines; fail 'progress although -q'; }
"$convert" -i "$coads:WSPD" -o wind.dlx >lines || fail 'no conversion'
! grep -q left lines || fail 'progress without a terminal'
pass
