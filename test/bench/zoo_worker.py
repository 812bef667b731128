# SPDX-License-Identifier: BSD-3-Clause
"""One process of PyTorch for `zoo`: a network of its table, timed or compared with what dlx exported. Takes one argument of JSON
and prints one line of it."""
import contextlib
import json
import os
import resource
import statistics
import sys
import time

TEST = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TEST, "train")]
from zoo_table import NETWORKS, labels  # noqa: E402

WARM_UP = 3


def network_of(job):
    n = NETWORKS[job["network"]]
    n.size = tuple(job["size"])
    return n


def target_like(torch, network, shape):
    if labels(network):
        return torch.randint(0, network.classes, [shape[0], *shape[2:]])
    return torch.randn(shape)


def output_shape(network):
    """Fields have the input's size; vectors and single labels have none."""
    vector = network.config.startswith(("cosmoflow", "resnet"))
    return [network.batch, network.classes, *(() if vector else network.size)]


def precision(torch, job):
    return torch.autocast("cpu", torch.bfloat16) if job["type"] == "bf16" else contextlib.nullcontext()


def memory_format(torch, job, network):
    if job["layout"] == "contiguous":
        return torch.contiguous_format
    return torch.channels_last_3d if len(network.size) == 3 else torch.channels_last


def measure(job):
    """Median step of as many as fit into the time, three at least, after some of warm-up."""
    import torch

    torch.set_num_threads(job["threads"])
    torch.manual_seed(1)
    network = network_of(job)
    layout = memory_format(torch, job, network)
    x = (torch.rand(network.shape()) - 0.5).contiguous(memory_format=layout)
    target = target_like(torch, network, output_shape(network))
    model = network.module(network).to(memory_format=layout)
    update = network.optimizer(model.parameters())

    def forward(x, target):
        with precision(torch, job):
            return network.loss(model(x), target)

    if job["compiled"]:
        forward = torch.compile(forward)

    def step():
        update.zero_grad(set_to_none=True)
        value = forward(x, target)
        value.backward()
        update.step()
        return value.item()

    loss = step()
    first = time.time()
    for _ in range(WARM_UP - 1):
        step()
    times = []
    while len(times) < 3 or sum(times) < job["seconds"]:
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"samples_per_second": network.batch / statistics.median(times), "peak_memory": peak, "first": first, "loss": loss,
            "steps": len(times), "parameters": sum(p.numel() for p in model.parameters())}


def compare(job):
    """Names and shapes against an export of dlx, and the loss of its first step from the same weights."""
    import torch
    from safetensors_read import read

    network = network_of(job)
    model = network.module(network)
    weights = {n: torch.from_numpy(v) for n, v in read(job["weights"]).items()}
    have = {n: v for n, v in model.state_dict().items() if not n.endswith("num_batches_tracked")}
    wrong = sorted(n for n in {*have, *weights} if n not in have or n not in weights or have[n].shape != weights[n].shape)
    result = {"wrong": wrong, "parameters": sum(p.numel() for p in model.parameters())}
    if wrong:
        return result
    batch = {n: torch.from_numpy(v) for n, v in read(job["inputs"]).items()}
    model.load_state_dict(weights, strict=False)
    for m in model.modules():
        if hasattr(m, "dropout") and not isinstance(m.dropout, torch.nn.Module):
            m.dropout = 0
    target = batch["target"].long() if labels(network) else batch["target"]
    with torch.no_grad():
        result["loss"] = float(network.loss(model(batch["input"]), target))
    return result


def about(job):
    import torch

    return {"version": torch.__version__.split("+")[0], "compiles": hasattr(torch, "compile")}


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    print(json.dumps({"measure": measure, "compare": compare, "about": about}[job["task"]](job)))
