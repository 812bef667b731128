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
