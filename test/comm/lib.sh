# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by the scripts here: $ranks under mpiexec.
command -v mpiexec >/dev/null || skip "no mpiexec"
"$train" --version | grep -q '^ranks: MPICH' || skip "dlx-train was built without MPICH, whose mpiexec this test takes"
ranks=$DLX_BUILD/test/comm/ranks

# ok N COMMAND...: N ranks, and the word of the first.
ok() {
	n=$1
	shift
	expect 0 timeout 120 mpiexec -n "$n" "$@"
	says out ok
}

# lost SUBJECT HOW SECONDS [N]: rank 1 of 3, or of N, does not come; all end by then, or a little later where the machine has much to do.
lost() {
	begin=$(date +%s)
	timeout 60 mpiexec -disable-auto-cleanup -n "${4:-3}" "$ranks" "$1" "$2" >out 2>err && fail "all is well without rank 1 ($1 $2)"
	took=$(($(date +%s) - begin))
	[ "$took" -le $(($3 + 15)) ] || fail "it took $took s to see that rank 1 is missing ($1 $2)"
}
# reported TEXT...: by one rank, the first text once.
reported() {
	[ "$(grep -cF -e "$1" err)" = 1 ] || fail "not one report: $(cat err)"
	for text in "$@"; do
		says err "$text"
	done
}
