#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The best validation: it saves a version, which --resume=best takes; train.patience and the schedule plateau go by it, to the same bits
# wherever a run was stopped; what decides is named and can be chosen.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
"$python3" "$DLX_SOURCE/test/train/trained_on.py" make || fail "no arrays"
expect 0 "$convert" -i x.npy -t y.npy -o x.dlx
cat >config.yaml <<'END'
run: {name: best, dir: runs/whole}
model:
  family: layers
  layers:
    - conv2d: {filters: 4, kernel: 3, padding: same}
    - batch_norm
    - relu
    - global_average
    - dense: {units: 3}
data: {train: x.dlx, validation: x.dlx, transforms: [cast, {normalize: standard}]}
loss: {type: softmax_cross_entropy}
metrics: [accuracy]
optimizer: {type: sgd, learning_rate: 2.0, momentum: 0.9}
schedule: {type: plateau, patience: 2, factor: 0.5, cooldown: 1}
train: {epochs: 9, batch_size: 4}
checkpoint: {every: null, metric: loss}
report: {progress: lines, every: 1}
END

run() {
	dir=$1
	shift
	expect 0 "$train" --set run.dir="$dir" "$@" config.yaml
}
# versions DIR: the steps of its checkpoints
versions() {
	ls "$1/checkpoints/versions" | sed -n 's/^0*\([0-9][0-9]*\)-.*/\1/p' | sort -n | tr '\n' ' '
}
# best_of DIR: step and loss of the best validation in its journal
best_of() {
	"$python3" - "$1" <<'END'
import json
import sys

lines = [json.loads(x) for x in open(sys.argv[1] + "/metrics.jsonl")]
best = min((x for x in lines if x["type"] == "validation"), key=lambda x: (x["loss"], x["step"]))
print(best["step"], "%.4f" % best["loss"])
END
}
# watched DIR: what the newest checkpoint knows of validations
watched() {
	grep -E '"(patience|plateau)"' "$(version_of "$1")"
}
# rates DIR: the learning rate of each step
rates() {
	"$python3" - "$1" <<'END'
import json
import sys

for x in map(json.loads, open(sys.argv[1] + "/metrics.jsonl")):
    if x["type"] == "step":
        print(x["step"], x["learning_rate"], x["loss"])
END
}

begin "the best is saved, named at the end, and used by name"
run runs/whole
set -- $(best_of runs/whole)
step=$1 loss=$2
[ "$step" -lt 27 ] || fail "the last validation is the best: this tests nothing"
says out "best validation: loss $loss at step $step ('checkpoint.metric' decides); --resume=best takes its checkpoint"
says out "the learning rate falls from 2 to 1"
[ "$(versions runs/whole)" = "$step 27 " ] || fail "the versions are of steps $(versions runs/whole), not $step and 27"
evaluated() {
	expect 0 "$train" --evaluate "$@" config.yaml
	"$python3" -c 'import json, sys; print("%.4f" % json.loads(sys.stdin.read().split("\n")[-2])["loss"])' <out
}
[ "$(evaluated --resume=best)" = "$loss" ] || fail "--resume=best is not the best"
[ "$(evaluated --resume=last)" = "$(evaluated)" ] || fail "--resume=last is not the last"
[ "$(evaluated)" != "$loss" ] || fail "the last is the best"
expect 0 "$train" --evaluate config.yaml
grep -q "the best validation is that of checkpoint 0*$step-.*: --resume=best" err ||
	fail "the newest is taken, and the best not named"
for which in best last; do
	expect 0 "$train" --predict x.dlx -o $which.npy --resume=$which config.yaml
	expect 0 "$train" --export $which.safetensors --resume=$which config.yaml
done
cmp -s best.npy last.npy && fail "the best and the last predict the same"
cmp -s best.safetensors last.safetensors && fail "the best and the last export the same"
expect 66 "$train" --evaluate --resume=last --set run.dir=none config.yaml
expect 66 "$train" --evaluate --resume=best --set run.dir=none config.yaml

begin "stopped anywhere, and resumed: the same bits, rates and decisions"
rates runs/whole >whole.rates
for stop in 4 9 13 15 21; do
	run runs/stop$stop --set train.steps=$stop
	run runs/stop$stop --resume
	[ "$(newest_state runs/whole)" = "$(newest_state runs/stop$stop)" ] || fail "stopped after step $stop: other bits"
	rates runs/stop$stop | cmp whole.rates - || fail "stopped after step $stop: other rates"
	[ "$(watched runs/whole | sed 's/"patience": "[0-9]* //')" = "$(watched runs/stop$stop | sed 's/"patience": "[0-9]* //')" ] ||
		fail "stopped after step $stop: the checkpoint knows something else of validations"
done

begin "patience ends a run, at the same step wherever it was stopped before"
patient() {
	run "$@" --set train.patience=3 --set train.epochs=30
}
patient runs/patient
end=$(steps_of runs/patient)
set -- $(best_of runs/patient)
says out "ended by 'train.patience' after step $end, epoch $((end / 3))"
[ "$end" -eq $(($1 + 9)) ] || fail "the best validation was at step $1, the run ended at $end"
run runs/patient-stop --set train.steps=$((end - 4)) --set train.patience=3
patient runs/patient-stop --resume
[ "$(steps_of runs/patient-stop)" = "$end" ] || fail "a run that was stopped has another patience"
[ "$(newest_state runs/patient)" = "$(newest_state runs/patient-stop)" ] || fail "patience: other bits"
patient runs/patient --resume
[ "$(steps_of runs/patient)" = "$end" ] || fail "resumed, a run without patience went on"
run runs/patient --resume --set train.patience=4 --set train.epochs=30
[ "$(steps_of runs/patient)" -gt "$end" ] || fail "with more patience a run did not go on"

begin "a run that has reached its target makes no more steps, until the target is another one"
run runs/target --set 'train.target={metric: accuracy, at_least: 0.3}'
says out 'target reached'
end=$(steps_of runs/target)
[ "$end" -lt 27 ] || fail "the target was not reached before the end"
run runs/target --set 'train.target={metric: accuracy, at_least: 0.3}' --resume
says out 'target reached'
[ "$(steps_of runs/target)" = "$end" ] || fail "resumed, a run that had reached its target went on"
run runs/target --set 'train.target={metric: accuracy, at_least: 1.1}' --resume
[ "$(steps_of runs/target)" = 27 ] || fail "resumed with another target, a run did not go on"

begin "a validation whose loss is not finite counts, and once, wherever a run was stopped"
"$python3" - <<'END' || fail "no vast values"
import struct

data = open("floats.npy", "rb").read()
begin = 10 + struct.unpack("<H", data[8:10])[0]
open("vast.npy", "wb").write(data[:begin] + struct.pack("<f", 3e38) * ((len(data) - begin) // 4))
END
for name in floats vast; do
	expect 0 "$convert" -q -i $name.npy -t y.npy -o $name.dlx
done
vast() {
	run "$@" --set data.train=floats.dlx --set data.validation=vast.dlx --set 'data.transforms=[]' --set train.patience=4 \
		--set optimizer.learning_rate=0.001
}
vast runs/vast
grep -q '"type": "validation".*"loss": null' runs/vast/metrics.jsonl || fail "the loss of a validation is finite"
end=$(steps_of runs/vast)
[ "$end" -lt 27 ] || fail "validations whose loss is not finite do not count"
vast runs/vast-stop --set train.steps=6
vast runs/vast-stop --set train.steps=6 --resume
vast runs/vast-stop --resume
[ "$(steps_of runs/vast-stop)" = "$end" ] || fail "resumed, a validation whose loss is not finite counted twice"
[ "$(newest_state runs/vast)" = "$(newest_state runs/vast-stop)" ] || fail "validations that are not finite: other bits"

begin "the version of the end has the validation that is made there alone"
run runs/late --set checkpoint.every.steps=5 --set train.validate.steps=4 --set train.steps=10
grep -q '"metric": null' "$(version_of runs/late)" && fail "the version of the last step has no metric"

begin "a run at its end, resumed, validates again, which is not counted twice"
run runs/stop4 --resume --set train.patience=$((9 - step / 3 + 1))
grep -q "ended by 'train.patience'" out && { cat out; fail "a validation was counted twice"; }

begin "resumed from the best, with another rate"
run runs/stop9 --resume=best --set train.epochs=9 --set optimizer.learning_rate=0.1
says out "resuming from checkpoint"
says out "(step $step)"

begin "the metric that decides can be changed"
run runs/accuracy --set checkpoint.metric=accuracy --set train.steps=6
says out "best validation: accuracy"
grep -q '"metric": {"accuracy": 0\.' runs/accuracy/checkpoints/versions/*.json || fail "the accuracy falls as it gets better"
run runs/accuracy --set checkpoint.metric=loss --resume
says err "'loss' decides what is best from now on, no longer 'accuracy'"

begin "the metric that decides by default"
# Where nothing says what decides, it is the first metric of one number, in the order of the list, else the loss. A run goes on
# that was begun when another one decided.
unsaid() {
	run "$1" --set "metrics=$2" --set 'checkpoint={every: null}' --set schedule=constant --set train.steps="$3"
}
unsaid runs/first '[recall, top_2, accuracy]' 6
says out "best validation: top_2"
unsaid runs/rate '[recall]' 6
says out "best validation: loss"
run runs/before --set 'metrics=[accuracy, top_2]' --set checkpoint.metric=top_2 --set train.steps=3 --set schedule=constant
run runs/before --resume --set 'metrics=[accuracy, top_2]' --set 'checkpoint={every: null}' --set train.steps=6 --set schedule=constant
says err "'accuracy' decides what is best from now on, no longer 'top_2': the best so far is forgotten"
says out "best validation: accuracy"
run runs/before --resume=best --set 'metrics=[accuracy, top_2]' --set 'checkpoint={every: null}' --set train.steps=9 --set schedule=constant
run runs/none --set checkpoint.keep.best=0
[ "$(versions runs/none)" = "27 " ] || fail "checkpoint.keep.best is 0, but there are versions $(versions runs/none)"
[ "$(newest_state runs/none)" = "$(newest_state runs/whole)" ] || fail "saving the best changes bits"

begin "a damaged version is named, and the next one used"
run runs/damaged --set checkpoint.keep.best=3
for f in runs/damaged/checkpoints/packs/*"0$step"-*.pack; do
	printf x | dd of="$f" bs=1 seek=60 conv=notrunc 2>/dev/null
done
expect 0 "$train" --evaluate --resume=best --set run.dir=runs/damaged config.yaml
says err "is damaged and skipped"
run runs/cut --set checkpoint.every.steps=9 --set checkpoint.keep.last=3
cut=$(ls runs/cut/checkpoints/packs/*27-* | tail -n 1)
truncate -s 100 "$cut"
expect 0 "$train" --resume --set run.dir=runs/cut --set checkpoint.every.steps=9 config.yaml
[ "$(grep -c "$(basename "$cut").*the checkpoints go on without this pack" err)" -eq 1 ] || { cat err; fail "a damaged pack is not reported once"; }

begin "mistakes"
# mistake KEY=VALUE TEXT
mistake() {
	expect 78 "$train" --check --set "$1" config.yaml
	says err "$2"
}
mistake checkpoint.metric=mean_iou "metric 'mean_iou' is not among 'metrics'"
mistake data.validation=null "the schedule 'plateau' goes by validations, but 'data.validation' is not given"
mistake train.validate.epochs=0 "the schedule 'plateau' goes by validations, but 'train.validate' asks for none"
expect 78 "$train" --check --set schedule=constant --set train.patience=2 --set data.validation=null config.yaml
says err "'patience' counts validations, but 'data.validation' is not given"

if has_ranks; then
	on_two() {
		dir=$1
		shift
		expect 0 on_ranks 2 "$train" --set run.dir="runs/$dir" --set train.global_batch_size=4 --set train.batch_size=null \
			--set train.patience=3 --set train.epochs=12 "$@" config.yaml
	}
	on_two ranks
	says out "best validation: loss"
	on_two ranks-stop --set train.steps=7
	on_two ranks-stop --resume
	[ "$(newest_state runs/ranks)" = "$(newest_state runs/ranks-stop)" ] || fail "two ranks: other bits"
	expect 0 on_ranks 2 "$train" --evaluate --resume=best --set run.dir=runs/ranks config.yaml
	says out '"loss"'
fi
pass
