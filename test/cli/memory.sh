#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A plan that does not fit in the memory there is ends before it runs, with what would fit.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
cp "$DLX_SOURCE/test/train/tiny.yaml" .
mkdir -p host/proc/self host/sys/fs/cgroup
echo 'MemAvailable: 100 kB' >host/proc/meminfo
DLX_HOST_ROOT=$PWD/host
export DLX_HOST_ROOT
expect 69 "$train" tiny.yaml
says err 'tiny.yaml:24:31: a step of 3 samples needs'
says err 'but the machine offers 100 KiB'
says err 'parameters'
says err "- no smaller 'train.batch_size' fits"
# With a little less than is needed the remedy is a limit, and that is one.
echo 'MemAvailable: 4000 kB' >host/proc/meminfo
expect 69 "$train" tiny.yaml
says err "'train.batch_size: 1' with 'train.accumulate: 3' fits"
limit=$(sed -n 's/.*{limit: \([0-9]*KiB\)}.*/\1/p' err)
[ "$limit" ] || fail "no limit is offered"
expect 0 "$train" --set train.steps=1 --set train.memory.limit="$limit" tiny.yaml
rm -r runs
echo 'MemAvailable: 99000000 kB' >host/proc/meminfo
echo '0::/' >host/proc/self/cgroup
echo 200000 >host/sys/fs/cgroup/memory.max
expect 69 "$train" tiny.yaml
says err 'the control group offers 195 KiB'
echo max >host/sys/fs/cgroup/memory.max
expect 0 "$train" --set train.steps=1 tiny.yaml
pass
