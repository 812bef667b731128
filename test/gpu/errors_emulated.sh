#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What may be wrong with a GPU, each said in one sentence with a remedy, and what 'device: auto' makes of it; then a kernel that goes
# wrong in the middle of a run.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
coads_data
cp "$DLX_SOURCE/test/train/tiny.yaml" .

small() {
	device=$1
	shift
	capped "$emulated" --device="$device" --set 'data.transforms=[{crop: {size: [10, 14]}}]' --set train.batch_size=1 \
		--set train.steps=4 --set train.validate.epochs=0 --set data.validation=null "$@" tiny.yaml
}

# wrong TEXT REMEDY REASON [VARIABLE=VALUE]: 'cuda' refuses, 'auto' takes the CPU and says why.
wrong() {
	text=$1 remedy=$2 reason=$3
	shift 3
	expect 69 capped env "$@" "$emulated" --device=cuda --check tiny.yaml
	says err "device 'cuda': $text"
	says err "$remedy"
	expect 0 capped env "$@" "$emulated" --device=auto --check tiny.yaml
	says out "'device: auto' takes the CPU: $reason"
	expect 0 capped env "$@" "$emulated" --set device=auto --set run.dir=runs/auto --set train.steps=1 \
		--set data.validation=null tiny.yaml
	grep -q "'device: auto' takes the CPU: $reason" out err || fail "the run does not say why it takes the CPU"
	rm -r runs
}
wrong 'no NVIDIA driver is loaded' "use 'device: cpu'" 'no NVIDIA driver' DLX_EMULATE_DRIVER=none
wrong 'the NVIDIA driver is too old: it knows CUDA up to 11.4' 'install a newer driver' 'the NVIDIA driver is too old' \
	DLX_EMULATE_DRIVER=11040
wrong 'the NVIDIA driver shows no GPU' 'CUDA_VISIBLE_DEVICES' 'the NVIDIA driver shows no GPU' DLX_EMULATE_GPUS=
wrong "this dlx has no code for 'emulated GPU'" "configure it with '--with-cuda-arch=90'" 'this dlx has no code for' \
	DLX_EMULATE_CODE=none
DLX_FAKE_CUDNN_VERSION=90701 expect 69 small cuda --check
says err "cuDNN 9.7.1 is too old ('libcudnn.so.9'): 9.8 or newer is needed"
# A GPU before Ampere has no bf16: the config's line is reported, with what it is; in fp16 and float32 it trains.
cp tiny.yaml bf16.yaml
printf 'precision:\n  compute: bf16\n' >>bf16.yaml
DLX_EMULATE_ARCH=70 DLX_EMULATE_NAME='Tesla V100-SXM2-16GB' expect 69 capped "$emulated" --device=cuda --check bf16.yaml
says err "device 'cuda' cannot compute in bf16: 'Tesla V100-SXM2-16GB' is of architecture sm_70"
says err 'bf16.yaml:'
says err "'fp16' takes as many bytes"
DLX_EMULATE_ARCH=80 expect 0 capped "$emulated" --device=cuda --check bf16.yaml
DLX_EMULATE_ARCH=70 expect 0 small cuda --check --set precision.compute=fp16
expect 0 small auto --check
says out 'device        emulated GPU'
says out "'device: auto' takes the GPU"
expect 0 small auto --set run.dir=runs/gpu --set train.steps=1
grep -q "'device: auto' takes the GPU" out err || fail "the run does not say that it takes the GPU"

# A kernel that goes wrong stays wrong: what is lost, and where to go on. The first step is walked, the second recorded.
DLX_EMULATE_FAIL=2 expect 69 small cuda --set run.dir=runs/early
says err 'an illegal memory access was encountered'
says err 'in step 2 or 3; the GPU'
says err 'no checkpoint was complete'
says err 'CUDA_LAUNCH_BLOCKING=1'
DLX_EMULATE_FAIL=3 expect 69 small cuda --set run.dir=runs/late --set checkpoint.every.steps=1 --set train.steps=9
id=$(sed -n 's/.*learned since checkpoint \([^,]*\), of step [1-3]: continue from there with --resume.*/\1/p' err)
[ -n "$id" ] && ls runs/late/checkpoints/versions | grep -qx "0*$id.json" || fail "no checkpoint to go on from is named"
expect 0 small cuda --set run.dir=runs/late --resume
# In a validation, whose kernels are recorded as well, no step failed.
DLX_EMULATE_FAIL=2 expect 69 small cuda --set run.dir=runs/validation --set data.validation=data/coads-validation.dlx \
	--set train.validate.steps=1 --set train.steps=9
says err 'after step 1; the GPU'
# Node by node the one that fails is named, with its line.
DLX_EMULATE_FAIL=kernel:400 CUDA_LAUNCH_BLOCKING=1 expect 69 small cuda --set run.dir=runs/node --set train.steps=99
grep -q 'tiny.yaml:[0-9]*:[0-9]*: CUDA: .*an illegal memory access' err || fail "no line of the config"
grep -q "in [a-z_]* node [0-9]* '" err || fail "no node is named"
pass
