#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Buckets of gradients that are planned for absent ranks are those of present ranks, whatever else the machine does
# meanwhile; and what sums cost depends on how many ranks they are over, on how many hosts.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
config=$DLX_SOURCE/configs/coads-fcn.yaml
set -- --quiet --device cpu --set data.train=none.dlx --set data.validation=null --set data.transforms=[] --set model.classes=4 \
	--set 'model.input={channels: 5, size: [18, 36]}' --set train.batch_size=1

# groups FILE: tensors and bytes of each.
groups() {
	sed -n '/"groups": \[/,/\],$/p' "$1" | sed 's/, "ready_seconds".*//'
}
for ranks in 2 4; do
	for grouping in auto size:64KiB; do
		expect 0 "$train" --plan=json --ranks=$ranks "$@" --set parallel.grouping=$grouping "$config"
		groups out >planned
		grep -q tensors planned || { cat out; fail "no groups"; }
		expect 0 timeout 120 mpiexec -n $ranks "$train" --plan=json "$@" --set parallel.grouping=$grouping "$config"
		groups out >there
		cmp -s planned there || { diff planned there; fail "$ranks ranks, $grouping: other groups where the ranks are there"; }
	done
done

# The time from the last group's start to its end, in ns; of more hosts longer. Each says by what.
last=0
for ranks in 2 64 16384; do
	expect 0 "$train" --plan=json --ranks=$ranks --set parallel.grouping=count:1 "$@" "$config"
	cost=$(sed -n 's/.*"ready_seconds": \([^,]*\), "done_seconds": \([^}]*\)}.*/\1 \2/p' out | awk '{ printf "%.0f", 1e9 * ($2 - $1) }')
	[ "$cost" -gt "$last" ] || fail "a sum over $ranks ranks takes $cost ns, over fewer $last"
	last=$cost
	case $ranks in
	2) says out '"links": {"algorithm": "shared memory", "latency": 1e-05, "bandwidth": ' ;;
	*) says out '"links": {"algorithm": "halving and doubling", "latency": 2e-06, "bandwidth": 11000000000}' ;;
	esac
done
expect 0 "$train" --plan --ranks=64 "$@" "$config"
says out 'grid          8 hosts x 8 ranks'
says out 'links         halving and doubling, 2 us a message, 11 GB/s of a host'

# The batches of an epoch are those of all ranks, planned for or there.
coads_data
tiny="--set data.train=data/coads-train.dlx $DLX_SOURCE/test/train/tiny.yaml"
for setting in train.batch_size=1 train.batch_size=2 "train={global_batch_size: 4, epochs: 2}"; do
	expect 0 "$train" --check --ranks=4 --set "$setting" $tiny
	grep '^data ' out >planned
	grep '^ranks ' out >>planned
	expect 0 on_ranks 4 "$train" --check --set "$setting" $tiny
	grep '^data ' out >there
	grep '^ranks ' out >>there
	cmp planned there || { diff planned there; fail "$setting: other batches where the ranks are there"; }
	expect 0 "$train" --check --set "$setting" $tiny
	grep '^data ' out >alone
	grep -qFf alone planned && [ "${setting#train.batch}" != "$setting" ] && fail "$setting: the batches of one rank"
done
pass
