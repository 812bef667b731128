#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Batches of record files can be compared with those of PyTorch, over HDF5 or, without h5py, over NumPy files. No time is judged.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python
expect 0 "$python" "$DLX_SOURCE/test/bench/data" --tiny --repetitions 1 --seconds 0.05 --samples 4 --folder . --json data.json
[ "$(grep -c 'dlx, decoded to a batch .* GB/s a core; of a record made with --level 1, stored .* %, ' out)" -eq 2 ] || fail 'not a line for each kind'
grep -q 'PyTorch, .* dlx is .* times as fast$' out || fail 'no comparison'
"$python" - <<'END' || fail "data.json is not as expected"
import json

rows = json.load(open("data.json"))
assert [r["kind"] for r in rows] == ["climate", "cosmo"]
for r in rows:
    assert r["decode"] > 0 and r["core"] > 0 and r["peers"]
    for p in r["peers"].values():
        assert abs(p["ratio"] - r["core"] / p["core"]) < 1e-9 and p["wall"] > 0
END
[ "$(ls ./*/climate* 2>/dev/null)" ] && fail 'files are left'
expect 64 "$DLX_BUILD/test/bench/data_times"
expect 66 "$DLX_BUILD/test/bench/data_times" none.dlx 1 1 1 '[]'
pass
