#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# data.stage on one rank: samples are read once and kept; the next run reads none. What is damaged, killed, full or cut off costs no bit of
# a run, or ends it with the file's name.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
export OMP_NUM_THREADS=1
plain=$DLX_DEBUG
DLX_DEBUG=$(debug stage_counts=yes stage_extent=20000)
mkdir kept
cp data/*.dlx kept

# samples_of FILE: bytes of its chunks.
samples_of() {
	at=$(od -An -t u8 -j $(($(wc -c <"$1") - 72)) -N 8 "$1")
	echo $((at - 16))
}
total=$(($(samples_of data/coads-train.dlx) + $(samples_of data/coads-validation.dlx)))

# count NAME: a number of the line that a run ends with.
count() {
	sed -n "s/^stage: rank 0 .*$1 \([0-9]*\).*/\1/p" err
}
stage() {
	run=$1
	shift
	"$train" --set run.dir="runs/$run" "$@" "$config"
}
# flip FILE BYTE: changes it.
flip() {
	was=$(od -An -t u1 -j "$2" -N 1 "$1")
	printf "\\$(printf %o $((was ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

begin "a copy has the bytes of its record"
# A copy has the bytes of its record from here on.
base=4096
# reads BYTES: what the run has read of the files' samples.
reads() {
	[ "$(count read)" -eq "$1" ] || { cat err; fail "$(count read) bytes read instead of $1"; }
}

expect 0 stage whole
expect 0 stage a --set data.stage=cache
reads "$total"
[ "$(count kept)" -eq "$total" ] || { cat err; fail "not all was kept"; }
# counted RUN: the bytes read, sent and decoded by its last line of rates.
counted() {
	sed -n 's/.*"data": {"read": \([0-9]*\), "sent": \([0-9]*\), "decoded": \([0-9]*\).*/\1 \2 \3/p' "runs/$1/metrics.jsonl" | tail -n 1
}
counted a | awk -v n="$total" '$1 == 0 || $1 > n || $2 || $3 <= n { exit 1 }' || fail "of $total bytes rates count $(counted a)"
same_run runs/whole runs/a
expect 0 stage b --set 'data.stage={dir: cache, copy: all, limit: 2MB}'
reads 0
[ "$(counted b | cut -d' ' -f1)" = 0 ] || fail "nothing was read, but rates count $(counted b)"
[ ! -s err ] || [ "$(wc -l <err)" -eq 1 ] || { cat err; fail "more is said than bytes"; }
same_run runs/whole runs/b

begin "a byte of the copy"
# It is found by its chunk's hash and read again, once, or twice if two threads find it at the same time.
train_copy=$(ls -S cache/dlx-stage-* | head -n 1)
flip "$train_copy" $((base + 300000))
expect 0 stage damaged --set data.stage=cache
says err "coads-train.dlx': the copy in 'cache' is damaged at byte "
[ "$(count repaired)" -gt 0 ] && [ "$(count read)" -lt 300000 ] || { cat err; fail "not the damage alone was read"; }
same_run runs/whole runs/damaged
expect 0 stage mended --set data.stage=cache
reads 0
[ "$(count repaired)" -eq 0 ] || fail "the damage is still there"

begin "a copy that has become shorter, as a crash of the machine may leave it"
size=$(stat -c %s "$train_copy")
truncate -s $((size - 100000)) "$train_copy"
expect 0 stage shorter --set data.stage=cache
says err "coads-train.dlx': the copy in 'cache' is damaged at byte "
[ "$(count repaired)" -gt 0 ] && [ "$(count read)" -lt 300000 ] || { cat err; fail "not the end alone was read"; }
same_run runs/whole runs/shorter
expect 0 stage longer --set data.stage=cache
reads 0

begin "a copy whose head is damaged"
flip "$train_copy" 10
expect 0 stage head --set data.stage=cache
reads "$(samples_of data/coads-train.dlx)"
same_run runs/whole runs/head

begin "a head that is kept, and a record file that was replaced"
for head in cache/*-head-*; do
	flip "$head" 200
done
expect 0 stage heads --set data.stage=cache
reads 0
same_run runs/whole runs/heads
cp kept/coads-validation.dlx data/coads-train.dlx
expect 0 stage other --set data.stage=cache
expect 0 stage other-plain
same_run runs/other-plain runs/other
cp kept/coads-train.dlx data
expect 0 stage back --set data.stage=cache
reads 0
same_run runs/whole runs/back

begin "a copy that was written over in place, with its size and time as before"
touch -r data/coads-train.dlx time
flip data/coads-train.dlx $(($(wc -c <data/coads-train.dlx) - 200))
touch -r time data/coads-train.dlx
expect 65 stage over --set data.stage=cache
says err "coads-train.dlx': byte "
cp kept/coads-train.dlx data
expect 0 stage over --set data.stage=cache
same_run runs/whole runs/over

begin "killed while it stages"
n=1
while [ $n -le 13 ]; do
	rm -rf killed
	DLX_DEBUG=$(debug crash_at=stage_written#$n) "$train" --set run.dir=runs/killed --set data.stage=killed "$config" >out 2>err
	status=$?
	[ $status -eq 137 ] || { cat out err; fail "not killed at extent $n: $status"; }
	expect 0 stage again-$n --set data.stage=killed
	[ "$(count read)" -gt 0 ] && [ "$(count read)" -le "$total" ] || { cat err; fail "$(count read) bytes read after a kill"; }
	[ $n -le 2 ] || [ "$(count read)" -lt "$total" ] || fail "nothing is left of $n extents"
	same_run runs/whole runs/again-$n
	expect 0 stage last-$n --set data.stage=killed
	reads 0
	n=$((n + 4))
done

begin "a full disk, and a limit: a warning"
(
	ulimit -f 600
	expect 0 stage full --set data.stage=full
) || fail
[ "$(grep -c "warning: 'data.stage': 'full' takes no more data (File too large)" err)" -eq 1 ] || { cat err; fail "no word of the full disk"; }
[ "$(count kept)" -gt 0 ] && [ "$(count kept)" -lt "$total" ] || fail "not a part was kept"
same_run runs/whole runs/full
expect 0 stage limit --set 'data.stage={dir: limit, limit: 500KB}'
[ "$(grep -c "warning: 'data.stage.limit' is 0.5 MB, but a host is to keep " err)" -eq 1 ] || { cat err; fail "no word of the limit"; }
[ "$(count kept)" -gt 0 ] && [ "$(count kept)" -le 500000 ] || { cat err; fail "more than the limit"; }
[ "$(du -s --block-size=1000 limit | cut -f 1)" -lt 700 ] || fail "more than the limit on the disk"
same_run runs/whole runs/limit

begin "a copy that is cut off while it is read"
# disturbed RUN OPTION...: a run with this in $then after its third step.
disturbed() {
	name=$1
	shift
	"$train" --set run.dir="runs/$name" "$@" "$config" >out 2>err &
	pid=$!
	reached "runs/$name/metrics.jsonl" '"type": "step", "step": 3,' $pid
	eval "$then"
	ends $pid
}

# The copy is cut off while it is read: the samples are still where they were.
then=': >"$train_copy"'
disturbed cut --set train.steps=60 --set data.stage=cache
[ $status -eq 0 ] || { cat out err; fail "a copy that is cut off: exit status $status"; }
expect 0 stage uncut --set train.steps=60
same_run runs/uncut runs/cut
rm -rf cache

begin "a record that is cut off: status 74 and its name; later it is not missed"
then=': >data/coads-train.dlx'
disturbed gone --set train.steps=100000 --set 'data.stage={dir: none, limit: 0}'
[ $status -eq 74 ] || { cat out err; fail "a record that is cut off: exit status $status"; }
says err "data/coads-train.dlx' ends at byte"
cp kept/coads-train.dlx data
then='rm data/coads-train.dlx'
disturbed unlinked --set train.steps=60 --set data.stage=cache
[ $status -eq 0 ] || { cat out err; fail "a record that is gone when all is there: exit status $status"; }
same_run runs/uncut runs/unlinked
cp kept/coads-train.dlx data

begin "a disk that fails, at any read from then on"
# Wherever it is first noticed, in the background or by a reader, the run ends with the name.
for n in 12 20; do
	DLX_DEBUG=$(debug fault=read:$n+) expect 74 stage eio-$n --set data.stage=eio-$n
	grep -q "cannot read 'data/coads-[a-z]*.dlx': Input/output error" err || { cat err; fail "the file that cannot be read is not named"; }
	expect 0 stage after-$n --set data.stage=eio-$n
	[ "$(count read)" -lt "$total" ] || fail "nothing is left of what could be read"
	same_run runs/whole runs/after-$n
done

begin "one read that fails"
# One read that fails: the background leaves that extent to the reader that needs it; of a reader it is the end.
status=0
DLX_DEBUG=$(debug fault=read:12) stage once --set data.stage=once >out 2>err || status=$?
if [ $status -ne 0 ]; then
	[ $status -eq 74 ] && grep -q "cannot read 'data/coads-[a-z]*.dlx': Input/output error" err || { cat err; fail "one read that fails: exit status $status"; }
	rm -rf runs/once
	expect 0 stage once --set data.stage=once
fi
same_run runs/whole runs/once

begin "a damaged record"
flip data/coads-train.dlx 300000
expect 65 stage rotten --set data.stage=rotten
says err "data/coads-train.dlx': sample "
says err ", array '"
says err ', chunk 0 at byte '
cp kept/coads-train.dlx data
expect 0 stage fresh --set data.stage=rotten
same_run runs/whole runs/fresh

begin "a place where nothing can be kept, and a file in place of a folder"
DLX_DEBUG=$plain
: >file
expect 73 stage no --set data.stage=file
says err "cannot create folder 'file': Not a directory"
expect 73 stage no --set data.stage=/proc/dlx
expect 78 stage no --set 'data.stage={copy: all}'
says err "'stage' needs 'dir'"
expect 78 stage no --set data.stage=true
expect 78 env -u TMPDIR "$train" --set run.dir=runs/no --set 'data.stage=$TMPDIR' "$config"
says err "the environment variable 'TMPDIR' is not set"
expect 0 env TMPDIR="$PWD/tmp" "$train" --set run.dir=runs/tmp --set 'data.stage={dir: $TMPDIR/samples}' "$config"
[ "$(ls tmp/samples | wc -l)" -eq 4 ] || fail "not in TMPDIR"
expect 0 stage off --set data.stage=false
[ ! -e false ] || fail "false is taken for a folder"
pass
