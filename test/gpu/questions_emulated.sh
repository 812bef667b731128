#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The queries to cuDNN's heuristics by runs on an emulated GPU: equal convolutions once, in one plan and over plans, also where
# engines are measured, and the fallback only where there is nothing better.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
export DLX_FAKE_CUDNN_QUESTIONS=questions DLX_FAKE_CUDNN_LOG=used

# queried WHAT
queried() {
	[ -s questions ] || fail "$1: nothing is queried"
	[ -z "$(sort questions | uniq -d)" ] || fail "$1: $(sort questions | uniq -d | wc -l) questions are queried again"
	! grep -q '^fallback' questions || fail "$1: the fallback is queried, too"
}

expect 0 "$emulated" --device=cuda --synthetic --dump-step=step --set 'model.input={channels: 4, size: [32, 32]}' \
	--set model.classes=3 --set train.batch_size=2 "$DLX_SOURCE/test/train/zoo/deepcam-mlperf-small.yaml"
queried "a step"
[ "$(wc -l <used)" -gt "$(wc -l <questions)" ] || fail "equal convolutions do not share an answer"

# What a pass has looked at is there for the plan, whose engines are compiled once.
rm -f questions
DLX_FAKE_CUDNN_FIRST=44 DLX_FAKE_CUDNN_COMPILED=compiled expect 0 "$emulated" --device=cuda --synthetic --dump-step=half \
	--set precision.compute=fp16 --set precision.allow_emulation=true --set 'model.input={channels: 3, size: [32, 32]}' \
	--set model.classes=3 --set train.batch_size=2 "$DLX_SOURCE/test/train/zoo/resnet-18-small.yaml"
queried "a step in fp16"
[ "$(wc -l <compiled)" -le "$(wc -l <questions)" ] || fail "engines are compiled twice"

# Steps, a short batch and evaluations.
coads_data
for wisdom in '' --wisdom=engines; do
	rm -f questions
	expect 0 "$emulated" --quiet --device=cuda --set train.steps=4 --set train.validate.epochs=1 --set train.batch_size=3 \
		--set 'data.transforms=[{crop: {size: [8, 12]}}]' --set run.dir="run$wisdom" $wisdom \
		"$DLX_SOURCE/test/train/tiny.yaml"
	queried "a run $wisdom"
done
pass
