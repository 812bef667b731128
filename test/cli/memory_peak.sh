#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Planned memory against measured. The arena is hardly larger than what is alive at once, for configs at their published sizes: a few,
# with and without joins, in two and three dimensions; in the big form every one. The peak
# of resident memory of a process that runs steps is the plan's and a part that does not depend on the plan: code, libraries,
# the random numbers of initial values. So what several samples need more than one is as planned.
# limit: 15 minutes
. "${DLX_SOURCE:?}/test/lib.sh"
DLX_DEBUG=$(debug trials=no) # none of it is about time

BASE=100000000        # bytes of a process in addition to its plan
SLACK=8               # MiB that buffers of the library, and page sizes, may differ by between two batches

names='cosmoflow-mlperf resnet-50 tiramisu-fc-densenet56 unet3d-lits'
if big; then names=$(cd "$DLX_SOURCE/configs" && ls | sed -n 's/\.yaml$//p'); fi
seen=0
for config in $names; do
	config=$DLX_SOURCE/configs/$config.yaml
	most=102
	case $config in */deeplabv3+-sc18.yaml) most=103 ;; esac
	"$train" --plan=json "$config" >out 2>err || continue     # needs its data to be planned
	sed -n 's/.*"arena": \([0-9]*\), "lower_bound": \([0-9]*\).*/\1 \2/p' out >sizes
	read -r arena bound <sizes || fail "$config: no sizes"
	[ "$arena" -ge "$bound" ] && [ $((arena / most)) -le $((bound / 100)) ] ||
		fail "$config: an arena of $arena bytes for $bound alive at once"
	seen=$((seen + 1))
done
[ $seen -ge 3 ] || fail "only $seen configs could be planned without their data"

# sizes OPTIONS...: $planned and $measured, bytes of a step with made-up data; its batch is the host's memory.
sizes() {
	expect 0 "$train" --plan=json "$@"
	planned=$(sed -n 's/.*"peak": \([0-9]*\), "arena".*/\1/p' out)
	inputs=$(sed -n 's/.*"inputs": \([0-9]*\).*/\1/p' out)
	expect 0 "$train" --quiet --bench=1 --synthetic "$@"
	measured=$(($(sed -n 's/.*"peak_memory": \([0-9]*\).*/\1/p' out) - inputs))
	[ $((measured - planned)) -le $BASE ] || fail "$measured bytes measured, $planned planned: $*"
	[ "$measured" -ge "$planned" ] || fail "only $measured bytes measured, $planned planned: $*"
}

# grows CONFIG SIZE SAMPLES OPTIONS...
grows() {
	config=$DLX_SOURCE/configs/$1.yaml
	size=$2
	samples=$3
	shift 3
	set -- --set "model.input.size=[$size]" --set train.accumulate=1 "$@"
	sizes "$@" --set train.batch_size=1 "$config"
	before=$((measured - planned))
	sizes "$@" --set train.batch_size="$samples" "$config"
	more=$((measured - planned - before))
	[ ${more#-} -le $((SLACK * 1048576)) ] ||
		fail "$config: $samples samples need $more bytes more than planned, measured by one"
}

grows unet3d-lits 32,32,32 2
grows tiramisu-fc-densenet56 96,128 4
all=$measured         # of four samples, with which the last part begins
half=$((planned / 2))
if big; then
	grows tiramisu-sc18 96,128 4
	grows cosmoflow-mlperf 64,64,64 4
fi

# Under a limit the process is smaller by what is computed again.
config=$DLX_SOURCE/configs/tiramisu-fc-densenet56.yaml
set -- --set 'model.input.size=[96, 128]' --set train.batch_size=4
sizes "$@" --set train.memory.limit=$half "$config"
[ "$measured" -le $((all * 6 / 10)) ] || fail "$measured bytes under a limit, $all without"
pass
