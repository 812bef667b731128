#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Whole training steps of small networks with the GPU backend, its device code run on the host: loss, outputs, gradients and the
# parameters after the update against the CPU's, in float32 and in 16 bits. Then a training run, whose steps are one recording replayed, stopped and resumed.
# limit: 15 minutes
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
compare=$DLX_BUILD/test/gpu/compare_steps
ln -s "$DLX_SOURCE"/test/train/*.yaml "$DLX_SOURCE"/test/train/zoo/*.yaml .

# dump DEVICE TYPE NAME INPUT CLASSES [OPTION...]: a step as files
dump() {
	device=$1 type=$2 name=$3 input=$4 classes=$5
	shift 5
	program=$train
	[ "$device" = cuda ] && program=$emulated
	expect 0 "$program" --device="$device" --synthetic --dump-step="$name-$device-$type" --set "model.input=$input" \
		--set "model.classes=$classes" ${seed:+--set run.seed=$seed} --set train.batch_size=2 --set "precision.compute=$type" \
		--set precision.allow_emulation=true "$@" "$name.yaml"
}

# seed: of the network in the next ones: of deep ones of few values, a ReLU's input that is zero but for rounding would tell a GPU from a CPU.
# step NAME INPUT CLASSES TYPE...: the CPU's step and the GPU's. fp16, which no CPU computes in, is compared with f32. In 16 bits
# all tensors of a file count as one. loose: the tolerance of 16 bits for a network in which one rounding more or less shows, as where
# batch norms have two values.
step() {
	n=$1 i=$2 c=$3
	shift 3
	dump cpu f32 "$n" "$i" "$c"
	for t; do
		like=$t all=-a tolerance=${loose:-2e-2}
		[ "$t" = f32 ] && all= tolerance=2e-3
		[ "$t" = fp16 ] && like=f32
		[ -d "$n-cpu-$like" ] || dump cpu "$like" "$n" "$i" "$c"
		dump cuda "$t" "$n" "$i" "$c"
		# shellcheck disable=SC2086
		"$compare" $all -t $tolerance "$n-cpu-$like" "$n-cuda-$t" || fail "the GPU's step of $n in $t is another one"
	done
}
halves='bf16 fp16'
"$train" --device=cpu --synthetic --dump-step=probe --set precision.compute=bf16 --set precision.allow_emulation=true \
	--set 'model.input={channels: 2, size: [12, 16]}' --set model.classes=3 --set train.batch_size=1 tiny.yaml >/dev/null 2>&1 ||
	halves=fp16
step tiny '{channels: 2, size: [12, 16]}' 3 f32 $halves
step tiramisu-small '{channels: 4, size: [8, 12]}' 3 f32 $halves
loose=2e-1
step deepcam-mlperf-small '{channels: 4, size: [32, 32]}' 3 f32 ${halves%fp16}
loose=
seed=2
step deeplabv3+-sc18-small '{channels: 4, size: [32, 32]}' 3 f32
seed=
step unet3d-lits-small '{channels: 1, size: [16, 16, 16]}' 3 f32
step cosmoflow-mlperf-small '{channels: 4, size: [32, 32, 32]}' 4 f32 $halves
"$compare" -t 1e-9 tiny-cpu-f32 deepcam-mlperf-small-cpu-f32 && fail "two different steps count as one"

# Dense blocks whose channels come in packs of 16 bytes: forward convolutions read and write windows where they are, and what dropout makes
# is a window in 16 bits as in float32; without chains, windows are packed as before.
sed 's/growth: 6/growth: 16/; s/initial_filters: 8/initial_filters: 48/; s/dropout: 0/dropout: 0.2/; s/^run:.*/run: {name: wide, seed: 5}/' \
	tiramisu-small.yaml >wide.yaml
wide='{channels: 4, size: [8, 12]}'
step wide "$wide" 3 f32 $halves
sed 's/dropout: 0.2/dropout: 0/' wide.yaml >undropped.yaml
step undropped "$wide" 3 f32 $halves
windows() {
	expect 0 "$emulated" --device=cuda --plan --dump=sched --set "precision.compute=$2" --set precision.allow_emulation=true \
		--set "model.input=$wide" --set model.classes=3 --set train.batch_size=2 --set data.validation=null "$1.yaml"
	pieces=$(awk '$3 ~ /^concat/ { n += gsub(/ slice/, "") } END { print n + 0 }' out)
	expect 0 "$emulated" --device=cuda --plan --set "precision.compute=$2" --set precision.allow_emulation=true \
		--set "model.input=$wide" --set model.classes=3 --set train.batch_size=2 --set data.validation=null "$1.yaml"
	windows=$(grep -c ', windows' out)
}
for t in f32 ${halves##* }; do
	windows wide "$t"
	[ "$pieces" -eq "${in_f32:=$pieces}" ] || fail "$pieces pieces of concats in $t are windows, $in_f32 in f32"
	windows undropped "$t"
	[ "$t" = f32 ] || [ "$(grep -c ' narrow$' out)" -ge 6 ] || fail "$(grep -c " narrow$" out) convolutions in $t are made by dlx's kernel"
	DLX_DEBUG=$(debug way=windows)
	windows undropped "$t"
	[ "$windows" -ge 10 ] || fail "$windows convolutions in $t leave windows where they are"
	DLX_DEBUG=$(debug skip=chains)
	windows undropped "$t"
	DLX_DEBUG=$(debug skip=nothing,way=ours)
	[ "$windows" -eq 0 ] || fail "$windows convolutions without chains leave windows where they are"
done

# Norms within a sample, smooth activations, softmax and means of windows.
cat >smooth.yaml <<-'END'
	run: {name: smooth, seed: 3}
	model:
	  family: layers
	  layers:
	    - conv2d: {filters: 12, kernel: 3, padding: same, activation: gelu}
	    - group_norm: 4
	    - conv2d: {filters: 10, kernel: 3, padding: same, activation: silu}
	    - layer_norm
	    - conv2d: {filters: 8, kernel: 3, padding: same, bias: false}
	    - instance_norm
	    - elu: 0.5
	    - adaptive_average_pool: [5, 7]
	    - softmax
	    - resize: [12, 14]
	    - conv2d: {filters: 3, kernel: 1}
	data: {train: none.dlx, validation: none.dlx}
	loss: softmax_cross_entropy
	optimizer: {type: sgd, learning_rate: 0.05}
	train: {steps: 1, batch_size: 2}
END
step smooth '{channels: 4, size: [12, 14]}' 3 f32 $halves

# Losses of their own kernels.
loose=5e-2
for loss in '{type: softmax_cross_entropy, label_smoothing: 0.2}' '{type: dice, squared: true}' \
	'{type: dice_cross_entropy, per_batch: true, class_weights: [1, 2, 3]}' '{type: binary_cross_entropy, positive_weight: 2}' \
	'{type: huber, delta: 0.5, mask: nan, output_weights: [1, 2, 3]}'; do
	losses=${losses:-0}+
	sed "s/^run: .*/run: {name: loss, seed: 3}/; s/^loss: .*/loss: $loss/" smooth.yaml >"loss-${#losses}.yaml"
	step "loss-${#losses}" '{channels: 4, size: [12, 14]}' 3 f32 $halves
done
loose=

# Norms fused into the convolutions that read them, in fp16: as on the CPU in float32, and as with the norms stored.
cat >norms.yaml <<-'END'
	run: {name: norms, seed: 3}
	model:
	  family: layers
	  layers:
	    - conv2d: {filters: 16, kernel: 3, padding: same, bias: false}
	    - batch_norm
	    - relu
	    - conv2d: {filters: 24, kernel: 3, padding: same, bias: false}
	    - batch_norm
	    - relu
	    - conv2d: {filters: 16, kernel: 1, bias: false}
	    - batch_norm
	    - relu
	    - conv2d: {filters: 8, kernel: 1, bias: false}
	    - batch_norm
	    - relu
	data: {train: none.dlx, validation: none.dlx}
	loss: softmax_cross_entropy
	optimizer: {type: sgd, learning_rate: 0.05}
	train: {steps: 1, batch_size: 2}
	precision: {deterministic: false}
END
norms='{channels: 3, size: [24, 20]}'
folded() {
	expect 0 "$emulated" --device=cuda --plan --set precision.compute="$1" --set "model.input=$norms" --set model.classes=8 \
		--set train.batch_size=2 --set data.validation=null norms.yaml
	n=$(awk '$3 == "norm_conv_grad_weight" || $3 == "conv_grad_input_norm" { n += / whole/ } END { print n + 0 }' out)
	[ "$n" -eq "$2" ] || fail "$n nodes around norms in $1, expected $2"
}
folded fp16 6
folded f32 0
sed -i 's/deterministic: false/deterministic: true/' norms.yaml
folded fp16 0
sed -i 's/deterministic: true/deterministic: false/' norms.yaml
loose=5e-2
step norms "$norms" 8 fp16
loose=
mv norms-cuda-fp16 norms-folded
DLX_DEBUG=$(debug skip=chains)
folded fp16 0
dump cuda fp16 norms "$norms" 8
DLX_DEBUG=$(debug skip=nothing)
"$compare" -a -t 5e-2 norms-cuda-fp16 norms-folded || fail "norms that are not stored make another step"
"$compare" -a -t 1e-6 norms-cuda-fp16 norms-folded >/dev/null && fail "norms are stored"

# Depthwise convolutions by dlx's kernels read norms that are not stored, with whatever follows the norm. The outputs are the same to the
# last bit, and each gradient is near the one that is made with norms stored.
cat >apart.yaml <<-'END'
	run: {name: apart, seed: 3}
	model:
	  family: layers
	  layers:
	    - conv2d: {filters: 40, kernel: 3, padding: same, bias: false}
	    - batch_norm
	    - relu
	    - conv2d: {filters: 40, kernel: 3, groups: 40, padding: same, bias: false}
	    - conv2d: {filters: 72, kernel: 1, bias: false}
	    - batch_norm
	    - conv2d: {filters: 72, kernel: 3, groups: 72, stride: 2, padding: same, bias: false}
	    - conv2d: {filters: 48, kernel: 1, bias: false}
	    - batch_norm
	    - leaky_relu: 0.2
	    - conv2d: {filters: 48, kernel: 3, groups: 48, dilation: 2, padding: same, bias: false}
	    - conv2d: {filters: 8, kernel: 1}
	data: {train: none.dlx, validation: none.dlx}
	loss: mse
	optimizer: {type: sgd, learning_rate: 0.05}
	train: {steps: 1, batch_size: 2}
END
apart() {
	expect 0 "$emulated" --device=cuda --plan --set precision.compute="$1" --set "model.input=$norms" --set model.classes=8 \
		--set train.batch_size=2 --set data.validation=null apart.yaml
	n=$(awk '$3 ~ /^norm_conv/ || $3 == "conv_grad_input_norm" { n += /3x3 depthwise, whole/ } END { print n + 0 }' out)
	[ "$n" -eq "$2" ] || fail "$n nodes around norms before depthwise convolutions in $1, expected $2"
}
apart f32 0
for t in $halves; do
	apart "$t" 9
	step apart "$norms" 8 "$t"
	mv "apart-cuda-$t" apart-folded
	DLX_DEBUG=$(debug skip=chains)
	apart "$t" 0
	dump cuda "$t" apart "$norms" 8
	DLX_DEBUG=$(debug skip=nothing)
	"$compare" -a -t 1e-2 "apart-cuda-$t" apart-folded || fail "norms before depthwise convolutions that are not stored make another step"
	cmp "apart-cuda-$t/outputs.safetensors" apart-folded/outputs.safetensors || fail "the outputs in $t are other ones"
	rm -r apart-folded
done

# An update of hundreds of tensors is a few launches, as that of all running statistics is, and writes the weights in 16 bits too; under a
# limit of memory they are cast in the step, to the same bits.
launches() { awk -v name="$2" '$1 == name { n = $2 } END { print n + 0 }' "$1"; }
small='{channels: 4, size: [32, 32]}'
for limit in null 64GiB; do
	DLX_EMULATE_LAUNCHES=$PWD/launches dump cuda fp16 deepcam-mlperf-small "$small" 3 --set "train.memory.limit=$limit"
	rm -rf "deepcam-$limit"
	mv deepcam-mlperf-small-cuda-fp16 "deepcam-$limit"
	for kernel in descend ema_update; do
		n=$(launches launches $kernel)
		[ "$n" -ge 1 ] && [ "$n" -le 4 ] || fail "$n launches of '$kernel'"
	done
	"$emulated" --device=cuda --plan --dump=sched --set "train.memory.limit=$limit" --set precision.compute=fp16 \
		--set "model.input=$small" --set model.classes=3 --set train.batch_size=2 --set data.train=none.dlx \
		--set data.validation=null --set 'data.transforms=[]' deepcam-mlperf-small.yaml >sched
	n=$(grep -c ' weight_copy{}' sched)
	if [ "$limit" = null ]; then [ "$n" -gt 40 ]; else [ "$n" -eq 0 ]; fi || fail "limit $limit: $n weights that the update casts"
	# Weights have the layout that is read, and in 16 bits none is cast or reordered in a step.
	n=$(grep -c -E ' reorder\{[^}]*\} \(%[0-9]+ [^ ]*\.weight ' sched) casts=$(grep -c -E ' cast\{[^}]*\} \(%[0-9]+ [^ ]*\.weight ' sched)
	[ "$n" -eq 0 ] || fail "limit $limit: $n weights are reordered in a step"
	if [ "$limit" = null ]; then [ "$casts" -eq 0 ]; else [ "$casts" -gt 40 ]; fi || fail "limit $limit: $casts weights are cast in a step"
done
"$compare" -t 0 deepcam-null deepcam-64GiB || fail "weights that the update casts are other ones"

# Depthwise convolutions are our kernels', or cuDNN's if requested.
for skipped in nothing depthwise; do
	DLX_DEBUG=$(debug skip=$skipped)
	n=$("$emulated" --device=cuda --plan --set precision.compute=fp16 --set "model.input=$small" --set model.classes=3 \
		--set train.batch_size=2 --set data.train=none.dlx --set data.validation=null --set 'data.transforms=[]' \
		deepcam-mlperf-small.yaml | grep -c '3x3 depthwise')
	if [ $skipped = nothing ]; then [ "$n" -gt 40 ]; else [ "$n" -eq 0 ]; fi || fail "$n convolutions are our depthwise kernels' with skip=$skipped"
done
DLX_DEBUG=$(debug skip=nothing)

# Engines: the first allowed proposal; with wisdom the fastest one, measured once and known from then on; one that is not
# deterministic only if requested.
tiny='{channels: 2, size: [12, 16]}'
for w in 1 2; do
	dump cuda f32 tiny "$tiny" 3 --wisdom engines
	cp engines "engines-$w"
	"$compare" -t 2e-3 tiny-cpu-f32 tiny-cuda-f32 || fail "the step is another one with other engines"
done
cmp engines-1 engines-2 || fail "what is known is measured again"
grep -q 'a4:eng44' engines || fail "the fastest engine that is allowed is not taken"
sed 's/a4:eng44/a3:eng43/' engines-1 >engines
dump cuda f32 tiny "$tiny" 3 --wisdom engines
grep -q 'a4:eng44' engines && fail "wisdom is not gone by"
dump cuda f32 tiny "$tiny" 3 --wisdom loose --set precision.deterministic=false
grep -q 'a1:eng41' loose || fail "an engine that may be taken is not"
dump cuda f32 tiny "$tiny" 3 --wisdom rounding --set precision.tf32=true
grep -q 'eng45' rounding && fail "an engine that makes 16 bits of 32 is taken for TF32"
echo nonsense >engines
expect 65 "$emulated" --device=cuda --synthetic --dump-step=no --wisdom engines --set "model.input=$tiny" \
	--set model.classes=3 --set train.batch_size=2 tiny.yaml
grep -q 'engines:1:.*wisdom' err || fail "the line that is no wisdom is not named"

# The same of matrix products, of whose algorithms the second fails.
products() { dump cuda f32 cosmoflow-mlperf-small '{channels: 4, size: [32, 32, 32]}' 4 --wisdom products; }
for w in 1 2; do
	products
	cp products "products-$w"
	"$compare" -t 2e-3 cosmoflow-mlperf-small-cpu-f32 cosmoflow-mlperf-small-cuda-f32 ||
		fail "the step is another one with other products"
done
cmp products-1 products-2 || fail "products that are known are measured again"
[ "$(grep '^product' products | grep -vc '2:algo22')" -eq 0 ] || fail "the fastest product is not taken"
sed 's/2:algo22/3:algo23/' products-1 >products
cp products known
products
cmp known products || fail "products do not go by wisdom"
sed 's/2:algo22/2:algo99/' products-1 >products
products
grep '^product' products | grep -q '2:algo22' || fail "an algorithm that is not proposed is not measured anew"

# The rates that a profile refers to are those of the emulated GPU, with and without TF32.
for tf32 in false true; do
	expect 0 "$emulated" --device=cuda --synthetic --bench=1 --profile --set "model.input=$tiny" \
		--set model.classes=3 --set train.batch_size=1 --set precision.tf32=$tf32 tiny.yaml
	grep -q '"device_used": [1-9][0-9]*, "host_median": [0-9.]*, "step_queued": [0-9]*\.[0-9]*[1-9]' out || fail "the line lacks the GPU's numbers"
	sed -n 's/.*"rates": {"bytes": \([^,]*\), "f32": \([^,]*\), "bf16": \([^}]*\)}.*/\1 \2 \3/p' out |
		awk '$1 > 0.99e12 && $1 < 1.01e12 && $2 > 0.99e12 && $2 < 1.01e12 && $3 > 1.98e12 && $3 < 2.02e12 { ok = 1 }
			END { exit !ok }' || fail "rates are not what they should be"
done

coads_data
trained() {
	"$emulated" --device=cuda --set 'data.transforms=[{crop: {size: [10, 14]}}]' --set train.batch_size=2 --set train.accumulate=2 \
		--set train.clip_norm=1.0 "$@" tiny.yaml
}
run() {
	dir=$1
	shift
	expect 0 trained --set run.dir="$dir" "$@"
}
run whole --set train.steps=3
run stop --set train.steps=1
run stop --set train.steps=3 --resume
[ "$(newest_state whole)" = "$(newest_state stop)" ] || fail "stopped and resumed: other bits than the whole run"
# In fp16 with a scale that overflows at first: steps are left out, and the run goes on.
half() {
	run "$@" --set train.steps=4 --set precision.compute=fp16 \
		--set 'precision.loss_scale={type: dynamic, start: 6.338253001141147e+29, most: 1.0e+30, factor: 65536}'
}
half half
half anew --set train.memory.limit=64GiB
[ "$(newest_state half)" = "$(newest_state anew)" ] || fail "weights in fp16 that updates write give other bits"
# Batch norms in fp16 that are computed again.
set -- --set precision.compute=fp16 --set train.steps=3
run plain "$@"
expect 78 trained "$@" --set train.memory.limit=1KiB
limit=$(least_limit)
[ "$limit" ] || { cat err; fail "no limit is offered in fp16"; }
run again "$@" --set train.memory.limit="$limit"
same_run plain again
pass
