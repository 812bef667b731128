# SPDX-License-Identifier: BSD-3-Clause
"""The families of the zoo at small widths against PyTorch, which computes in float64; all in one process.

    zoo_compare.py [FAMILY...]

Two comparisons of each network, neither of which depends on how a processor rounds:

* The reference device computes in float64, too. One step from dlx's first weights, as float32 has them: loss, output, every
  gradient, every parameter after the update, each tensor by its own largest value.
* The CPU computes in float32, so the comparison is made where it is well conditioned. A value that a ReLU gets near zero, or two
  near maxima of a pool, can fall on different sides in two correct programs, and a gradient then differs by far more than rounding
  does. So the step starts from weights that keep all such values away from their kinks (`calm`), on data chosen for it, which is
  measured. Gradients that are zero but for rounding, as of a bias before batch normalisation, are compared by the scale of the
  others (FLOOR). A run of several steps: losses, how far each weight moved, by the same scale, what is then predicted, and how dlx
  judges that. Networks without shifts cannot be calmed; of those the gradient is compared as one vector, to which one value on the
  other side adds little."""
import contextlib
import io
import json
import os
import shutil
import sys

import numpy
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import pytorch_dlx as dlx  # noqa: E402
from kinks import calm, Kinks, write_safetensors  # noqa: E402
from zoo_cases import FAMILIES, IGNORE  # noqa: E402

EXACT = 1e-5      # results travel as float32, and so do the weights, which both start from as they then are
FLOAT = 1e-3
DRIFTS = 4        # where PyTorch's float32 has a quarter of FLOAT or more, rounding decides: how often that is allowed
FLOOR = 0.1
VECTOR = 1e-2
SLOPES = 1e-2     # gradients and what they move
UNIT = 10 * 2**-24 / SLOPES      # ten times what half a unit of float32's last place is, as a scale
BIG = os.environ.get("DLX_TIER", "check") == "big"
STEPS = 20 if BIG else 4


def tracked(name):
    return name.endswith("num_batches_tracked")


def state(model):
    return {n: t.detach().clone() for n, t in model.state_dict().items() if not tracked(n)}


def load(model, weights):
    """Every tensor that dlx exports has its place in the module, and the other way round."""
    missing, unknown = model.load_state_dict({n: w.double() for n, w in weights.items()}, strict=False)
    missing = [n for n in missing if not tracked(n)]
    if missing or unknown:
        sys.exit(f"FAIL: not exported by dlx: {missing}; not in PyTorch: {unknown}")
    return model.double()


# --- comparisons ---


def settings(words):
    return [a for w in words for a in ("--set", w)]


class Network:
    """A case with its data."""

    def __init__(self, check, case):
        self.check, self.case = check, case
        self.draw(case.seed)
        self.write()
        self.config = os.path.join(HERE, case.config + "-small.yaml")
        self.base = settings([*case.keys, f"train.batch_size={case.batch}", "data.train=zoo.dlx", "data.validation=zoo.dlx"])

    def draw(self, seed):
        case = self.case
        target = (case.classes,) if case.vector else () if case.one_label else case.size
        self.x, self.y = dlx.random_data(2 * case.batch, (case.channels, *case.size), target, None if case.vector else case.classes,
                                         IGNORE, seed)

    def write(self):
        dlx.write_data("zoo", self.x, self.y, ignore=IGNORE)

    def options(self, device, *words):
        return ["--device", device, *self.base, *settings(words)]

    def batch(self, i):
        at = i * self.case.batch % len(self.x)
        part = slice(at, at + self.case.batch)
        return torch.from_numpy(self.x[part]).double(), self.case.target(self.y[part])

    def model(self, weights):
        return load(self.case.make(), weights).train()

    def step(self, options, model):
        """One step of both: (dlx's, loss, output, gradients, parameters after it)."""
        ours = dlx.step(self.config, *options)
        output = model(ours["inputs"]["input"].double())
        value = self.case.loss(output, self.case.target(ours["inputs"]["target"]))
        value.backward()
        gradients = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
        self.case.optimizer(model.parameters()).step()
        return ours, float(value), output, gradients, dict(model.named_parameters())

    def exact_step(self):
        first = dlx.initial_weights(self.config, *self.options("reference"))
        options = self.options("reference", "model.init_from=initial.safetensors")
        ours, value, output, gradients, parameters = self.step(options, self.model(first))
        self.check.numbers("loss", ours["loss"], value, EXACT)
        self.check.tensors("output", ours["outputs"], {"output": output}, EXACT)
        self.check.tensors("gradients", ours["gradients"], gradients, EXACT)
        self.check.tensors("parameters", ours["parameters"], parameters, EXACT)

    def start(self):
        """The first weights, made moderate by data without two maxima that are almost equal, as a file that dlx starts from."""
        first = dlx.initial_weights(self.config, *self.options("cpu"))
        for seed in range(self.case.seed + 1, self.case.seed + 100):
            kinks = self.calmed(first)
            if kinks.apart() or not self.case.calm:
                print(f"    distance from kinks    {kinks.least['relu']:.1e}, of maxima {kinks.least['maximum']:.1e}")
                break
            self.draw(seed)
        else:
            sys.exit(f"FAIL: {self.case.title()}: no data keeps away from kinks, where rounding decides: {kinks.least}")
        self.write()
        write_safetensors("calm.safetensors", self.begin)
        return {n: t for n, t in self.begin.items() if not tracked(n)}

    def calmed(self, first):
        """Sets self.begin; returns how far the batches that are compared then keep from kinks."""
        model, kinks = self.model(first), Kinks()
        if self.case.calm:
            calm(model, torch.from_numpy(self.x).double())
        self.begin = {n: first[n].double() if "running" in n else t.detach().clone() for n, t in model.state_dict().items()}
        with torch.no_grad(), kinks.watched():
            for i in range(2 if self.runs() else 1):
                self.model(state(model))(self.batch(i)[0])
        return kinks

    def runs(self):
        """Whether a run of several steps is compared, which has all data."""
        return self.case.calm and (BIG or self.case.curve)

    def drift(self, begin, inputs):
        """How far PyTorch's float32 is from its float64: of the output, and of the loss."""
        x, y = inputs["input"].double(), self.case.target(inputs["target"])
        with torch.no_grad():
            exact, single = self.model(begin)(x), self.model(begin).float()(x.float()).double()
            values = [float(self.case.loss(output, y)) for output in (exact, single)]
        return float((single - exact).abs().max() / exact.abs().max()), abs(values[1] - values[0]) / abs(values[0])

    def float_step(self, begin):
        options = self.options("cpu", "model.init_from=calm.safetensors")
        back = dlx.initial_weights(self.config, *options)
        self.check.tensors("state_dict there, back", back, begin, 0)
        ours, value, output, gradients, parameters = self.step(options, self.model(back))
        of_output, of_loss = self.drift(back, ours["inputs"])
        print(f"    PyTorch's float32      the output's error {of_output:.1e}, the loss's {of_loss:.1e}")
        self.check.numbers("loss", ours["loss"], value, max(FLOAT, DRIFTS * of_loss))
        self.check.tensors("output", ours["outputs"], {"output": output}, max(FLOAT, DRIFTS * of_output))
        if self.case.calm:
            self.check.tensors("gradients", ours["gradients"], gradients, SLOPES, FLOOR)
        self.check.vector("gradients together", ours["gradients"], gradients, VECTOR)
        self.check.tensors("parameters", ours["parameters"], parameters, FLOAT, FLOOR)

    def their_curve(self, begin, rate, number=torch.float64):
        """PyTorch's run: the weights after it, its losses, and how far it keeps from kinks."""
        model, theirs, kinks = self.model(begin).to(number), [], Kinks()
        update = self.case.optimizer(model.parameters(), rate)
        for i in range(STEPS):
            update.zero_grad()
            x, y = self.batch(i)
            x, y = x.to(number), y.to(number) if self.case.vector else y
            with kinks.watched():
                value = self.case.loss(model(x), y)
            value.backward()
            update.step()
            theirs.append(float(value))
        return state(model), theirs, kinks

    def keeps(self, begin, rate, after, losses):
        """Whether PyTorch's run in float32 has the numbers of that in float64, closer than dlx's has to."""
        close = dlx.Comparison()
        single, theirs, _ = self.their_curve(begin, rate, torch.float32)
        with contextlib.redirect_stdout(io.StringIO()):
            close.numbers("loss curve", theirs, losses, FLOAT / 4)
            self.check_moves(close, begin, single, after, SLOPES / 4)
        return not close.bad

    def curve(self, begin):
        """A run says nothing where rounding decides, near a kink or where what rounding does grows: it is made with a smaller rate
        then."""
        for rate in (self.case.rate / 10**k for k in range(9)):
            after, theirs, kinks = self.their_curve(begin, rate)
            if kinks.apart(["relu"]) and self.keeps(begin, rate, after, theirs):
                break
        else:
            sys.exit(f"FAIL: {self.case.title()}: at no rate does rounding not decide: {kinks.least}")
        print(f"    {STEPS} steps at rate {rate:g}: loss {theirs[0]:.4f} -> {theirs[-1]:.4f}")
        options = self.options("cpu", "model.init_from=calm.safetensors", f"train.steps={STEPS}", "run.dir=runs/curve",
                               f"optimizer.learning_rate={rate}")
        shutil.rmtree("runs", ignore_errors=True)
        dlx.run("dlx-train", *options, self.config)
        with open("runs/curve/metrics.jsonl") as f:
            ours = [line["loss"] for line in map(json.loads, f) if line["type"] == "step"]
        self.check.numbers("loss curve", ours, theirs, FLOAT)
        trained = dlx.initial_weights(self.config, *options, "--resume")
        self.check_moves(self.check, begin, trained, after, SLOPES)
        self.inference(trained, options)

    @staticmethod
    def check_moves(check, begin, ours, theirs, tolerance):
        """A weight moves by whole units of its last place, one of which may be wrong at each step."""
        least = {n: STEPS * UNIT * float(t.abs().max()) for n, t in theirs.items()}
        for what, among in (("moves of parameters", False), ("moves of statistics", True)):
            names = [n for n in theirs if ("running" in n) == among]
            if names:
                check.tensors(what, {n: ours[n].double() - begin[n] for n in names}, {n: theirs[n] - begin[n] for n in names},
                              tolerance, FLOOR, least)

    def inference(self, trained, options):
        case, model = self.case, self.model(trained).eval()
        with torch.no_grad():
            output = model(torch.from_numpy(self.x).double())
            value = case.loss(output, case.target(self.y))
        dlx.run("dlx-train", *options, "--predict", "zoo.dlx", "-o", "predicted.npy", self.config)
        self.check.tensors("prediction", {"output": torch.from_numpy(numpy.load("predicted.npy"))}, {"output": output}, FLOAT)
        said = json.loads(dlx.run("dlx-train", *options, "--evaluate", self.config).strip().split("\n")[-1])
        self.check.numbers("validation loss", said["loss"], float(value), FLOAT)
        if case.vector:
            error = output - case.target(self.y)
            theirs = {"mae": error.abs().mean(), "mse": error.square().mean()}
            self.check.tensors("metrics", {n: torch.tensor(v) for n, v in said["metrics"].items()}, theirs, FLOAT)

    def compare(self):
        print(f"  {self.case.title()}", flush=True)
        self.exact_step()
        begin = self.start()
        self.float_step(begin)
        if self.runs():
            self.curve(begin)


def main():
    torch.set_num_threads(1)
    check = dlx.Comparison()
    for name in sys.argv[1:] or FAMILIES:
        for case in FAMILIES[name]:
            if BIG or not case.large:
                Network(check, case).compare()
    check.finish()


if __name__ == "__main__":
    main()
