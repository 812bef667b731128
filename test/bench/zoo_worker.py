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
    n.size, n.batch = tuple(job["size"]), job["batch"]
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
    types = {"bf16": torch.bfloat16, "fp16": torch.float16}
    return torch.autocast(job["device"], types[job["type"]]) if job["type"] in types else contextlib.nullcontext()


def compiler_options(job):
    """What a user on a GPU would ask for who wants the fastest step: kernels chosen by time, and CUDA graphs."""
    return {"mode": "max-autotune"} if job["device"] == "cuda" else {}


def peak_memory(torch, job):
    """Of the process; on a GPU what its allocator has taken from it, at most."""
    if job["device"] == "cuda":
        return torch.cuda.max_memory_reserved()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


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
    x = (torch.rand(network.shape()) - 0.5).contiguous(memory_format=layout).to(job["device"])
    target = target_like(torch, network, output_shape(network)).to(job["device"])
    model = network.module(network).to(memory_format=layout).to(job["device"])
    scaler = torch.amp.GradScaler(job["device"]) if job["type"] == "fp16" else None
    update = network.optimizer(model.parameters())

    def forward(x, target):
        with precision(torch, job):
            return network.loss(model(x), target)

    if job["compiled"]:
        forward = torch.compile(forward, **compiler_options(job))

    def step():
        update.zero_grad(set_to_none=True)
        value = forward(x, target)
        if scaler:
            scaler.scale(value).backward()
            scaler.step(update)
            scaler.update()
        else:
            value.backward()
            update.step()
        return value.item()      # which waits for a GPU

    loss = step()
    first = time.time()
    for _ in range(WARM_UP - 1):
        step()
    times = []
    while len(times) < 3 or sum(times) < job["seconds"]:
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return {"samples_per_second": network.batch / statistics.median(times), "peak_memory": peak_memory(torch, job),
            "first": first, "loss": loss, "steps": len(times), "parameters": sum(p.numel() for p in model.parameters())}


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

    return {"version": torch.__version__.split("+")[0], "compiles": hasattr(torch, "compile"), "cuda": torch.cuda.is_available()}


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    print(json.dumps({"measure": measure, "compare": compare, "about": about}[job["task"]](job)))
