# SPDX-License-Identifier: BSD-3-Clause
"""One process of PyTorch for `zoo`: a network of its table, timed or compared with what dlx exported. Takes one argument of JSON
and prints a line of it for each request."""
import contextlib
import gc
import json
import os
import resource
import signal
import statistics
import sys
import time

TEST = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TEST, "train")]
from zoo_table import NETWORKS, labels  # noqa: E402
from zoo_turns import Turns  # noqa: E402

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
    """The settings for the fastest step on a GPU: kernels chosen by time, and CUDA graphs; or graphs alone."""
    return {"mode": job.get("mode", "max-autotune")} if job["device"] == "cuda" else {}


class Turn:
    """What is timed by one process at a time: a lock on a file. Waiting for it takes none of the process's own time, of which
    `limit` seconds are the end of it (SIGALRM). Without a file it is always this one's turn."""

    def __init__(self, job):
        self.turns = Turns(job["turns"]) if job.get("turns") else None
        self.what, self.rank, self.taken, self.waited = None, None, None, 0
        signal.setitimer(signal.ITIMER_REAL, job.get("limit") or 0)

    def take(self, *_):
        if self.taken or not self.turns:
            return
        begin, left = time.time(), signal.setitimer(signal.ITIMER_REAL, 0)[0]
        self.turns.take(self.rank)
        signal.setitimer(signal.ITIMER_REAL, left)
        self.taken = time.time()
        self.waited += self.taken - begin
        self.tell("begins", 0)

    def take_when_compiled(self, torch):
        """Compiling needs no GPU, and the backward step is compiled with the forward one."""
        if not self.turns:
            return
        try:
            from torch._dynamo.callback import callback_handler
            from torch._functorch import config

            config.force_non_lazy_backward_lowering = True
            callback_handler.register_end_callback(self.take)
        except (ImportError, AttributeError):
            self.take()

    def leave(self):
        if self.taken:
            self.tell("ends", time.time() - self.taken)
            self.turns.leave()
            self.taken = None

    def tell(self, event, seconds):
        self.turns.tell(f"{seconds:7.1f} s  {self.what} {event}")


def memory(torch, job):
    """Peaks of the process; on a GPU of its tensors, or of what the allocator took where a graph's pool belongs to it, too; and what
    is in use on the GPU, with CUDA and its libraries, where no other process is on it."""
    if job["device"] != "cuda":
        return {"peak_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
    free, total = torch.cuda.mem_get_info()
    peak = torch.cuda.max_memory_reserved if job["compiled"] else torch.cuda.max_memory_allocated
    return {"peak_memory": peak(), "reserved": torch.cuda.max_memory_reserved(),
            **({} if job.get("turns") else {"device_used": total - free})}


def be_fast(torch, job):
    """On a GPU: engines of convolutions chosen by time. Both libraries may use TF32 in float32 products, as dlx is set to."""
    if job["device"] == "cuda":
        torch.backends.cudnn.benchmark = True
        if job.get("trials"):
            torch.backends.cudnn.benchmark_limit = job["trials"]
        torch.set_float32_matmul_precision("high")


def forget_trials(torch, job):
    """Memory that was needed to try kernels counts for nothing."""
    if job["device"] == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def timed(torch, job, step):
    """Seconds of steps, three at least. A GPU's come in fives with one wait at the end, so that it need not wait for the host to see a
    result, as it need not in dlx's --bench."""
    times, block = [], 5 if job["device"] == "cuda" else 1
    while len(times) < 3 or sum(times) * block < job["seconds"]:
        begin = time.perf_counter()
        for _ in range(block):
            value = step()
        value.item()      # which waits for a GPU
        times.append((time.perf_counter() - begin) / block)
    return times


def memory_format(torch, job, network):
    if job["layout"] == "contiguous":
        return torch.contiguous_format
    return torch.channels_last_3d if len(network.size) == 3 else torch.channels_last


def measure(job):
    """Steps of one network in each of job["kinds"], eager or compiled, a line for each. In one process, since a compiled step takes the
    engines that the eager one has chosen."""
    import torch

    torch.set_num_threads(job["threads"])
    torch.manual_seed(1)
    be_fast(torch, job)
    network = network_of(job)
    layout = memory_format(torch, job, network)
    x = (torch.rand(network.shape()) - 0.5).contiguous(memory_format=layout).to(job["device"])
    target = target_like(torch, network, output_shape(network)).to(job["device"])
    model = network.module(network).to(memory_format=layout).to(job["device"])
    update = network.optimizer(model.parameters(), **({"fused": True} if job["device"] == "cuda" else {}))
    turn = Turn(job)
    ready = time.time() - job["begin"]
    for kind in job["kinds"]:
        turn.what, turn.rank = f"{job['network']}: PyTorch {kind}", job["ranks"][kind]
        try:
            r = measure_kind(torch, {**job, "compiled": kind == "compiled"}, network, model, update, x, target, turn)
            r.update(first=ready + r["first"], parameters=sum(p.numel() for p in model.parameters()))
        except Exception as e:
            r = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps({**r, "kind": kind}), flush=True)
        update.zero_grad(set_to_none=True)
        gc.collect()
        if job["device"] == "cuda":
            torch.cuda.empty_cache()
        turn.leave()


def measure_kind(torch, job, network, model, update, x, target, turn):
    """Median step of as many as fit into the time, three at least, after some of warm-up; seconds to the end of the first."""
    scaler = torch.amp.GradScaler(job["device"]) if job["type"] == "fp16" else None

    def forward(x, target):
        with precision(torch, job):
            return network.loss(model(x), target)

    if job["compiled"]:
        forward = torch.compile(forward, **compiler_options(job))

    def step():
        if job["compiled"] and job["device"] == "cuda":
            torch.compiler.cudagraph_mark_step_begin()
        update.zero_grad(set_to_none=True)
        value = forward(x, target)
        if scaler:
            scaler.scale(value).backward()
            scaler.step(update)
            scaler.update()
        else:
            value.backward()
            update.step()
        return value.detach()

    begin, waited = time.time(), turn.waited
    if job["compiled"]:
        turn.take_when_compiled(torch)
    else:
        turn.take()
    loss = step().item()
    turn.take()
    first = time.time() - begin - (turn.waited - waited)
    for i in range(WARM_UP):
        if i == WARM_UP - 1:
            forget_trials(torch, job)
        step().item()
    times = timed(torch, job, step)
    return {"samples_per_second": network.batch / statistics.median(times), **memory(torch, job), "first": first, "loss": loss,
            "steps": len(times)}


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

    cuda = torch.cuda.is_available()
    return {"version": torch.__version__.split("+")[0], "compiles": hasattr(torch, "compile"), "cuda": cuda,
            "gpu": torch.cuda.get_device_name() if cuda else None}


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    if job["task"] == "measure":
        measure(job)
    else:
        print(json.dumps({"compare": compare, "about": about}[job["task"]](job)))
