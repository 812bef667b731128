#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Mistakes that a user of PyTorch or Keras makes: mistakes.txt has each as a line of a config (a section, or "- " and a
# layer; "\n" begins a new line), and below it, after "=> ", all messages that it must give
# ("..." for a list of what is allowed). A message is as good as this:
# with nothing but it, the mistake can be mended.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data

# section NAME LINE: prints the line of a config, unless the mistake is in this section.
section() {
	[ "$in" = "$1" ] || echo "$2"
}

# config MISTAKE: a config that has no other.
config() {
	in=${1%%:*} layer='- conv2d: {filters: 4, kernel: 1}'
	case $1 in '- '*) layer=$1 ;; esac
	section run 'run: {name: x}'
	[ "$in" = model ] || printf 'model:\n  family: layers\n  classes: 4\n  layers:\n    %b\n    %s\n' "$layer" \
		'- conv2d: {filters: 4, kernel: 1}'
	section data 'data: {train: data/coads-train.dlx}'
	section loss 'loss: softmax_cross_entropy'
	section optimizer 'optimizer: sgd'
	section train 'train: {steps: 1}'
	[ "$layer" = "$1" ] || printf '%b\n' "$1"
}

# ask MISTAKE: its messages, one a line, to ./got.
ask() {
	config "$1" >x.yaml
	expect 78 "$train" --check x.yaml
	sed -n 's/\(it takes\|one of\): .*/\1: .../; s/^dlx-train: x.yaml:[0-9]*:[0-9]*: /=> /p' err >got
}

answer() {
	[ -z "$mistake" ] || cmp -s want got || { cat x.yaml; diff want got; fail "other messages for: $mistake"; }
	: >want
}

n=0 mistake=
while IFS= read -r line; do
	case $line in
	'' | '#'*) ;;
	'=> '*) printf '%s\n' "$line" >>want ;;
	*) answer; mistake=$line n=$((n + 1)); ask "$mistake" ;;
	esac
done <"$DLX_SOURCE/test/config/mistakes.txt"
answer
[ "$n" -ge 60 ] || fail "only $n mistakes"
pass
