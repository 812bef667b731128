#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The comparison of buckets of gradients runs and prints its table. No time is judged.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
tiny() {
	STEPS=1 sh "$DLX_SOURCE/test/bench/groups" "$DLX_BUILD" 2 2 "$DLX_SOURCE/test/train/tiny.yaml" \
		--set 'model.input={channels: 4, size: [45, 62]}' --set model.classes=4 --set 'data.transforms=[]' "$@"
}
KEEP=$PWD/lines
export KEEP
expect 0 tiny
for way in 'one rank' solved none size:64MiB size:25MiB; do
	grep -q "^$way  *[0-9.]*  *[0-9.]*" out || { cat out; fail "no line of $way"; }
done
grep -q '^solved .* 1.000 .* % .* %' out || { cat out; fail "what is compared with the solved groups"; }
[ "$(wc -l <lines)" -eq 10 ] || fail "not each way twice"
expect 1 tiny --set parallel.nothing=1
says err "unknown key 'nothing'"

# An mpiexec that starts no process and prints nothing.
mkdir silent
printf '#!/bin/sh\nexit 0\n' >silent/mpiexec
chmod +x silent/mpiexec
PATH=$PWD/silent:$PATH
expect 1 tiny
says err 'one line with a measurement was expected of: mpiexec'
pass
