#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# In bf16 updates write the weights that kernels read too. Under a limit of memory each step makes them anew: the same bits, whatever
# else writes weights or reads them: a short last batch and evaluations, which have plans of their own, micro-batches, averaged weights,
# a loss scale that leaves steps out, a checkpoint that is read.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
sed 's/^train:.*/precision: {compute: bf16, allow_emulation: true}\n&/; s/growth: 4/growth: 20/; s/initial_filters: 8/initial_filters: 24/' \
	"$DLX_SOURCE/test/train/tiny.yaml" >tiny.yaml
"$train" --check tiny.yaml >out 2>err || skip "no bf16 here, and none to emulate"
limit=--set\ train.memory.limit=64GiB

copies() { "$train" --plan --dump=copies "$@" tiny.yaml | grep -c ' weight_copy{}'; }
[ "$(copies)" -ge 8 ] || fail "updates write no copies"
# shellcheck disable=SC2086
[ "$(copies $limit)" -eq 0 ] || fail "copies are kept under a limit of memory"

# same NAME OPTION...: kept and made anew
same() {
	name=$1
	shift
	expect 0 "$train" --set run.dir="runs/$name" "$@" tiny.yaml
	# shellcheck disable=SC2086
	expect 0 "$train" --set run.dir="runs/$name-anew" $limit "$@" tiny.yaml
	[ "$(newest_state "runs/$name")" = "$(newest_state "runs/$name-anew")" ] || fail "$name: other bits than without copies"
}
same plain
same accumulated --set train.accumulate=2 --set train.steps=4
same adam --set 'optimizer={type: adam, learning_rate: 0.01, average: {decay: 0.9}}'
same lamb --set 'optimizer={type: lamb, learning_rate: 0.01}' --set train.steps=4
same rmsprop --set 'optimizer={type: rmsprop, learning_rate: 0.001}' --set train.steps=4
same scaled --set 'precision.loss_scale={type: dynamic, start: 6.338253001141147e+29, most: 1.0e+30, factor: 65536}'

want=$(newest_state runs/plain)
expect 0 "$train" --set run.dir=runs/stop --set train.steps=4 tiny.yaml
expect 0 "$train" --set run.dir=runs/stop --resume tiny.yaml
[ "$(newest_state runs/stop)" = "$want" ] || fail "stopped after step 4: other bits than the whole run"
pass
