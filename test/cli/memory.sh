#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A plan that does not fit in the memory there is ends before it runs, with what would fit.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
sed 's/crop: {size: .*}/crop: {size: [45, 62], validation: centre}/' "$DLX_SOURCE/test/train/tiny.yaml" >tiny.yaml
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
# What a file says: KiB that a run can do with at least, KiB with which nothing is computed again, and the limit that is offered.
least() {
	sed -n "s/.*by 'train.memory.limit', helps down to \([0-9]*\) KiB.*/\1/p" "$1"
}
room() {
	sed -n 's/.*it fits where there are \([0-9]*\) KiB.*/\1/p' "$1"
}
offered() {
	sed -n "s/.*'train.memory: {limit: \([0-9]*KiB\)}' fits.*/\1/p" "$1"
}

begin "a plan that does not fit"
# These depend on the processor's kernels. Between them the remedy is a limit, and that is one.
whole=$(room err)
some=$(($(least err) + 4))
memory $some $some
expect 71 "$train" tiny.yaml
says err "'train.batch_size: 1' with 'train.accumulate: 3' fits"
limit=$(offered err)
[ "$limit" ] || fail "no limit is offered"
expect 0 "$train" --set train.steps=1 --set train.memory.limit="$limit" tiny.yaml
rm -r runs

begin "--check prints the remedies first, and --plan too"
expect 71 "$train" --check tiny.yaml
head -n 1 out | grep -q '^does not fit  a step of 3 samples needs .* but the machine offers '$some' KiB$' || { cat out; fail "the first line"; }
limit=$(offered out)
[ "$limit" ] || fail "no limit is offered by --check"
says out "- 'train.batch_size: 1' with 'train.accumulate: 3' fits"
says out 'MORE THAN the'
expect 0 "$train" --plan tiny.yaml
head -n 1 out | grep -q '^does not fit  ' || fail "the first line of --plan"
expect 0 "$train" --plan=json tiny.yaml
says out "\"offered\": $((some * 1024)), \"free\": $((some * 1024)), \"fits\": false"
half=$((whole / 2 + 16))
memory $((4 * half)) $((4 * half))
expect 0 "$train" --check --ranks=2x2 tiny.yaml
expect 71 "$train" --check --ranks=1x4 tiny.yaml
says out "but the machine offers $half KiB"
memory $some $some
expect 0 "$train" --check --set train.memory.limit="$limit" tiny.yaml
! grep -q 'does not fit' out || fail "the remedy does not fit"
memory $whole $whole
expect 0 "$train" --set train.steps=1 tiny.yaml
rm -r runs

begin "what --plan says of the whole run, with its short batches, is what is allocated"
expect 0 "$train" --plan=json tiny.yaml
run=$(sed -n 's/.*"run": \([0-9]*\).*/\1/p' out)
expect 0 "$train" --quiet tiny.yaml
says runs/tiny/metrics.jsonl "\"planned\": $run, \"allocated\": $run,"
rm -r runs

begin "validation on whole samples needs more than training"
# Validation on whole samples needs more than training does at its least: what is offered counts that.
sed 's/^  family: fcn/  family: layers/; /^  growth/,/^  dropout/d; s/, validation: centre//; s/batch_size: 3/batch_size: 1/' tiny.yaml >deep.yaml
conv='{conv2d: {filters: 4, kernel: 3, padding: same}}, batch_norm, relu'
deep() {
	"$train" --set train.steps=1 --set "model.layers=[$conv, $conv, $conv, $conv, $conv, $conv, $conv, $conv, $conv, $conv]" "$@" deep.yaml
}
memory 100 100
expect 71 deep --set data.validation=null
training=$(least err)
expect 71 deep
least=$(least err)
[ "$training" ] && [ "$least" ] && [ "$training" -lt "$least" ] && [ "$least" -lt "$(room err)" ] || {
	cat err
	fail "at least $training KiB without validation and $least KiB with it"
}
says err '- validation sees whole samples and needs most of that'
for some in $training $((least - 4)); do
	memory $some $some
	expect 71 deep --check
	says out 'largest batch 0 in'
	expect 71 deep
	[ -z "$(offered err)" ] && [ "$(least err)" = "$least" ] || fail "$(offered err) is offered for $some KiB, of $least KiB"
done
memory $((least + 4)) $((least + 4))
expect 71 deep
limit=$(offered err)
[ "$limit" ] || fail "no limit is offered where validation fits"
expect 0 deep --set train.memory.limit="$limit"
rm -r runs

begin "a limit that is too small is answered with the least that all plans can do with"
memory 99000000 99000000
expect 78 deep --set train.memory.limit=10KiB
limit=$(least_limit)
[ "$limit" ] || fail "not the least that is possible"
expect 0 deep --set train.memory.limit="$limit"
rm -r runs
expect 78 deep --set train.memory.limit=$((${limit%KiB} - 1))KiB
[ ! -e runs ] || fail "a run was begun"

begin "memory that others have: a warning"
# They may free it.
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
