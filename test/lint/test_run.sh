#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What test/run and test/lib.sh make of tests that go wrong: a case that fails, a command that is not found, an end that does not
# come, a process without an id, a package that is missing.
. "${DLX_SOURCE:?}/test/lib.sh"
big || skip "a test of tests: in make bigcheck"
export DLX_WORK="$work/inner" DLX_TEST_SCALE=1 DLX_TIER=check DLX_SANITIZERS=no

# outcome STATUS [TEXT]: so ends a test of the lines on standard input, and its log has TEXT.
outcome() {
	{
		printf '#!/bin/sh\n. "%s/test/lib.sh"\n' "$DLX_SOURCE"
		cat
	} >inner.sh
	expect "$1" "$DLX_SOURCE/test/run" ./inner.sh
	[ $# -eq 1 ] || says out "$2"
}
# passes: as does one of these.
passes() {
	cat - pass_line | outcome 0 'status 0 after'
}
# fails TEXT: so does one of these, though it goes on to its end.
fails() {
	cat - pass_line | outcome 1 "$1"
}
echo pass >pass_line

# A failed case does not end its script, and does not change where the next one reads and writes.
cases='begin "one"\nstep() { fail "first"; }\nwhile step; do :; done >elsewhere\nbegin "two"\n( fail "second" ) || fail\nbegin "three"\n'
printf "$cases" | fails 'not ok 1 - one'
for line in 'FAIL: first' 'not ok 2 - two' 'ok 3 - three' 1..3; do
	grep -qxF "$line" out || { cat out; fail "no line '$line'"; }
done
printf "$cases"'skip "no such hardware"\n' | fails 'ok 3 - three # SKIP'
printf 'fail "set-up"\nbegin "one"\n' | fails 'not ok 1 - inner'
! grep 'one' out || fail "cases run without their set-up"

# Wherever it is called.
missing='not found, though called: no_such_command'
for call in 'no_such_command >/dev/null 2>&1' 'no_such_command 2>/dev/null | cat' ': "$(no_such_command 2>/dev/null)"' \
	'(no_such_command & wait) 2>/dev/null' 'if no_such_command 2>/dev/null; then :; fi' 'capped no_such_command 2>/dev/null' \
	'await true; PATH=/nowhere; no_such_command 2>/dev/null; skip "nothing is left to do"'; do
	echo "$call" | fails "$missing"
done
echo 'command -v no_such_command || : they can ask' | passes
# As dash has it.
echo '[ "$(echo "a\tb{c,d}" | tr "\t" -)" = "a-b{c,d}" ] || fail "another shell"' | passes

# The limit, and what has it.
printf 'skip "no such hardware"\n' | outcome 77 's of 300'
printf '# limit: 15 minutes\n' | passes
says out 's of 900'
printf '# limit: 15 minutes\n' | DLX_TIER=big DLX_TEST_SCALE=0.5 passes
says out 's of 5400'
DLX_SANITIZERS=yes passes </dev/null
says out 's of 1200'
expect 0 "$DLX_SOURCE/test/run" true
says out 's of 60'
printf '# limit: 2 minutes\n' | outcome 99
says err 'no class of tests'
DLX_TEST_SCALE=few outcome 99 </dev/null
says err 'DLX_TEST_SCALE=few is no number'
DLX_TEST_SCALE=0.02
echo 'trap "touch ../trapped" EXIT; sleep 1000' | fails 'FAIL: no end in 6 s'
says out 'sleep 1000'
[ -e trapped ] || fail "a script that is ended cannot remove what it has made"
# Nothing stays: with a session of its own, without its environment, and in spite of SIGTERM.
DLX_TEST_SCALE=1
passes <<'END'
setsid sleep 1000 & echo $! >../pid.session
env -i sleep 1000 & echo $! >../pid.bare
sh -c 'trap "" TERM; echo $$ >../pid.deaf; while :; do sleep 1000; done' &
await test -s ../pid.deaf
END
for pid in pid.*; do
	! alive "$(cat "$pid")" || fail "$pid is left"
done

# A wait says what does not come.
echo 'may_wait=1; await test -e never' | fails 'in 1 s never so: test -e never'
printf 'may_wait=1; : >out; : >err; sleep 1000 &\nreached never text $!\n' | fails 'in 1 s never so: grep'
printf 'may_wait=1; : >out; : >err; sleep 1000 &\nends $!\n' | fails 'in 1 s process '
printf 'may_wait=1; capped sleep 1000; [ $? = 124 ] || fail "no end"\n' | passes

for id in "''" '""' nonsense -1 '"1 1"'; do
	echo "stop $id" | fails 'is no process'
done
echo 'send TERM' | fails 'SIGTERM to no process'
printf 'true &\nends $!; stop $!\n' | fails 'which has ended'
passes <<'END'
sleep 1000 &
stop $!
[ $status = 143 ] || fail "status $status"
sh -c 'exit 7' &
ends $!
[ $status = 7 ] || fail "status $status"
END
echo 'lacks a-package' | fails "package 'a-package' is missing"

# By hand.
printf '#!/bin/sh\n. "$DLX_SOURCE/test/lib.sh"\nno_such_command >/dev/null 2>&1\npass\n' >inner.sh
expect 1 env -u DLX_TEST_STATE sh ./inner.sh
says out "$missing"
pass
