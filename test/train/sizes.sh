#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Samples of several sizes are trained on as they are, in batches of one size each: with the losses of one rank on two, with
# the gradient of an ordinary training at each step, and with the same bits after a kill.
. "${DLX_SOURCE:?}/test/lib.sh"
export OMP_NUM_THREADS=1

digits s16 16 7 1000 --channel-names x --ignore 9
digits s24 24 5 1000 --channel-names x --ignore 9
digits s8 8 3 1000 --channel-names x --ignore 9
digits s18 18 2 1000 --channel-names x --ignore 9
cat >sizes.yaml <<'END'
run: {name: sizes, dir: runs/sizes, seed: 3}
model:
  family: layers
  layers:
    - conv2d: {filters: 6, kernel: 3, padding: same}
    - relu
    - max_pool: 2
    - conv2d: {filters: 8, kernel: 3, padding: same}
    - relu
    - conv_transpose2d: {filters: 2, kernel: 2, stride: 2}
data:
  train: [s16.dlx, s24.dlx, s8.dlx]
  transforms: [{cast: 100}]
loss: {type: softmax_cross_entropy}
metrics: [accuracy]
optimizer: {type: sgd, learning_rate: 0.05, momentum: 0.9}
schedule: {type: constant}
train: {epochs: 3, batch_size: 2}
report: {progress: lines, every: 1}
END

run() {
	"$train" --set run.dir="runs/$name" "$@" sizes.yaml
}
# of NAME: the numbers of a run.
losses() {
	sed -n 's/.*"type": "step".*"loss": \([^,]*\),.*/\1/p' "runs/$1/metrics.jsonl"
}
export_of() {
	expect 0 "$train" --set run.dir="runs/$1" --export "$1.safetensors" sizes.yaml
}

begin "the sizes are printed"
expect 0 "$train" --check sizes.yaml
says out 'data          15 training samples, of 3 sizes, 9 batches an epoch'
says out 'input         2x1x24x24 '
says out 'batches of one size each: 24 x 24 (5 samples, 3 batches); 16 x 16 (7 samples, 4 batches); 8 x 8 (3 samples, 2 batches); cast'
says out ', for the largest samples; 2 more for the other sizes'
! grep -q 'fewer than a batch' err || fail "a warning of full batches"
expect 0 "$train" --check --set train.batch_size=4 sizes.yaml
says err 'of 1 of the 3 sizes of training samples there are fewer than a batch of 4: their batches are short'
whole=$(sed -n 's/^host memory *\([^ ]* [^ ]*\) for the whole run.*/\1/p' out)
expect 0 "$train" --check --set data.train=s24.dlx sizes.yaml
[ "$whole" != "$(sed -n 's/^host memory *\([^ ]* [^ ]*\) for the whole run.*/\1/p' out)" ] ||
	fail "the memory of the other plans is not counted"
expect 0 "$train" --check --set data.keep_short_batch=false sizes.yaml
says out '24 x 24 (5 samples, 2 batches); 16 x 16 (7 samples, 3 batches); 8 x 8 (3 samples, 1 batch); an epoch leaves out 3 samples, which fill no batch'
expect 0 "$train" --plan=json sizes.yaml
says out '"training": {"windows": false, "size": [24, 24], "padded": [24, 24], "samples": 5, "batches": 3, "further": [{"windows": false, "size": [16, 16], "samples": 7, "batches": 4}, {'
find_python3
"$python3" -c 'import json, sys; json.load(open("out"))' || fail "no JSON"

begin "an epoch has every sample once"
# What fills no batch is left out if requested.
name=all
expect 0 run --set 'data.validation=[s16.dlx, s8.dlx]'
says out 'batches of one size each: 24 x 24 (5 samples, 3 batches); 16 x 16'
[ "$(losses all | wc -l)" = 27 ] || fail "not nine steps an epoch"
says runs/all/metrics.jsonl '"samples": 45,'
says runs/all/metrics.jsonl '"size": [24, 24]'
says runs/all/metrics.jsonl '"size": [8, 8]'
losses all | awk 'NR <= 9 { first += $1 } NR > 18 { last += $1 } END { exit !(last < 0.99 * first) }' || fail "nothing is learned"
name=dropping
expect 0 run --set data.keep_short_batch=false
[ "$(losses dropping | wc -l)" = 18 ] || fail "not six steps an epoch"
says runs/dropping/metrics.jsonl '"samples": 36,'

begin "the largest size fills no batch"
name=few
expect 0 run --set data.keep_short_batch=false --set train.batch_size=6
[ "$(losses few | wc -l)" = 3 ] || fail "not one step an epoch"

begin "resumed in the middle of an epoch, or killed: the same bits"
name=resumed
expect 0 run --set train.steps=13
expect 78 run --resume --set train.batch_size=3
says err 'goes on within an epoch only with the'
expect 78 run --resume --set train.accumulate=2
says err 'was made with train.accumulate 1, this run has 2'
expect 0 run --resume
losses all >all.losses
losses resumed | cmp - all.losses || fail "the losses of a resumed run are others"
[ "$(newest_state runs/all)" = "$(newest_state runs/resumed)" ] || fail "the state of a resumed run is another"
for mixed in null 0.4; do
	name=whole-$mixed
	expect 0 run --set data.mixup=$mixed --set train.epochs=40
	name=killed-$mixed
	"$train" --set run.dir="runs/$name" --set data.mixup=$mixed --set train.epochs=40 --set checkpoint.every.steps=4 sizes.yaml >out 2>err &
	pid=$!
	reached "runs/$name/metrics.jsonl" '"type": "checkpoint"' $pid
	stop $pid KILL
	expect 0 run --set data.mixup=$mixed --set train.epochs=40 --resume
	[ "$(newest_state runs/whole-$mixed)" = "$(newest_state runs/$name)" ] || fail "the state of a killed run is another"
done

begin "one step of a batch of each size is the step of an ordinary training on those samples, also in micro-batches"
plain="--set optimizer.momentum=0 --set train.batch_size=8 --set data.train=[s16.dlx,s24.dlx]"
expect 0 "$train" $plain --dump-step step sizes.yaml
first=s16 second=s24
grep -qaF '[5,1,24,24]' step/inputs.safetensors && first=s24 second=s16
expect 0 "$train" $plain --set data.train=$first.dlx --dump-step alone sizes.yaml
weights_close step/gradients.safetensors alone/gradients.safetensors 1e-6 || fail "gradients"
weights_close step/parameters.safetensors alone/parameters.safetensors 1e-6 || fail "parameters"
name=both
expect 0 run $plain --set train.epochs=1
export_of both
name=one
expect 0 run $plain --set data.train=$first.dlx --set train.epochs=1
export_of one
name=other
expect 0 run $plain --set data.train=$second.dlx --set train.epochs=1 --set model.init_from=one.safetensors
export_of other
weights_close both.safetensors other.safetensors 1e-6 || fail "two steps are not those of two trainings"
name=micro
expect 0 run $plain --set train.epochs=1 --set train.batch_size=2 --set train.accumulate=4
[ "$(losses micro | wc -l)" = 2 ] || fail "a step has not one size"
export_of micro
weights_close both.safetensors micro.safetensors 1e-6 || fail "micro-batches"

begin "what cannot be trained on is refused, with a remedy"
expect 78 "$train" --check --set train.batch_size=1 --set train.global_batch_size=4 --set parallel.reproducible=true sizes.yaml
says err "'reproducible' is not possible with samples of several sizes"
says err "'- crop: {size: ...}' takes windows of one size"
expect 78 "$train" --check --set parallel.gradient_lag=1 sizes.yaml
says err "'gradient_lag' is not possible with samples of several sizes"
expect 78 "$train" --check --set model.input.channels=1 --set 'model.input.size=[24, 24]' sizes.yaml
says err "'model.input' names one size: leave 'size' out"
many=
for side in $(seq 1 34); do
	printf "\\0\\0\\010\\003\\0\\0\\0\\001\\0\\0\\0\\$(printf %03o "$side")\\0\\0\\0\\001" >many.idx
	head -c "$side" /dev/zero >>many.idx
	expect 0 "$convert" -q -f idx --input many.idx --target many.idx --channel-names x --class-names none,some -o many$side.dlx
	many="$many${many:+, }many$side.dlx"
done
expect 65 "$train" --check --set "data.train=[$many]" sizes.yaml
says err 'training samples have 34 sizes, each of which needs a plan of its own; the limit is 33'
two='[s16.dlx, s18.dlx]'
deep='[{conv2d: {filters: 6, kernel: 3, padding: same}}, {max_pool: 4}, {conv_transpose2d: {filters: 2, kernel: 4, stride: 4}}]'
expect 78 "$train" --check --set "data.train=$two" --set "model.layers=$deep" sizes.yaml
says err "extents that are multiples of 4 fit: '- pad: 4' makes them so"
expect 0 "$train" --check --set "data.train=$two" --set "model.layers=$deep" --set 'data.transforms=[{pad: 4}]' sizes.yaml
says out '20 x 20 (2 samples, 1 batch)'
name=padded
expect 0 run --set "data.train=$two" --set "model.layers=$deep" --set 'data.transforms=[{pad: 4}]'

begin "with a loss of the whole image, dense layers see one size alone"
printf '\0\0\010\001\0\0\0\003\0\001\0' >label3.idx
printf '\0\0\010\001\0\0\0\002\001\0' >label2.idx
expect 0 "$convert" -q -f idx --input s8.idx --target label3.idx --channel-names x --class-names none,some -o c8.dlx
expect 0 "$convert" -q -f idx --input s18.idx --target label2.idx --channel-names x --class-names none,some -o c18.dlx
classes="--set data.train=[c8.dlx,c18.dlx]"
name=classes
expect 0 run $classes --set 'model.layers=[{conv2d: {filters: 4, kernel: 3, padding: same}}, batch_norm, relu, global_average, {dense: 2}]'
expect 78 "$train" --check $classes --set 'model.layers=[{conv2d: {filters: 4, kernel: 3, padding: same}}, flatten, {dense: 2}]' sizes.yaml
says err "the network takes samples of one size alone"
says err "'- crop: {size: ...}' takes windows of one size"

begin "ranks have the same size at each step: short batches of which a rank has nothing, too"
if has_ranks; then
	each="--set train.batch_size=null --set train.global_batch_size=6"
	for n in 1 2 3; do
		for adam in "" "--set train.accumulate=2"; do
			dir=ranks$n${adam:+-micro}
			expect 0 on_ranks $n "$train" --set run.dir=runs/$dir $each $adam sizes.yaml
			export_of $dir
			losses $dir >$dir.losses
			paste ranks1${adam:+-micro}.losses $dir.losses | awk '
				{ d = $1 - $2; if (d < 0) d = -d; if (!(d <= 2e-5 * $1)) { print NR, $0; bad = 1 } }
				END { exit bad || NR < 9 }' || fail "losses of $n ranks differ"
			weights_close ranks1${adam:+-micro}.safetensors $dir.safetensors 5e-5 || fail "weights of $n ranks"
		done
	done
	expect 0 on_ranks 2 "$train" --set run.dir=runs/stopped $each --set train.steps=4 sizes.yaml
	expect 0 on_ranks 2 "$train" --set run.dir=runs/stopped $each --resume sizes.yaml
	losses stopped | cmp - ranks2.losses || fail "the losses of two resumed ranks are others"
fi
pass
