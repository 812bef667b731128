#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# --trace: trace events that are valid, that nest within a lane, that hold every node of every step and the time of it.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
coads_data
cat >run.yaml <<'END'
run: {name: traced}
model: {family: fcn, growth: 8}
data: {train: data/coads-train.dlx, validation: data/coads-validation.dlx, threads: 2}
loss: softmax_cross_entropy
metrics: [accuracy]
train: {steps: 6, batch_size: 2}
checkpoint: {every: {steps: 2}}
END
expect 0 "$train" --plan=json run.yaml
mv out plan.json
expect 0 "$train" --quiet --trace trace.json --trace-steps 4 run.yaml
"$python3" - <<'END' || fail "the trace is wrong"
import json
from collections import defaultdict

trace = json.load(open("trace.json"))
planned = json.load(open("plan.json"))["nodes"]  # views among them, which do not run
events = trace["traceEvents"]
lanes = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
spans = defaultdict(list)
for e in events:
    if e["ph"] == "X":
        assert e["ts"] >= 0 and e["dur"] >= 0, e
        spans[lanes[e["tid"]]].append(e)
assert trace["otherData"]["lost"] == 0
assert {"run", "compute", "data", "checkpoint"} <= set(lanes.values()), lanes
for name, lane in spans.items():  # each span lies inside or outside of each other
    open_spans = []
    for e in sorted(lane, key=lambda e: (e["ts"], -e["dur"])):
        while open_spans and open_spans[-1] <= e["ts"] + 2e-3:
            open_spans.pop()
        end = e["ts"] + e["dur"]
        assert not open_spans or end <= open_spans[-1] + 2e-3, (name, e)
        open_spans.append(end)
steps = [e for e in spans["run"] if e["name"] == "step"]
assert [e["args"]["step"] for e in steps] == [0, 1, 2, 3], steps
ran = [[e for e in spans["compute"] if "layer" in e["args"] and s["ts"] <= e["ts"] < s["ts"] + s["dur"]] for s in steps]
assert all(e["args"]["step"] == k for k in range(4) for e in ran[k])
assert any(e["name"] == "validation" for e in spans["run"])
ids = [sorted(e["args"]["node"] for e in r) for r in ran]
assert len(set(ids[0])) == len(ids[0]) and all(i == ids[0] for i in ids), [len(i) for i in ids]
assert planned >= len(ids[0]) > 0.7 * planned, (planned, len(ids[0]))
assert {e["args"]["phase"] for e in ran[1]} == {"forward", "backward", "update"}
shares = [sum(e["dur"] for e in nodes) / step["dur"] for step, nodes in zip(steps[1:], ran[1:])]
assert max(shares) > 0.5 and all(share <= 1.001 for share in shares), shares  # other programs may come between nodes
assert {"plan", "initial values", "feed", "wait for data", "snapshot"} <= {e["name"] for e in spans["run"]}
decoded = [e["args"]["sample"] for lane in spans for e in spans[lane] if e["cat"] == "data" and e["name"] == "decode"]
assert len(decoded) >= 8, decoded
assert any(e["name"] == "save" for e in spans["checkpoint"])
END
expect 64 "$train" --trace trace.json --plan run.yaml
says err "'--trace' is for training"
expect 64 "$train" --trace-steps 5 run.yaml
says err "'--trace-steps' is for '--trace'"
expect 64 "$train" --trace t.json --trace-steps 0 run.yaml
expect 73 "$train" --quiet --set run.dir=other --trace missing/trace.json run.yaml
pass
