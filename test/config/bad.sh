#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Every file in test/config/bad is refused with exit status 78 and the message its first line names:
#   # expect: LINE:COL: part of the message
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
n=0
for f in "$DLX_SOURCE"/test/config/bad/*.yaml; do
	expected=$(sed -n '1s/^# expect: //p' "$f")
	[ -n "$expected" ] || fail "$f has no '# expect:' line"
	place=${expected%%: *}
	text=${expected#*: }
	expect 78 "$train" --check "$f"
	grep -F "$(basename "$f"):$place: " err | grep -qF -e "$text" || {
		cat err
		fail "$f: expected $expected"
	}
	n=$((n + 1))
done
[ "$n" -ge 10 ] || fail "only $n files"
pass
