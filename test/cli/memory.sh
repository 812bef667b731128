#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A plan that does not fit in the memory there is ends before it runs, with what would fit.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
cp "$DLX_SOURCE/test/train/tiny.yaml" .
mkdir -p host/proc/self host/sys/fs/cgroup
# memory TOTAL AVAILABLE: of the machine, in kB.
memory() {
	printf 'MemTotal: %s kB\nMemAvailable: %s kB\n' "$1" "$2" >host/proc/meminfo
}
memory 100 100
DLX_DEBUG=$(debug "host_root=$PWD/host")
expect 71 "$train" tiny.yaml
says err 'tiny.yaml:24:31: a step of 3 samples needs'
says err 'but the machine offers 100 KiB'
says err 'parameters'
says err "- no smaller 'train.batch_size' fits"
# With a little less than is needed, which depends on the processor's kernels, the remedy is a limit, and that is one.
needed=$(sed -n 's/.*a step of 3 samples needs \([0-9]*\) KiB.*/\1/p' err)
some=$((needed * 9 / 40 * 4))
memory $some $some
expect 71 "$train" tiny.yaml
says err "'train.batch_size: 1' with 'train.accumulate: 3' fits"
limit=$(sed -n 's/.*{limit: \([0-9]*KiB\)}.*/\1/p' err)
[ "$limit" ] || fail "no limit is offered"
expect 0 "$train" --set train.steps=1 --set train.memory.limit="$limit" tiny.yaml
rm -r runs
# --check says the same in its first line, with the remedies, and --plan too, whose status is that of a plan that was made.
expect 71 "$train" --check tiny.yaml
head -n 1 out | grep -q '^does not fit  a step of 3 samples needs .* but the machine offers '$some' KiB$' || { cat out; fail "the first line"; }
limit=$(sed -n 's/.*{limit: \([0-9]*KiB\)}.*/\1/p' out)
[ "$limit" ] || fail "no limit is offered by --check"
says out "- 'train.batch_size: 1' with 'train.accumulate: 3' fits"
says out 'MORE THAN the'
expect 0 "$train" --plan tiny.yaml
head -n 1 out | grep -q '^does not fit  ' || fail "the first line of --plan"
expect 0 "$train" --plan=json tiny.yaml
says out "\"offered\": $((some * 1024)), \"free\": $((some * 1024)), \"fits\": false"
memory $((3 * some)) $((3 * some))
expect 0 "$train" --check --ranks=2x2 tiny.yaml
expect 71 "$train" --check --ranks=1x4 tiny.yaml
says out "but the machine offers $((3 * some / 4)) KiB"
memory $some $some
expect 0 "$train" --check --set train.memory.limit="$limit" tiny.yaml
! grep -q 'does not fit' out || fail "the remedy does not fit"
# What others have now they may give back: a warning.
memory 99000000 4000
expect 0 "$train" --check tiny.yaml
says out 'ONLY 3.91 MiB are free now'
expect 0 "$train" --set train.steps=1 tiny.yaml
says err "of the machine's memory only 3.9 MiB are free now"
rm -r runs
memory 99000000 99000000
expect 0 "$train" --set train.steps=1 tiny.yaml
! grep -q 'free now' err || fail "a warning where there is room"
rm -r runs
echo '0::/' >host/proc/self/cgroup
echo 200000 >host/sys/fs/cgroup/memory.max
expect 71 "$train" tiny.yaml
says err 'the control group offers 195 KiB'
echo max >host/sys/fs/cgroup/memory.max
expect 0 "$train" --set train.steps=1 tiny.yaml
pass
