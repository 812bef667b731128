#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# checkpoint.local: versions on hosts' own disks. A run that is killed goes on from the newest that a host still has, whole, with the
# bits of one that was not disturbed; a damaged copy is passed over for another host's, and hosts' disks that are gone for the run's
# store. What was there before the run was taken back is not taken again. A run that ends leaves nothing there.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
export OMP_NUM_THREADS=1
DLX_DEBUG=$(debug ranks_per_host=2,join_timeout=30)
set -- --set train.steps=40 --set train.batch_size=1 --set train.validate.epochs=0 \
	--set 'data.transforms=[{crop: {size: [20, 28]}}, {normalize: {method: standard, mask: validity}}]'
local="--set checkpoint.local.dir=$PWD/disks --set checkpoint.local.every.steps=3"

# killed RUN N OPTION...: four ranks on two hosts, killed when one of them has written its Nth version.
killed() {
	run=$1 point=ckpt_durable#$2
	shift 2
	DLX_DEBUG=$(debug "crash_at=$point") on_ranks 4 "$train" --set run.dir="$run" $local "$@" "$config" >out 2>err && fail "$run: not killed"
}

# goes_on RUN OPTION...: to the end, with the bits of the whole run.
goes_on() {
	run=$1
	shift
	expect 0 on_ranks 4 "$train" --set run.dir="$run" $local "$@" --resume "$config"
	[ "$(newest_state "$run")" = "$want" ] || fail "$run: other bits than the whole run"
	[ -z "$(ls disks)" ] || { ls -R disks; fail "$run: its end leaves files on hosts' disks"; }
}

# matches FILE PATTERN
matches() {
	grep -q -e "$2" "$1" || { cat "$1"; fail "'$1' does not say: $2"; }
}

# folder_of HOST: of the last run.
folder_of() {
	ls -d disks/dlx-checkpoints-*-"$1"-"$(sed -n 's/.*"run": "\(.*\)",/\1/p' "$run/checkpoints/run.json")"
}

mkdir runs
expect 0 on_ranks 4 "$train" --set run.dir=runs/whole "$@" "$config"
want=$(newest_state runs/whole)

begin "before the run's store has a version"
# Before the run's store has a version. Both hosts have the same one of a step, each whole, and a tool reads it. A host may be two
# saves after the one that is killed.
killed runs/early 3 "$@"
[ -z "$(ls runs/early/checkpoints/versions 2>/dev/null)" ] || fail "the run's store has a version"
matches runs/early/metrics.jsonl '"type": "checkpoint", "step": 3, .*"durable": "host"'
for host in 0 1; do
	[ "$(find "$(folder_of $host)/packs" -name '000000000003-*.pack' | wc -l)" -eq 2 ] || fail "host $host: not a pack of each of its ranks"
	expect 0 "$ckpt" "$(folder_of $host)" verify
	basename "$(ls "$(folder_of $host)"/versions/000000000003-*)" >three.$host
done
cmp three.0 three.1 || fail "the hosts have two versions of one step"
expect 73 on_ranks 4 "$train" --set run.dir=runs/early $local "$@" "$config"
matches err "with a checkpoint of step [69] on a host's own disk; continue it with --resume"
goes_on runs/early "$@"
matches out 'resuming from checkpoint 0*[69]-[0-9a-f]* (step [69], from the disk of rank [02]'

begin "a damaged copy, and a host whose disk is gone"
killed runs/damaged 3 "$@"
for pack in "$(folder_of 0)"/packs/*; do
	printf X | dd of="$pack" bs=1 seek=100 conv=notrunc status=none
done
goes_on runs/damaged "$@"
matches out '(step [369], from the disk of rank 2'
says err 'is damaged and skipped'
killed runs/lost 3 "$@"
rm -r "$(folder_of 0)"
goes_on runs/lost "$@"
matches out '(step [369], from the disk of rank 2'

begin "all disks gone: from the run's store, whose versions are those of its own interval"
killed runs/gone 9 "$@" --set checkpoint.every.steps=5
rm -r disks
goes_on runs/gone "$@"
matches out 'resuming from checkpoint [0-9]*[05]-[0-9a-f]* (step [0-9]*)'

begin "a version that the store and a disk have"
killed runs/both 3 "$@" --set train.steps=6 --set checkpoint.every.steps=6
[ -e "$(folder_of 0)"/versions/000000000006-* ] || fail "host 0 has no version of the end"
expect 0 on_ranks 4 "$train" --set run.dir=runs/both $local "$@" --set train.steps=6 --resume "$config"
says out '(step 6)'
[ "$(ls runs/both/checkpoints/versions | grep -c '^000000000006-')" -eq 1 ] || fail "the end is saved twice"

begin "a version that is named; and then hosts' disks have what the run was taken back from"
killed runs/named 9 "$@" --set checkpoint.every.steps=5 --set checkpoint.keep.last=99
first=$(ls runs/named/checkpoints/versions | sort | head -n 1)
cp -r disks stale
expect 0 on_ranks 4 "$train" --set run.dir=runs/named $local "$@" --resume="${first%.json}" "$config"
says out "resuming from checkpoint $(echo "${first%.json}" | sed 's/^0*//') (step 5)"
[ "$(newest_state runs/named)" = "$want" ] || fail "named: other bits than the whole run"
mv stale/* disks
expect 0 on_ranks 4 "$train" --set run.dir=runs/named $local "$@" --set train.steps=41 --resume "$config"
says out '(step 40)'

begin "steps at which only hosts' disks had a version are made again with the same bits"
mean="--set run.dir=runs/mean --set parallel.average_statistics=true --set checkpoint.every.steps=10"
expect 0 on_ranks 2 "$train" $local $mean "$@" "$config"
expect 0 on_ranks 2 "$train" $local $mean "$@" --replay 20..30 "$config"

begin "one host alone, one copy, without ranks; a folder that cannot be made"
alone="--set checkpoint.local.copies=1"
DLX_DEBUG=$(debug crash_at=ckpt_durable#3) "$train" --set run.dir=runs/alone $local $alone "$@" "$config" >out 2>err && fail "not killed"
expect 0 "$train" --set run.dir=runs/alone $local $alone "$@" --resume "$config"
says out '(step 9, from the disk of rank 0'
expect 0 "$train" --set run.dir=runs/one "$@" "$config"
[ "$(newest_state runs/alone)" = "$(newest_state runs/one)" ] || fail "alone: other bits than the whole run"

begin "a copy of the folder of a run does not use the original's disk; a moved folder does"
DLX_DEBUG=$(debug crash_at=ckpt_durable#3) "$train" --set run.dir=runs/first $local $alone "$@" "$config" >out 2>err && fail "not killed"
cp -a runs/first runs/copy
mine=$(ls -d disks/*)
find "$mine" -type f | sort | xargs cksum >before
expect 64 "$train" --set run.dir=runs/copy $local $alone "$@" --resume "$config"
says err "'runs/copy' is a copy of the run in '$PWD/runs/first', and both would save as one run in '$PWD/$mine' on this host's disk"
find "$mine" -type f | sort | xargs cksum >after
cmp before after || fail "a copy changes what is on the host's disk"
[ ! -e runs/copy/checkpoints/versions ] || fail "a copy has saved"
mv runs/first runs/moved
expect 0 "$train" --set run.dir=runs/moved $local $alone "$@" --set train.steps=12 --resume "$config"
says err "the run of '$PWD/runs/first' is in '$PWD/runs/moved' now"
says out '(step 9, from the disk of rank 0'
[ -z "$(ls disks)" ] || fail "the end of a moved run leaves files on the host's disk"
expect 0 "$train" --set run.dir=runs/copy $local $alone "$@" --set train.steps=12 --resume "$config"
says out 'starting from the beginning'
DLX_DEBUG=$(debug crash_at=ckpt_durable#3) "$train" --set run.dir=runs/third $local $alone "$@" "$config" >out 2>err && fail "not killed"
cp -a runs/third runs/copy3
expect 0 "$train" --set run.dir=runs/copy3 $local --set checkpoint.local.dir="$PWD/others" $alone "$@" --set train.steps=12 --resume "$config"
: >file
expect 73 on_ranks 4 "$train" --set run.dir=runs/no --set checkpoint.local.dir="$PWD/file/x" "$@" "$config"
says err ":18: cannot create folder '$PWD/file'"
pass
