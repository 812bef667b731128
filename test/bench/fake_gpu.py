# SPDX-License-Identifier: BSD-3-Clause
"""A PyTorch whose GPU is the processor, to run zoo_worker.py as it runs on one: `python fake_gpu.py zoo_worker.py JOB`. It refuses what
a GPU's would not be called in that order."""
import os
import runpy
import sys
import types

import torch

calls = []


def to_cpu(original):
    def to(self, *args, **keys):
        return original(self, *("cpu" if a == "cuda" else a for a in args), **keys)

    return to


def compile(function, mode):
    assert mode in ("max-autotune", "reduce-overhead"), mode
    calls.append("compile")
    return function


def mark():
    assert "compile" in calls
    calls.append("mark")


def peak(value):
    def read():
        assert calls.count("reset") == 1 + ("compile" in calls), "trials of kernels are counted"
        return value

    return read


def without_fused(optimizer):
    def make(parameters, fused, **keys):
        assert fused
        return optimizer(parameters, **keys)

    return make


# Not every processor's oneDNN has bfloat16.
torch._C._set_mkldnn_enabled(False)
torch.Tensor.to = to_cpu(torch.Tensor.to)
torch.nn.Module.to = to_cpu(torch.nn.Module.to)
torch.cuda.is_available = lambda: True
torch.cuda.get_device_name = lambda: "none"
torch.cuda.synchronize = torch.cuda.empty_cache = lambda: None
torch.cuda.reset_peak_memory_stats = lambda: calls.append("reset")
torch.cuda.max_memory_allocated, torch.cuda.max_memory_reserved = peak(2000000), peak(3000000)
torch.cuda.mem_get_info = lambda: (10000000, 50000000)
autocast = torch.autocast
torch.autocast = lambda device, dtype: autocast("cpu", dtype)
torch.compile = compile
if not hasattr(torch, "compiler"):
    torch.compiler = types.SimpleNamespace()
torch.compiler.cudagraph_mark_step_begin = mark
for name in ("Adam", "AdamW", "SGD"):
    setattr(torch.optim, name, without_fused(getattr(torch.optim, name)))
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
runpy.run_path(sys.argv[0], run_name="__main__")
