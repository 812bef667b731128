#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# test/gpu/pack and test/gpu/check: what they say where there is no GPU, and their parts with an emulated one.
. "${DLX_SOURCE:?}/test/lib.sh"
CUDA_VISIBLE_DEVICES=
export CUDA_VISIBLE_DEVICES
pack=$DLX_SOURCE/test/gpu/pack
expect 2 "$pack"
expect 1 "$pack" -b "$work/nowhere" packed
grep -q 'build it' err || fail "pack: no remedy for a build that is not there"
expect 0 "$pack" -b "$DLX_BUILD" packed
[ -x packed/check ] && [ -x packed/bin/optest ] && [ -r packed/configs/tiny.yaml ] || fail "the folder lacks something"
expect 2 packed/check -o results nonsense
expect 2 packed/check -p "$work" -o results
expect 77 packed/check -o results
grep -q "device 'cuda'" out || fail "no word on why there is no GPU"

[ -x "$DLX_BUILD/test/gpu/train_emulated" ] || pass
cp "$DLX_BUILD/test/gpu/train_emulated" packed/bin/dlx-train
cp "$DLX_BUILD/test/gpu/optest_emulated" packed/bin/optest
DLX_CHECK_STEPS=tiny DLX_CHECK_TRAIN=4 DLX_CHECK_CROP='[10, 14]'
export DLX_CHECK_STEPS DLX_CHECK_TRAIN DLX_CHECK_CROP
expect 0 packed/check -o results steps train
grep -q '^steps  *passed' results/summary.txt || fail "the steps did not pass"
expect 0 packed/check -o results steps
grep -q 'steps: passed before' out || fail "a part that passed is run again"
if "$DLX_BUILD/test/gpu/train_emulated" --version | grep -q NCCL; then
	DLX_CHECK_BENCH_STEPS=1 DLX_CHECK_GPUS=2 DLX_EMULATE_GPUS=0,1 expect 0 packed/check -o results ranks
	grep -q '^ranks  *passed' results/summary.txt || fail "the ranks did not pass"
	tail -n 1 results/ranks.log | grep -q '^one rank' || fail "no word on how many ranks there were"
fi
# A part that fails is told.
DLX_CHECK_STEPS=nonsense expect 1 packed/check -f -o results steps
pass
