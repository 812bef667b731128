#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# --trace on several ranks: the sums of each step as spans, as many as planned, which end when the node that waits for
# them has them; on all ranks of a host at the same time.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
find_python3
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
set -- --set train.steps=12 --set train.validate.epochs=0 --set train.batch_size=1 --set parallel.grouping=count:3

cat >check.py <<'END'
import json
import sys
from collections import defaultdict

ranks, hosts, lag = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
plan = json.load(open("plan.json"))
ends = [defaultdict(dict) for _ in range(ranks)]
for rank in range(ranks):
    trace = json.load(open("trace.json.%d" % rank))
    assert trace["otherData"]["lost"] == 0
    events = trace["traceEvents"]
    assert {e["pid"] for e in events} == {rank}
    lanes = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert "communication" in lanes.values(), lanes
    spans = [e for e in events if e["ph"] == "X" and e["cat"] == "communication" and e["args"]["step"] >= 0]
    for lane in {e["tid"] for e in spans}:  # none runs into the next
        own = sorted((e for e in spans if e["tid"] == lane), key=lambda e: e["ts"])
        assert all(a["ts"] + a["dur"] <= b["ts"] + 2e-3 for a, b in zip(own, own[1:])), lane
    waits = [e for e in events if e["ph"] == "X" and e["name"] == "all_reduce_wait"]
    for e in spans:
        a = e["args"]
        assert e["ts"] >= 0 and a["waited_ms"] >= 0 and a["last_ms"] >= 0, e
        assert a["last_ms"] * 1e3 <= e["dur"] + 1, e
        assert a["last_rank"] * hosts // ranks == rank * hosts // ranks, e
        assert a["last_rank"] != rank or a["last_ms"] == 0, e
        ends[rank][a["step"]][e["name"]] = e["ts"] + e["dur"]
        if not lag:
            end = e["ts"] + e["dur"]
            assert any(w["args"]["step"] == a["step"] and w["ts"] + w["dur"] >= end - 2e-3 for w in waits), e
    for step in range(lag, 10):
        here = [e for e in spans if e["args"]["step"] == step]
        assert len(here) == plan["sums"], (step, len(here), plan["sums"])
        sizes = sorted(e["args"]["bytes"] for e in here if e["name"] != "mean_terms")
        planned = sorted(g["bytes"] for g in plan["groups"])  # without the padding of layouts
        assert all(a >= b for a, b in zip(sizes, planned)), (sizes, planned)
for step in range(lag, 10):  # one sum, one time, by one clock
    for name in ends[0][step]:
        at = [e[step][name] for e in ends]
        assert hosts > 1 or max(at) - min(at) < 2000, (step, name, at)
END
for case in '2 1 0' '4 2 0' '3 1 1'; do
	ranks=${case%% *}
	lag=${case##* }
	hosts=${case#* }
	hosts=${hosts% *}
	DLX_DEBUG=$(debug ranks_per_host=$((ranks / hosts)))
	expect 0 on_ranks "$ranks" "$train" --plan=json "$@" --set parallel.gradient_lag="$lag" "$config"
	mv out plan.json
	expect 0 on_ranks "$ranks" "$train" --quiet --trace trace.json "$@" --set parallel.gradient_lag="$lag" \
		--set run.dir=runs/"$ranks" "$config"
	"$python3" check.py "$ranks" "$hosts" "$lag" || fail "the traces of $ranks ranks on $hosts hosts, lag $lag, are wrong"
done
pass
