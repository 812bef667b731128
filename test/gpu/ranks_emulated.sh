#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Several ranks with an emulated GPU each, whose sums a stand-in for NCCL makes: the same parameters as on CPUs, whatever order
# streams and events leave open; then ranks that die, hang or hear of an error. In its long form each wire with each lag, and faults in
# steps that are replayed too.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
several_ranks
export DLX_EMULATE_GPUS=0,1,2

# run N DEVICE DIR SETTING...: two steps or so of a small crop
run() {
	n=$1
	device=$2
	dir=$3
	shift 3
	program=$train
	[ "$device" = cuda ] && program=$emulated
	expect 0 on_ranks "$n" "$program" --quiet --device="$device" --set run.dir="$dir" --set train.validate.epochs=0 \
		--set 'data.transforms=[{crop: {size: [10, 14]}}]' --set train.batch_size=1 --set train.steps=3 \
		--set train.clip_norm=0.5 "$@" "$config"
}
export_run() {
	expect 0 "$train" --set run.dir="$1" --set 'data.transforms=[{crop: {size: [10, 14]}}]' --set train.batch_size=1 \
		--set train.steps=3 --export "$1.safetensors" "$config"
}
close() {
	weights_close "$1.safetensors" "$2.safetensors" "$3" || fail "other parameters: $*"
}
# equal TOLERANCE NAME SETTING...: CPU and GPU ranks
equal() {
	tolerance=$1
	name=$2
	shift 2
	for device in cpu cuda; do
		run 2 $device runs/$name-$device "$@"
		export_run runs/$name-$device
	done
	close runs/$name-cpu runs/$name-cuda "$tolerance"
}
equal 5e-5 plain --set parallel.grouping=size:4KiB
for order in $(form early "early 3"); do
	DLX_EMULATE_ORDER=$order run 2 cuda runs/plain-$order --set parallel.grouping=size:4KiB
	[ "$(newest_state runs/plain-$order)" = "$(newest_state runs/plain-cuda)" ] || fail "order $order: other bits"
done
equal 5e-5 micro --set train.accumulate=2
big && equal 5e-3 bf16 --set precision.wire=bf16
equal 2e-3 fp16 --set precision.wire=fp16 --set parallel.grouping=none
for wire in $(form bf16 "f32 bf16"); do
	tolerance=5e-5
	[ $wire = bf16 ] && tolerance=5e-3
	equal $tolerance late-$wire --set parallel.gradient_lag=1 --set precision.wire=$wire
	DLX_EMULATE_ORDER=early run 2 cuda runs/late-$wire-often --set parallel.gradient_lag=1 --set precision.wire=$wire \
		--set checkpoint.every.steps=1
	run 2 cuda runs/late-$wire-stopped --set parallel.gradient_lag=1 --set precision.wire=$wire --set train.steps=2
	run 2 cuda runs/late-$wire-stopped --set parallel.gradient_lag=1 --set precision.wire=$wire --resume
	for how in often stopped; do
		[ "$(newest_state runs/late-$wire-$how)" = "$(newest_state runs/late-$wire-cuda)" ] || fail "late $wire, $how: other bits"
	done
done

# Each rank writes its part of a checkpoint, sums that the next step waits for too.
run 2 cuda runs/late-parts --set parallel.gradient_lag=1 --set checkpoint.every.steps=1
grep -F 'has not written its part' err && fail "rank 0 waits for what another rank has not got"

# Of the five samples that end an epoch one rank has a full share and the other has not: their plans differ, so all ranks
# launch this step eagerly.
coads_convert '1,4,7' data/more.dlx
equal 5e-5 uneven --set 'data.train=[data/coads-train.dlx, data/more.dlx]' --set train.batch_size=3 --set train.steps=5

# One rank takes the same way, and its sums change nothing.
run 1 cuda runs/alone
DLX_DEBUG=$(debug nccl_alone=yes) run 1 cuda runs/with-itself
export_run runs/alone
export_run runs/with-itself
close runs/alone runs/with-itself 1e-5

# lost FAULT TEXT...: rank 1 of two fails so, all end, and one says it; SECONDS stands for what the others wait
lost() {
	lost_rank "$1" --set run.dir="runs/$1" --set 'data.transforms=[{crop: {size: [10, 14]}}]' --set train.batch_size=1 \
		--set train.steps=5 --set parallel.grouping=count:2
	shift
	for text in "$@"; do
		says err "$(echo "$text" | sed "s/SECONDS/$patience/")"
	done
	[ $# -eq 0 ] || [ "$(grep -cF -e "$(echo "$1" | sed "s/SECONDS/$patience/")" err)" = 1 ] || fail "$fault: not one report: $(cat err)"
	grep -q "the GPU's memory is lost" err && fail "$fault: the GPU itself is said to have failed"
}
lost die:6
lost hang:6 "' (group 3 of 3, sum 6) is not complete after SECONDS" 'all ranks have begun it'
lost error:6 "NCCL reports 'remote process exited or there was a network error'"
# Which ranks have begun the sum. The one that is stopped may have said so, or not: that depends on how far its host is ahead.
stopped() {
	if grep -qF ', stopped) has begun it, but does not go on; ' err; then
		says err 'ranks 0-1 of host '
	else
		says err ', stopped) has not begun it, the last it began was '
		says err '; rank 0 of host '
	fi
}
# In steps that are replayed.
lost stop:14 ' is not complete after SECONDS'
stopped
if big; then
	lost hang:12 "' (group 3 of 3, sum 12) is not complete after SECONDS" 'all ranks have begun it'
	grep -q '^dlx-train: rank [01] (host .*): the sum of' err || fail "the GPU did not come to rest: $(cat err)"
	lost stop:6 ' is not complete after SECONDS'
	stopped
	lost error:13 "NCCL reports 'remote process exited or there was a network error'"
fi
lost join:0 'NCCL does not connect the GPUs of the ranks within SECONDS s'

# Two ranks, one GPU.
export DLX_EMULATE_GPUS=0
DLX_FAKE_NCCL_VERSION=23003 expect 69 on_ranks 2 "$emulated" --device=cuda --set run.dir=runs/shared "$config"
says err 'dlx-train: ranks 0-1 of host '
says err ' take the same GPU (number 0)'
# NCCL 2.30.3 and newer lets them share it if requested to.
NCCL_MULTI_RANK_GPU_ENABLE=1 DLX_FAKE_NCCL_VERSION=22809 expect 69 on_ranks 2 "$emulated" --device=cuda --set run.dir=runs/shared "$config"
says err ' take the same GPU (number 0)'
export NCCL_MULTI_RANK_GPU_ENABLE=1 DLX_FAKE_NCCL_VERSION=23003
run 2 cuda runs/shared-cuda --set parallel.grouping=size:4KiB
unset NCCL_MULTI_RANK_GPU_ENABLE DLX_FAKE_NCCL_VERSION
[ "$(newest_state runs/shared-cuda)" = "$(newest_state runs/plain-cuda)" ] || fail "on one GPU: other bits"
# One each where each sees one alone.
expect 0 on_ranks 2 sh -c 'export DLX_EMULATE_GPUS=$PMI_RANK; exec "$@"' sh "$emulated" --quiet --device=cuda \
	--set run.dir=runs/own --set train.validate.epochs=0 --set 'data.transforms=[{crop: {size: [10, 14]}}]' \
	--set train.steps=1 --set train.batch_size=1 "$config"
pass
