#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The comparison of simulated with real steps runs, and prints its lines. No time is judged; published efficiencies are, by what is
# known of them.
. "${DLX_SOURCE:?}/test/lib.sh"
bench() {
	"$DLX_SOURCE/test/bench/simulate" --steps 2 --turns 1 --networks fc-densenet56 "$@" >out 2>err
	[ $? -le 1 ] || { cat out err; fail "simulate $*"; }
}
bench --parts one,peers --json rows.json
[ -s rows.json ] || { cat out err; fail "no rows.json"; }
for line in 'profile *fc-densenet56 *1 ' 'trials *fc-densenet56 *1 ' 'peers *fc-densenet56 *4096 '; do
	grep -q "^$line" out || { cat out err; fail "no line like: $line"; }
done
if has_ranks; then
	bench --parts sleep,real --ranks 2
	grep -q '^sleep *fc-densenet56 *2 ' out || { cat out err; fail "no sleeping ranks"; }
	grep -q '^real *fc-densenet56 *2 ' out || { cat out err; fail "no real ranks"; }
	says out 'sleeping and real ranks: mean error'
fi
bench --parts published
says out 'given: DeepLabv3+'
for line in 'FCN, Summit .* 27600 *0\.9[0-9]* .* 0\.930 *-0\.0[0-2]' 'Cori (KNL) *1024 *0\.9[0-9]* .* 0\.916 *+0\.0[01]' \
	'Piz Daint, own noise *5300 *0\.[0-9]* .* 0\.790 *[-+]0\.0[0-4]'; do
	grep -q "$line" out || { cat out; fail "no line like: $line"; }
done
expect 2 "$DLX_SOURCE/test/bench/simulate" --parts two
pass
