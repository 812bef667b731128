#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Engines of an emulated GPU are proven before a run uses them, where it is: each kind of fault that a test puts into them is found, named
# and passed over for the next one, which is proven, too; verdicts are kept for later runs, whose engines are chosen by them, and so are
# those that wisdom names; where all are wrong the run ends; ranks pass over the same ones.
. "${DLX_SOURCE:?}/test/lib.sh"
plain=$DLX_DEBUG,way=parts
. "$DLX_SOURCE/test/gpu/lib.sh"
cat >net.yaml <<-'END'
	run: {name: proven, seed: 3}
	model:
	  family: layers
	  input: {channels: 8, size: [8, 12]}
	  classes: 3
	  layers:
	    - conv2d: {filters: 8, kernel: 3, padding: same, name: first}
	    - conv2d: {filters: 16, kernel: 3, stride: 2, padding: same, name: second}
	    - relu
	    - flatten
	    - dense: {units: 3, name: last}
	data: {train: none.dlx, validation: none.dlx}
	loss: softmax_cross_entropy
	optimizer: {type: sgd, learning_rate: 0.05}
	train: {steps: 1, batch_size: 2}
END
fresh() {
	rm -rf cache
	export XDG_CACHE_HOME=$work/cache
}
# step NAME [WORDS OF DLX_DEBUG [OPTION...]]: its numbers are in NAME.
step() {
	to=$1 words=${2:-}
	shift
	[ $# -eq 0 ] || shift
	rm -rf "$to"
	DLX_DEBUG=$plain${words:+,$words} expect "${status_of_step:-0}" capped "$emulated" --device=cuda --synthetic --dump-step="$to" "$@" net.yaml
}
# made OP LAYER: its kernel, by the plan.
made() {
	DLX_DEBUG=$plain expect 0 capped "$emulated" --device=cuda --plan net.yaml
	awk -v op="$1" -v layer="$2" '$3 == op && $4 == layer { print $NF }' out
}
verdicts() {
	[ ! -e cache/dlx/proofs ] || grep -c . cache/dlx/proofs
}
equal() {
	"$DLX_BUILD/test/gpu/compare_steps" -a -t 1e-5 right "$1" >out || { cat out; fail "$1: other numbers"; }
}

# All are right, in each type, and proven once. Two convolutions and a matrix product, with the gradients of which there are.
fresh
[ "$(made conv first)" = cudnn:eng43 ] && says out '7 kernels have not been proven' || { cat out; fail "not the engines that this test is for"; }
step right
[ "$(verdicts)" -eq 7 ] || { cat cache/dlx/proofs; fail "not the 7 kernels are proven"; }
step again
[ "$(verdicts)" -eq 7 ] || fail "the second run proves again"
step tf32 '' --set precision.tf32=true
step bf16 '' --set precision.compute=bf16
step fp16 '' --set precision.compute=fp16
[ "$(verdicts)" -ge 27 ] || fail "other types are not proven: $(verdicts)"
! grep -v ' right$' cache/dlx/proofs || fail "a right engine is called wrong"
DLX_FAKE_CUDNN_VERSION=91500 step version
[ "$(verdicts)" -ge 31 ] || fail "engines of another cuDNN are not proven: $(verdicts)"
fresh
step skipped proof=no
[ -z "$(verdicts)" ] || fail "proof=no proves"

# fault KIND TEXT: of the first engine for convolutions, and for products. The second product is one that fails when it runs.
fault() {
	kind=$1 text=$2
	fresh
	step "$kind" "spoil=$kind:cudnn:a3"
	for op in conv conv_grad_input conv_grad_weight; do
		grep -q "cudnn:a3:eng43 is passed over for $op .*: $text\$" err || { cat err; fail "$kind: $op is not passed over"; }
	done
	equal "$kind"
	[ "$(made conv first)" = cudnn:eng44 ] || fail "$kind: not the next engine, but $(made conv first)"
	says out ": cudnn:a3:eng43, $text"
	! grep -q '^proofs ' out || fail "$kind: the next engine is not proven"
	proven=$(verdicts)
	step "$kind" ''
	says err ": $text"
	[ "$(verdicts)" -eq "$proven" ] || fail "$kind: the second run proves again"
	fresh
	step "$kind" "spoil=$kind:cublaslt:0"
	says err "cublaslt:0:algo20 is passed over for dense 2x384 f32, 3x384 f32, 3 f32: $text"
	says err "cublaslt:1:algo21 is passed over for dense 2x384 f32, 3x384 f32, 3 f32: is refused by its library"
	equal "$kind"
	! grep -q algo21 cache/dlx/proofs || fail "$kind: that a library refused something is kept"
}
fault value 'wrong values'
fault unwritten 'values that are not written or not finite'
fault bits 'other bits the second time'
fault outside 'writes outside of its memory'
fault workspace 'writes outside of its memory'

# The file of engines that were measured names what is wrong here: another one is measured. The engine itself is wrong: with bits of its own.
rm -f file
fresh
step known '' --wisdom file
grep '^conv-' file | grep -v a4:eng44 && fail "not the engine that this test is for"
fresh
step wisdom spoil=value:cudnn:a4 --wisdom file
grep '^conv-forward .* w8:' file | grep -q a3:eng43 || { cat file; fail "the file names an engine that is wrong"; }
fresh
export DLX_FAKE_CUDNN_WRONG=twice
status_of_step=78 step never
says err 'but for 3 that failed their proof here'
says err 'DLX_DEBUG=proof=no'
[ "$(grep -c 'other bits the second time' cache/dlx/proofs)" -ge 3 ] || fail "engines with other bits each time are not found"
step never proof=no
fresh
step free '' --set precision.deterministic=false
! grep -q 'passed over' err || { cat err; fail "bits are compared that need not be the same"; }
unset DLX_FAKE_CUDNN_WRONG

# What there is no time for is left to the next run.
fresh
step left proof_seconds=0.000001
says err '6 kernels are used that are not proven on this GPU yet'
[ "$(verdicts)" -eq 1 ] || fail "without time $(verdicts) kernels are proven"
step left proof_seconds=0.000001
[ "$(verdicts)" -eq 2 ] || fail "the next run does not go on"

"$emulated" --version | grep -q NCCL || pass
has_ranks || pass
fresh
DLX_DEBUG=$plain,ranks_per_host=1
expect 0 capped mpiexec -n 1 "$emulated" --device=cuda --synthetic --bench=1 --set train.global_batch_size=4 --set train.batch_size=null net.yaml \
	: -n 1 env XDG_CACHE_HOME="$work/other" DLX_DEBUG="$DLX_DEBUG,spoil=value:cudnn:a3" DLX_EMULATE_GPUS=1 "$emulated" --device=cuda --synthetic \
	--bench=1 --set train.global_batch_size=4 --set train.batch_size=null net.yaml
says err 'cudnn:a3:eng43 is passed over for conv_grad_input'
grep -q 'right$' cache/dlx/proofs || fail "rank 0 proves nothing"
! grep -v 'right$' cache/dlx/proofs || fail "rank 0 finds wrong what is right there"
pass
