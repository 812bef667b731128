#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# --profile with an emulated GPU: the kernels of a launched step belong to the nodes that launched them; where the profiler is not
# there, is taken or sees nothing, the host's timers are said to have been used, on all ranks.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
echo '#include <cupti.h>' >cupti.c
# shellcheck disable=SC2046
"${CC:-cc}" $(sed -n 's/^CUDA_CPPFLAGS = //p' "$DLX_BUILD/Makefile") -E cupti.c >/dev/null 2>&1 || skip "there is no header of CUPTI"
find_python3
settings='--synthetic --bench=4 --profile --set train.batch_size=2 --set model.input.channels=2 --set model.input.size=[12,16]'
settings="$settings --set model.classes=3"
config=$DLX_SOURCE/test/train/tiny.yaml
# profiled FILE COMMAND...: a line of JSON in FILE, tables in err.
profiled() {
	file=$1
	shift
	# shellcheck disable=SC2086
	expect 0 env "$@" --device=cuda $settings "$config"
	cp out "$file"
}

profiled replays.json "$emulated" --set precision.compute=fp16
says err 'ms as one graph: busy'
says err 'kernel ('
grep -q '^ .*[0-9]  .* of [a-z_]* [0-9]* .' err || fail "no kernel with its node"
expect 0 "$python3" - <<'END'
import json

p = json.load(open("replays.json"))["profile"]
assert p["timed"] == "replays" and p["replays"] == 4 and "no_replays" not in p
nodes = {n["node"]: n for n in p["nodes"]}
seconds = dict.fromkeys(nodes, 0)
starts = [k["start"] for k in p["kernels"]]
assert starts == sorted(starts) and starts[0] == 0 and len(starts) > 50
own = {"dropout": "dropout", "average_pool": "average_pool", "sgd": "descend", "concat": "copy"}
met = set()
for k in p["kernels"]:
    op = nodes[k["node"]]["op"]
    seconds[k["node"]] += k["seconds"]
    met.add(op)
    # Only convolutions run a library's kernels, and the op's own kernels bear its name.
    assert (k["name"] == "library") <= op.startswith("conv"), (op, k["name"])
    assert op not in own or own[op] in k["name"], (op, k["name"])
assert {"conv", "conv_grad_weight", "batch_norm", *own} <= met
# What reads the batch runs before the graph of a step, and is in the one that is watched.
assert nodes[p["kernels"][0]["node"]]["op"] in ("cast", "reorder")
for n, s in seconds.items():
    assert abs(nodes[n]["seconds"] - s) < 1e-9
assert 0 < p["busy"] <= p["step"] and abs(p["step"] - p["busy"] - p["between_nodes"]) < 1e-6
END

# timed REASON: what was timed node by node for this reason.
timed() {
	says err 'with timers: nodes'
	says err 'the host has timed node by node, which adds a launch and a wait to each'
	says err "$1"
	says out '"timed": "nodes", "no_replays": "'
	grep -q '"kernels"' out && fail "kernels where there is no profiler"
}
profiled absent.json DLX_FAKE_CUPTI=absent "$emulated"
timed "the emulation has no 'cupti"
profiled busy.json DLX_FAKE_CUPTI=busy "$emulated"
timed 'CUPTI: cannot be asked for nodes of graphs: CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED'
profiled blind.json DLX_FAKE_CUPTI=blind "$emulated"
timed 'the profiler has seen no kernel of a launched graph'
profiled each.json CUDA_LAUNCH_BLOCKING=1 "$emulated"
timed 'each kernel is waited for'

# One of two ranks without the profiler: both go on node by node.
"$emulated" --version | grep -q NCCL || pass
find_mpiexec
DLX_EMULATE_GPUS=0,1
export DLX_EMULATE_GPUS
profiled ranks.json mpiexec -n 2 "$emulated"
says out '"timed": "replays"'
# shellcheck disable=SC2016
profiled mixed.json mpiexec -n 2 sh -c '[ "$PMI_RANK" = 1 ] && export DLX_FAKE_CUPTI=absent; exec "$@"' sh "$emulated"
timed 'another rank has no profiler'
pass
