#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# With --wisdom the ways in which a convolution and what belongs to it can be made are measured against each other as wholes: one graph of
# cuDNN's, in windows or packed; its convolution and kernels of dlx's; a kernel of dlx's alone. The file has the choice, by which later
# runs go without measuring. Where there is no time left, and without the option, it is the first of them that is there.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
# Of rows of 8 pixels dlx's kernels for few channels take no convolution.
cat >net.yaml <<-'END'
	run: {name: ways, seed: 3}
	model:
	  family: layers
	  input: {channels: 8, size: [12, 8]}
	  classes: 5
	  layers:
	    - conv2d: {filters: 8, kernel: 3, padding: same, name: first}
	    - relu: {name: activated}
	    - conv2d: {filters: 8, kernel: 3, padding: same, name: window}
	    - concat: {inputs: [activated, window], name: joined}
	    - conv2d: {filters: 16, kernel: 1, bias: false, name: counted}
	    - batch_norm
	    - relu
	    - conv2d: {filters: 16, kernel: 3, padding: same, bias: false, name: normed}
	    - batch_norm
	    - relu
	    - conv2d: {filters: 16, kernel: 3, padding: same, groups: 16, bias: false, name: depthwise}
	    - conv2d: {filters: 5, kernel: 1, name: last}
	data: {train: none.dlx, validation: none.dlx, transforms: []}
	loss: softmax_cross_entropy
	optimizer: {type: sgd, learning_rate: 0.05}
	train: {steps: 1, batch_size: 2}
	precision: {compute: fp16, deterministic: false}
END
export DLX_FAKE_CUDNN_COMPILED=compiled

# plan OPTION...: what each convolution is made by goes into `plan`.
plan() {
	rm -f compiled
	expect 0 capped "$emulated" --device=cuda --plan "$@" net.yaml
	cp out plan
}
# ways FILE: which are chosen there, each once.
ways() {
	grep '^way ' "$1" | cut -f 4 | sort -u | tr '\n' ' '
}
# made WORDS: how many nodes of the plan are made so.
made() {
	grep -c "cudnn:.*, $1" plan
}

# A chain of cuDNN's is as fast as the convolution alone, and each kernel of dlx's takes time.
export DLX_EMULATE_KERNEL=3
plan
cp plan first
whole=$(made whole) parts=$(made 'then a kernel')
[ "$whole" -gt 3 ] && [ "$parts" -le 2 ] || { cat plan; fail "$whole chains and $parts in parts, where nothing is measured"; }
grep -q '3x3 depthwise' plan || fail "no kernel of dlx's for the depthwise convolution"
plan --wisdom fast
# Statistics are in parts where nothing is measured.
[ "$(made whole)" = $((whole + 1)) ] || fail "$(made whole) chains instead of $((whole + 1))"
[ "$(ways fast)" = 'ours whole windows ' ] || fail "other ways are chosen: $(ways fast)"
cp fast before
plan --wisdom fast
cmp before fast || fail "a second run measures"
[ ! -e compiled ] || fail "a second run compiles"
sed 1d fast | grep -v '^product ' | cut -f 2,3 | sort -u >keys
[ "$(wc -l <keys)" = 1 ] || { cat keys; fail "ways are kept for another device or library than engines"; }

# One run after the first shows that a way is slow, where the one before it was measured.
trials() {
	grep -v '^way ' fast >known
	rm -f used
	DLX_FAKE_CUDNN_CHAINS=$1 DLX_FAKE_CUDNN_LOG=used plan --wisdom known
	trials=$(grep -c . used)
}
trials 3
all=$trials
trials 1000
[ "$trials" -gt 0 ] && [ "$trials" -lt "$all" ] || fail "slow ways are tried $trials times, others $all times"

# Engines of chains that lose more than the pass that they save: the parts are taken, and by the next run too.
export DLX_FAKE_CUDNN_CHAINS=60
plan --wisdom slow
[ "$(made whole)" -eq 0 ] || { cat plan; fail "$(made whole) chains, which are slower"; }
[ "$(made 'then a kernel')" -gt $((parts + 2)) ] || fail "$(made 'then a kernel') in parts, where chains are slower"
[ "$(ways slow)" = 'ours parts ' ] || fail "other ways are chosen: $(ways slow)"
unset DLX_FAKE_CUDNN_CHAINS
cp plan parts
plan --wisdom slow
cmp plan parts || fail "wisdom is not gone by"
# the file decides, way for way
sed '/^way conv_statistics /s/	parts	/	whole	/' slow >edited
plan --wisdom edited
[ "$(made whole)" -gt 0 ] || fail "a line that names the whole is not gone by"
sed '/^way /s/	parts	/	nonsense	/' slow >edited
plan --wisdom edited
[ "$(made whole)" -gt 0 ] || fail "a line that names no way is not measured again"
sed '/^way /s/, [0-9]* ways	/, 3 ways	/; /^way /s/	parts	/	nonsense	/' slow >edited
cp edited older
plan --wisdom edited
[ "$(grep -c '^way ' edited)" = $((2 * $(grep -c '^way ' older))) ] || fail "what was chosen from fewer ways is not measured again"

# A kernel of dlx's that is slower than cuDNN's engine.
DLX_EMULATE_KERNEL=100 plan --wisdom depthwise
grep -q '3x3 depthwise' plan && fail "dlx's own kernel, which is slower"
grep '^way conv_grad_weight ' depthwise | grep -q '	parts	' || fail "not the engine for depthwise gradients"
DLX_EMULATE_KERNEL=1 plan --wisdom depthwise.fast
[ "$(grep -c '3x3 depthwise' plan)" = "$(grep -c '3x3 depthwise' first)" ] || fail "not dlx's own kernel, which is faster"

# A step with windows that are read and written where they are is the same, up to rounding.
sed 's/^    - .*name: counted}/    - conv2d: {filters: 16, kernel: 1, bias: false, inputs: activated, name: beside}\n    - batch_norm: {name: besides}\n&/
s/name: counted}/inputs: joined, name: counted}/
s/^    - .*name: last}/    - conv2d: {filters: 8, kernel: 1, name: point}\n    - concat: {inputs: [depthwise, besides, point]}\n&/' net.yaml >windows.yaml
step() {
	DLX_DEBUG=$(debug "way=$1") expect 0 capped "$emulated" --device=cuda --quiet --synthetic --set precision.compute=bf16 \
		--dump-step "step-$1" "${2:-windows}.yaml"
}
# cuDNN's graphs leave windows where they are: after a ReLU, a bias, and statistics
DLX_DEBUG=$(debug way=windows) expect 0 capped "$emulated" --device=cuda --plan windows.yaml
for node in 'conv_relu  *first' 'conv  *window' 'conv_statistics  *beside'; do
	grep -q " $node .*, windows\$" out || { cat out; fail "a window is packed: $node"; }
done
step parts
step windows
"$DLX_BUILD/test/gpu/compare_steps" -a -t 2e-2 step-parts step-windows >out || { cat out; fail "a step with windows where they are differs"; }
# ... but where one begins at no multiple of 16 bytes, which cuDNN would refuse
sed '/name: joined}/,/groups: 16/d; s/^    - .*name: window}/    - conv2d: {filters: 4, kernel: 3, padding: same, name: small}\
    - conv2d: {filters: 8, kernel: 3, padding: same, inputs: activated, name: window}\
    - conv2d: {filters: 4, kernel: 3, padding: same, inputs: activated, name: other}\
    - concat: {inputs: [small, window, other]}/' net.yaml >anywhere.yaml
DLX_DEBUG=$(debug way=windows) expect 0 capped "$emulated" --device=cuda --plan anywhere.yaml
grep ' conv  *window .* slice ' out | grep -q ' cudnn:[a-z0-9]*$' || { cat out; fail "a window that is not aligned"; }
step windows anywhere

# No time: the first ones, and no line.
DLX_DEBUG=$(debug measure_seconds=0.000001) DLX_FAKE_CUDNN_CHAINS=60 plan --wisdom none
[ "$(made whole)" = "$whole" ] || fail "$(made whole) chains instead of $whole without time"
[ ! -e none ] || [ -z "$(ways none)" ] || fail "a way without time: $(ways none)"
# ... and the first one alone where the engines of all of them are known, so that only ways are measured.
grep -v '^way ' fast >known
grep '^way ' fast >of-fast
DLX_DEBUG=$(debug measure_seconds=0.000001) plan --wisdom known
[ "$(grep -c '^way ' known)" = 1 ] || fail "in no time $(grep -c '^way ' known) of $(grep -c . of-fast) ways are measured"
# ... whatever is proposed
DLX_DEBUG=$(debug engines=first) DLX_FAKE_CUDNN_CHAINS=60 plan --wisdom none
[ "$(made whole)" = "$whole" ] || fail "$(made whole) chains instead of $whole with the first engines"

pass
