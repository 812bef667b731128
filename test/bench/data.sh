#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Batches of record files can be compared with those of PyTorch, over HDF5 or, without h5py, over NumPy files. No time is judged.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python
expect 0 "$python" "$DLX_SOURCE/test/bench/data" --tiny --repetitions 1 --seconds 0.05 --samples 4 --folder . --json data.json
for level in 'the default level' '--level 1' '--level 0'; do
	[ "$(grep -c "^  dlx, $level, .* GB/s a core decoded to a batch; normalised, too, " out)" -eq 2 ] || fail "$level: not a line for each kind"
	grep -q "^    dlx, $level, .* times as fast a core, .* times with one thread" out || fail "$level: no comparison"
done
grep -q 'same storage$' out || fail 'no comparison with data stored in the same way'
"$python" - <<'END' || fail "data.json is not as expected"
import json

rows = json.load(open("data.json"))
assert [r["kind"] for r in rows] == ["climate", "cosmo"]
for r in rows:
    assert len(r["records"]) == 3 and r["peers"]
    assert all(x["decode"] > 0 and x["core"] > 0 for x in r["records"].values())
    assert r["records"]["--level 0"]["stored"] > r["records"]["the default level"]["stored"]
    for p in r["peers"].values():
        assert p["wall"] > 0 and p["like"] in r["records"]
        for level, ratio in p["ratios"].items():
            assert abs(ratio["core"] - r["records"][level]["core"] / p["core"]) < 1e-9
END
[ "$(ls ./*/climate* 2>/dev/null)" ] && fail 'files are left'
expect 64 "$DLX_BUILD/test/bench/data_times"
expect 66 "$DLX_BUILD/test/bench/data_times" none.dlx 1 1 1 '[]'
pass
