#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# How `bootstrap` installs packages next to another program that does: it waits for dpkg's lock by apt-get's option, and for that of
# the lists of packages by itself; any other failure ends it at once. And its summary of the tests.
. "${DLX_SOURCE:?}/test/lib.sh"
mkdir bin
# Nothing is installed, and apt-get says the next line of ./answers, that of a lock at most; an empty one is success.
cat >bin/apt-get <<'END'
#!/bin/sh
echo "$*" >>calls
answer=$(head -n 1 answers)
sed -i 1d answers
[ -z "$answer" ] || { echo "E: $answer" >&2; exit 100; }
END
printf '#!/bin/sh\nexit 1\n' >bin/dpkg-query
printf '#!/bin/sh\necho 0\n' >bin/id
printf '#!/bin/sh\necho "$*" >>sleeps\n' >bin/sleep
chmod +x bin/*
lock='Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)'

# installs STATUS ANSWER...: from here, with these answers of apt-get.
installs() {
	wanted=$1
	shift
	printf '%s\n' "$@" >answers
	rm -f calls sleeps
	expect "$wanted" env PATH="$PWD/bin:$PATH" WORK="$PWD" sh -c '. "$WORK/install_packages"; as_root= install_packages gcc make'
}
# The functions of it, without what it builds.
sed '/^case \${1:-} in/,$d; s/^cd .*//' "$DLX_SOURCE/bootstrap" >install_packages

installs 0 "$lock" "$lock" '' ''
[ "$(wc -l <sleeps)" -eq 2 ] || fail "it did not wait for the lists twice"
[ "$(grep -c -e '-o DPkg::Lock::Timeout=600 update$' calls)" -eq 3 ] || { cat calls; fail "not three updates"; }
tail -n 1 calls | grep -q -e '-o DPkg::Lock::Timeout=600 install .* gcc make$' || { cat calls; fail "no install that waits"; }
installs 100 'The repository has no Release file'
says err 'The repository has no Release file'
[ ! -e sleeps ] || fail "it waited for what does not pass"
installs 100 '' 'Unable to locate package gcc'
says err 'Unable to locate package gcc'

# ran RESULT SECONDS NAME LINE: what a test leaves in the folder of the build.
mkdir -p build/test
ran() {
	printf ':test-result: %s\n' "$1" >"build/test/$3.trs"
	printf '%b\ntest/run: status 0 after %s s of 300, %s s of processor time\n%s test/%s.sh (exit status: 0)\n' \
		"${4-}" "$2" "$(($2 / 2))" "$1" "$3" >"build/test/$3.log"
}
for i in 1 2 3 4 5 6 7 8 9 10; do ran PASS $((i + 1)) pass-$i; done
ran SKIP 0 skipped 'SKIP: no such hardware\nok 1 - skipped # SKIP\n1..1'
ran FAIL 100 failed 'FAIL: so it is'
expect 0 env WORK="$PWD" sh -c '. "$WORK/install_packages"; summary build'
[ "$(tail -n 1 out)" = '10 passed, 1 failed, 1 skipped' ] || { cat out; fail "other counts"; }
says out 'skipped: skipped: no such hardware'
[ "$(grep '^longest: ' out | head -n 2 | tr '\n' ,)" = 'longest: 100 s (processor 50 s) failed,longest: 11 s (processor 5 s) pass-10,' ] || { cat out; fail "not the longest"; }
[ "$(grep -c '^longest: ' out)" -eq 10 ] || fail "not ten of them"
says out 'tests: 80 s of processor time'
pass
