#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The comparison of predicted with measured steps runs, prints its lines and exits by its bound; and what a plan predicts is one set of
# numbers, in text as in JSON. No time is judged.
. "${DLX_SOURCE:?}/test/lib.sh"
predicted() {
	python3 "$DLX_SOURCE/test/bench/predicted" --tiny --repetitions 1 --seconds 0 "$@"
}
expect 0 predicted --networks demo,unet3d --types float32,bf16 --bound 1e9 --json rows.json
[ -s rows.json ] || fail "no rows.json where predicted was run"
for line in 'demo  *float32  *[0-9.]* ' 'unet3d  *float32  *[0-9.]* ' 'demo  *bf16 ' 'unet3d  *bf16 '; do
	grep -q "^$line" out || { cat out; fail "no line like: $line"; }
done
expect 1 predicted --networks demo --bound 0
says out 'beyond the bound'
says err 'predicted: 1 of 1 predictions are off by more than 0 %'
expect 2 predicted --networks demos
says err "'demos' is none of tiramisu"
expect 1 predicted --networks demo --build /nowhere

cat >one.py <<'END'
"""What a plan predicts adds up: of text, and of JSON. With two files they must be of the same numbers, as printed."""
import json
import re
import sys

text, plan = open(sys.argv[1]).read(), json.load(open(sys.argv[2]))
number = r"([-+0-9.e]+)"


def said(pattern):
    m = re.search(pattern.replace("#", number), text)
    assert m, f"the text does not say: {pattern}"
    return [float(x) for x in m.groups()]


# Of three digits a number is within 0.5 % of what it was, and two such numbers, or sums of them, within 1 % of each other.
ONE, BOTH = 6e-3, 1.1e-2


def close(a, b, least=1e-12, printed=ONE):
    assert abs(a - b) <= printed * abs(b) + least, f"{a} is not {b}"


p = plan["predicted"]
parts = [p[k + "_seconds"] for k in ("forward", "backward", "update", "exposed")]
close(sum(parts), p["step_seconds"])
close(p["exposed_share"] * p["step_seconds"], p["exposed_seconds"])
assert p["rates"]["f32"] > 0 and p["rates"]["bytes"] > 0 and 0 < p["product_seconds"] < p["step_seconds"]
line = said("predicted     # s a step: forward #, backward #, update #")
waiting = said("waiting for sums # ")[0] if "waiting for sums" in text else 0
close(sum(line[1:]) + waiting, line[0], printed=BOTH)
if plan["groups"]:
    close(1e-3 * said("predicted: # ms of backward")[0], line[2], printed=BOTH)
if "same" in sys.argv:
    for a, b in zip(line + [waiting], [p["step_seconds"], *parts]):
        close(a, b)
    for g, row in zip(plan["groups"], re.findall(r"^ +\d+ +(\d+) +(\S+) +(\S+)  ", text, re.M)):
        assert g["bytes"] == int(row[0])
        close(float(row[1]), 1e3 * g["ready_seconds"], 6e-4)
        close(float(row[2]), 1e3 * g["done_seconds"], 6e-4)
if p["hours"] is not None:
    close(p["steps"] * p["step_seconds"] / 3600, p["hours"])
    close(said("%d steps to the end of the run: # hours" % p["steps"])[0], p["steps"] * line[0] / 3600, printed=BOTH)
END
plans() {
	expect 0 "$train" --quiet --plan "$@"
	mv out text
	expect 0 "$train" --quiet --plan=json "$@"
	mv out json
}
agree() {
	python3 one.py text json "$@" || { cat text json; fail "predictions do not agree"; }
}
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
plans --device cpu "$config"
agree
plans --device cpu --ranks 2x4 --set train.epochs=7 --set train.steps=0 "$config"
agree
grep -q '"steps_per_epoch": [1-9][0-9]*, "steps": [1-9]' json || fail "no steps of a run whose data is there"
# Where the data is not there, how long its epochs are is not made up.
plans --device cpu --set data.train=nowhere.dlx --set data.validation=null --set data.transforms=[] --set train.steps=0 --set train.epochs=7 \
	--set 'model.input={channels: 4, size: [45, 62]}' --set model.classes=4 "$config"
agree
says text 'how long 7 epochs take is not known without the data'
says json '"steps_per_epoch": null, "steps": null, "hours": null'
# Of a described GPU everything is published: the same numbers each time.
if "$train" --version | grep -q '^backends:.*cuda'; then
	for ranks in 1 2 64 16384; do
		plans --gpu h200 --ranks $ranks "$config"
		agree same
	done
fi
pass
