#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The real cuDNN and NVRTC with a stand-in for the driver: plans for a GPU that is not there show the engines that cuDNN compiles, for
# depthwise convolutions too, and keep them for a machine that has one; what is kept is loaded, damaged files are compiled again, and
# what does not compile is not tried twice. Where cuDNN and NVRTC are installed.
. "${DLX_SOURCE:?}/test/lib.sh"
driver=$DLX_BUILD/test/gpu/driver
[ -r "$driver/libcuda.so.1" ] || skip "dlx was built without CUDA"
unset CUDA_VISIBLE_DEVICES
# dlx's own kernels would take the depthwise convolutions.
DLX_DEBUG=$(debug skip=depthwise)
cat >net.yaml <<-'END'
	run: {name: engines, seed: 3}
	model:
	  family: layers
	  input: {channels: 32, size: [24, 24]}
	  classes: 4
	  layers:
	    - conv2d: {filters: 96, kernel: 3, padding: same, name: first}
	    - relu
	    - conv2d: {filters: 96, kernel: 3, padding: same, groups: 96, bias: false, name: depthwise}
	    - conv2d: {filters: 4, kernel: 1, name: last}
	data: {train: none.dlx, validation: none.dlx, transforms: []}
	loss: softmax_cross_entropy
	optimizer: {type: sgd, learning_rate: 0.05}
	train: {steps: 1, batch_size: 4}
	precision: {compute: bf16}
END
# plan WORDS OPTION...: with the stand-in.
plan() {
	words=$1
	shift
	LD_LIBRARY_PATH=$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} DLX_DEBUG=$(debug $words) capped "$train" --gpu=h200 --plan "$@" net.yaml
}
# engine OP LAYER: of the plan in out.
engine() {
	sed -n "s/^ *[0-9]* *[a-z]* *$1 *$2 .*\\(cudnn:[^ ,]*\\).*/\\1/p" out
}

# Without the word a plan is the same on every machine, driver or not.
expect 0 capped "$train" --gpu=h200 --plan net.yaml
mv out without
grep -q 'cudnn:eng' without || skip "no cuDNN that plans for a GPU from its description"
expect 0 plan strict=yes
cmp out without || fail "a driver changes a plan that may not compile"
grep 'conv_relu ' out | grep -q 'cudnn:.*, then a kernel' || fail "an engine for a ReLU that is not compiled"
plain=$(engine conv_grad_weight depthwise)

# With the word and no driver a warning; with the stand-in the engines that will run.
DLX_DEBUG=$(debug engines=first) expect 0 capped "$train" --gpu=h200 --plan net.yaml
says err 'without a driver cuDNN proposes no engines'
expect 0 plan engines=first --dump=sched --wisdom engines
grep -q warning err && { cat err; fail "a warning"; }
[ ! -e engines ] || fail "something was measured"
all=$(ls engines.compiled | wc -l)
[ "$all" -gt 0 ] || /sbin/ldconfig -p | grep -q libnvrtc || skip "no libnvrtc"
[ "$all" -ge 2 ] || fail "$all engines are compiled"
head -qn 1 engines.compiled/* | cut -f 3 | grep -v '^NVIDIA H200 sm_90$' && fail "another name than that of the GPU"
head -qn 1 engines.compiled/* | grep -q '+bias+relu' || fail "no engine for a ReLU"
ls -i --full-time engines.compiled | sort >before
expect 0 plan engines=first --dump=sched --wisdom engines
ls -i --full-time engines.compiled | sort >after
cmp before after || fail "what is there is compiled again"
set -- engines.compiled/*
printf x | dd of="$1" bs=1 seek=900 conv=notrunc 2>dd.log
expect 0 plan engines=first --dump=sched --wisdom engines
ls -i --full-time engines.compiled | sort >after
[ "$(comm -13 before after | grep -c json)" = 1 ] || fail "not the damaged one alone is compiled again: $(comm -13 before after)"
expect 0 plan engines=first --wisdom engines
says out 'with what it compiles at run time'
grep 'conv_relu ' out | grep -q 'cudnn:eng[0-9]*, whole' || fail "the ReLU is not in the convolution"
[ "$(engine conv_grad_weight depthwise)" != "$plain" ] || fail "depthwise convolutions take engine '$plain' still"

# What would be measured there is compiled and kept, too, by every way: that of statistics which is taken only where it is measured.
expect 0 plan engines=measured --wisdom more
[ "$(ls more.compiled | wc -l)" -gt "$(ls engines.compiled | wc -l)" ] || fail "$(ls more.compiled | wc -l) engines to be measured"
sed -i 's/name: first}/bias: false, name: first}\n    - batch_norm/; /- relu/d; /depthwise/d' net.yaml
expect 0 plan engines=measured --wisdom ways --set precision.deterministic=false
head -qn 1 ways.compiled/* | cut -f 2 | grep -q '+statistics ' || fail "no engine for statistics"

# All of a list of networks, as test/gpu/pack carries them.
DLX_CHECK_BENCH=' ' DLX_CHECK_MEMORY=' ' DLX_CHECK_STEPS=resnet-18-small DLX_CHECK_TYPES=bf16 DLX_CHECK_SIZE='[32,32]' \
	expect 0 sh "$DLX_SOURCE/test/gpu/engines" -b "$DLX_BUILD" -j 1 packed
says out "engines: $(ls packed/engines.wisdom.compiled | wc -l) engines for h200"
[ "$(ls packed | tr '\n' ' ')" = 'engines.wisdom engines.wisdom.compiled ' ] || fail "more is packed: $(ls packed)"
# A network that cannot be planned is said and left out; one that is not there ends it.
DLX_CHECK_BENCH=deeplabv3+-sc18:1 DLX_CHECK_MEMORY=' ' DLX_CHECK_STEPS=' ' \
	expect 0 sh "$DLX_SOURCE/test/gpu/engines" -b "$DLX_BUILD" -j 1 packed
says err "'deeplabv3+-sc18:1' cannot be planned"
says out "engines: $(ls packed/engines.wisdom.compiled | wc -l) engines for h200"
DLX_CHECK_BENCH=nothing:2 DLX_CHECK_MEMORY=' ' DLX_CHECK_STEPS=' ' expect 1 sh "$DLX_SOURCE/test/gpu/engines" -b "$DLX_BUILD" -j 1 other
says err "there is no config 'nothing'"
pass
