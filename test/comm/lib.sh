# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by the scripts here: $ranks under mpiexec.
find_mpiexec
ranks=$DLX_BUILD/test/comm/ranks

# ok N COMMAND...: N ranks, and the word of the first.
ok() {
	expect 0 on_ranks "$@"
	says out ok
}

# ended COMMAND...: it fails, and of itself.
ended() {
	"$@"
	case $? in
	0) fail "all is well: $*" ;;
	124) cat out err; fail "it hangs: $*" ;;
	esac
}

# lost SUBJECT HOW [N]: rank 1 of 3, or of N, does not come; all end.
lost() {
	ended capped mpiexec -disable-auto-cleanup -n "${3:-3}" "$ranks" "$1" "$2" >out 2>err </dev/null
}

# reported TEXT...: by one rank, the first text once.
reported() {
	[ "$(grep -cF -e "$1" err)" = 1 ] || fail "not one report: $(cat err)"
	for text in "$@"; do
		says err "$text"
	done
}

# signalled VICTIMS SEED...: three ranks work until one of the first VICTIMS gets a signal at a moment that the seed chooses; all end.
signalled() {
	victims=$1
	shift
	for i; do
		rm -f pid.*
		capped mpiexec -n 3 "$ranks" endless >out 2>err </dev/null &
		job=$!
		for rank in 0 1 2; do
			await test -s pid.$rank
		done
		sleep "0.$((i * 7 % 10))"
		signal=$(echo STOP KILL TERM | cut -d' ' -f$((i % 3 + 1)))
		send "$signal" "$(cat pid.$((i % victims)))"
		ends $job
		[ $status -ne 0 ] && [ $status -ne 124 ] || fail "SIG$signal: exit status $status: $(cat err)"
	done
}
