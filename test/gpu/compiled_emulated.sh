#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What cuDNN compiled is kept next to the file of wisdom: a later run reads it and computes the same; what is damaged or of another
# engine is compiled anew, and a folder that cannot be written costs a warning. Without wisdom a word says what would help.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
coads_data
export DLX_FAKE_CUDNN_COMPILED=compiled
# No matrix product is faster than cuDNN's engine, so that every engine that is kept is read again.
export DLX_FAKE_CUBLAS_TIMES=100000

# run DIR OPTION...
run() {
	dir=$1
	shift
	rm -f compiled
	expect 0 "$emulated" --device=cuda --set train.steps=3 --set train.validate.epochs=0 --set data.validation=null \
		--set train.batch_size=2 --set 'data.transforms=[{crop: {size: [8, 12]}}]' --set "run.dir=$dir" "$@" \
		"$DLX_SOURCE/test/train/tiny.yaml"
}
count() {
	[ -f compiled ] && wc -l <compiled || echo 0
}

run first --wisdom engines
all=$(ls engines.compiled | wc -l)
[ "$all" -gt 3 ] || fail "nothing is kept"
[ "$(count)" -ge "$all" ] || fail "more is kept than was compiled"
state=$(newest_state first)
run second --wisdom engines
[ "$(count)" = 0 ] || fail "$(count) engines are compiled again"
[ "$(newest_state second)" = "$state" ] || fail "other bits with what was read"

# Damaged: a byte that cuDNN does not look at, the end, all of it.
set -- engines.compiled/*
printf 'x' | dd of="$1" bs=1 seek=$(($(wc -c <"$1") - 2)) conv=notrunc 2>dd.log
head -c 300 "$2" >short && cp short "$2"
: >"$3"
run third --wisdom engines
[ "$(count)" = 3 ] || fail "of three that are damaged $(count) are compiled"
[ "$(newest_state third)" = "$state" ] || fail "other bits"
run fourth --wisdom engines
[ "$(count)" = 0 ] || fail "what was damaged is not kept anew"

# Those of another version of cuDNN, and for another GPU, are compiled for themselves and kept next to these.
cp engines others
cp -R engines.compiled others.compiled
DLX_FAKE_CUDNN_VERSION=92100 run newer --wisdom others
[ "$(count)" -ge "$all" ] || fail "$(count) of $all engines are compiled by another version of cuDNN"
DLX_EMULATE_NAME='another GPU' run elsewhere --wisdom others
[ "$(count)" -ge "$all" ] || fail "$(count) of $all engines are compiled for another GPU"
[ "$(ls others.compiled | wc -l)" = $((3 * all)) ] || fail "$(ls others.compiled | wc -l) engines are kept instead of three times $all"

# Without the folder, which a file stands in for.
rm -r engines.compiled
: >engines.compiled
run fifth --wisdom engines
says err 'what cuDNN compiled is not kept'
[ "$(grep -c 'is not kept' err)" = 1 ] || fail "it is said more than once"
[ "$(newest_state fifth)" = "$state" ] || fail "other bits"

# No word about what takes no time, and one about what does. Engine 44 is the first where 43 is refused.
run sixth
grep -q 'with --wisdom FILE' out err && fail "a word about nothing"
DLX_FAKE_CUDNN_FIRST=44 DLX_FAKE_CUDNN_COMPILE=1 run seventh
[ "$(cat out err | grep -c 'with --wisdom FILE they are kept')" = 1 ] || fail "no word about compiling, or several"
pass
