#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What --plan says about memory: the trade between memory and time, the largest batches, and that they are what a limit makes true.
. "${DLX_SOURCE:?}/test/lib.sh"
DLX_DEBUG=$(debug trials=no) # none of it is about time
config=$DLX_SOURCE/configs/tiramisu-fc-densenet56.yaml

plan() {
	expect 0 "$train" --plan=json --set 'model.input.size=[64, 64]' --set train.batch_size=2 "$@" "$config"
}

# Bytes of the planned step.
peak() {
	sed -n 's/.*"peak": \([0-9]*\), "arena".*/\1/p' out
}

# row NAME KEY: of the table.
row() {
	sed -n "s/.*{\"name\": \"$1\", \([^}]*\)}.*/\1/p" out | sed "s/.*\"$2\": \([0-9]*\).*/\1/"
}

expect 0 "$train" --plan --set 'model.input.size=[64, 64]' "$config"
says out 'computed again     memory of a step'
says out 'to the least'
says out 'largest batch'
# Every tensor that is reordered in a step says why, and by which node it is read.
grep -E '^ *[0-9]+  [a-z]+ +reorder ' out >reorders || fail 'no reorder at all'
! grep -v -E ' for [a-z_]+ [0-9]+, (other kernels have the parameter otherwise|of an input|made otherwise by [a-z_]+ [0-9]+)$' reorders ||
	fail 'a reorder without a reason'

plan
says out '"peak_node": "'
nothing=$(row nothing peak)
cheap=$(row 'no convolutions' peak)
half=$(row 'to 50 %' peak)
least=$(row 'to the least' peak)
[ "$(row nothing nodes)" -eq 0 ] || fail 'something is run again for nothing'
[ "$least" -lt "$half" ] && [ "$half" -lt "$nothing" ] && [ "$cheap" -lt "$nothing" ] ||
	fail "no trade: $nothing $cheap $half $least"
[ "$(row 'no convolutions' flops)" -lt "$(row 'to the least' flops)" ] || fail 'the least costs nothing'

# What the table has is reached, and less than the least is not.
plan --set train.memory.limit=$((least + least / 50))
[ "$(peak)" -le $((least + least / 50)) ] || fail "$(peak) bytes instead of $least"
expect 78 "$train" --check --set 'model.input.size=[64, 64]' --set train.batch_size=2 \
	--set train.memory.limit=$((least * 9 / 10)) "$config"

# The largest batches under a limit of memory are those: one more sample is too much.
limit=$((nothing * 3))
plan --set train.memory.limit=$limit
kept=$(sed -n 's/.*"kept": \([0-9]*\).*/\1/p' out)
again=$(sed -n 's/.*"recomputed": \([0-9]*\).*/\1/p' out)
[ "$again" -gt "$kept" ] && [ "$kept" -ge 4 ] || fail "largest batches: $kept, $again"
plan --set train.batch_size="$kept"
[ "$(peak)" -le $limit ] || fail "a batch of $kept needs $(peak) bytes of $limit"
plan --set train.batch_size=$((kept + 1))
[ "$(peak)" -gt $limit ] || fail "a batch of $((kept + 1)) fits too"
plan --set train.batch_size="$again" --set train.memory.limit=$limit
[ "$(peak)" -le $limit ] || fail "a batch of $again needs $(peak) bytes of $limit"
pass
