#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks fetch bytes from each other next to sums, and miss a rank that does not send them.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/comm/lib.sh"

for n in $(form "2 4" "2 3 4 8"); do
	ok "$n" "$ranks" fetch "$(form 40 400)"
done
ok 3 env DLX_DEBUG="$(debug ranks_per_host=1)" "$ranks" fetch 40
ok 4 env DLX_DEBUG="$(debug ranks_per_host=3)" "$ranks" fetch 40

lost unfetched stop
reported 'rank 1 (host ' ') has not sent the data that it was asked for '
lost unfetched late
reported 'rank 1 (host ' ') has not sent the data that it was asked for '
# Here mpiexec may be the first to notice.
lost unfetched kill
pass
