#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A copy of the folder of a run in a shared store is another run: it is refused, with a command that makes a run of its own of it, and
# the original goes on from what it has saved itself. A folder that was moved, to another file system too, goes on with a note.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
every="--set checkpoint.every.steps=2"

# start NAME: a run in the store.
start() {
	expect 0 "$train" --set run.dir="$1" --set checkpoint.store="$PWD/store" $every --set train.steps=4 "$config"
}

# goes_on FROM STEPS OPTION... FOLDER
goes_on() {
	from=$1 steps=$2
	shift 2
	expect 0 "$train" --resume --set train.steps="$steps" $every "$@"
	says out "(step $from)"
}

# refused FOLDER TEXT: as a copy, of what TEXT says; nothing is removed or written, what reads it says so, and the way out is one.
refused() {
	ls store/versions store/hold >before 2>&1
	cksum "$1/metrics.jsonl" >>before
	expect 64 "$train" --resume --set train.steps=20 --set optimizer.learning_rate=0.5 "$1"
	says err "'$1' is a copy of the run $2"
	way=$(sed -n "s/.*'dlx-ckpt \([^']*\) NEW-FOLDER'.*/\1/p" err)
	ls store/versions store/hold >after 2>&1
	cksum "$1/metrics.jsonl" >>after
	cmp before after || fail "$1: something has changed"
	for how in --evaluate '--export weights.safetensors'; do
		expect 0 "$train" $how "$1"
		says err "'$1' seems to be a copy of the run in "
	done
	expect 0 "$ckpt" "$1" log
	says err "'$1' seems to be a copy of the run in "
	expect 0 "$ckpt" $way "$1-fork"
	expect 0 "$train" --resume --set train.steps=5 "$1-fork"
}

copy() {
	if command -v rsync >/dev/null; then rsync -a "$1/" "$2"; else cp -a "$1" "$2"; fi
}

begin "the original is there: whichever has continued since"
start runs/one
for how in 'cp -r' 'cp -a' copy; do
	to=runs/$(echo "$how" | tr -d ' ')
	$how runs/one "$to"
	refused "$to" "in '$PWD/runs/one'"
	says out '(step 4)'
done
goes_on 4 6 runs/one
expect 64 "$train" --resume runs/copy
goes_on 6 8 runs/one

begin "a copy of a fork, and one of a folder whose run has the copy's lock"
expect 0 "$ckpt" runs/one fork last runs/fork
cp -r runs/fork runs/fork2
refused runs/fork2 "in '$PWD/runs/fork'"
goes_on 8 9 runs/fork
"$train" --quiet --resume --set train.steps=1000000 $every runs/one >out 2>err &
pid=$!
reached runs/one/metrics.jsonl '"step": 12' $pid
cp -r runs/one runs/busy
expect 64 "$train" --resume runs/busy
says err "in '$PWD/runs/one'"
send TERM $pid
ends $pid
[ $status -eq 75 ] || fail "the run that was copied ends with status $status"

begin "moved folders"
# Also to where it was, by a copy whose original is removed, and with other numbers of device and inodes at the same place.
start runs/a
mv runs/a runs/b
goes_on 4 5 runs/b
says err "the run of '$PWD/runs/a' is in '$PWD/runs/b' now"
goes_on 5 6 runs/b
! grep -q 'the run of' err || fail "the folder is moved twice"
mv runs/b runs/a
goes_on 6 7 runs/a
cp -a runs/a runs/c
rm -r runs/a
goes_on 7 8 runs/c
says err "is in '$PWD/runs/c' now"
cp -a runs/c runs/d
rm -r runs/c
mv runs/d runs/c
goes_on 8 9 runs/c
! grep -q 'the run of' err || fail "the folder is where it was"
shm=$(mktemp -d /dev/shm/dlx-test-XXXXXX) && {
	mv runs/c "$shm/c"
	goes_on 9 10 "$shm/c"
	mv "$shm/c" runs/c
	rm -r "$shm"
}
goes_on 10 11 runs/c
ln -s c runs/link
goes_on 11 12 runs/link
! grep -q 'the run of' err || fail "a link is another folder"

begin "the original has continued before it was removed, or another copy has"
cp -a runs/c runs/old
cp -a runs/c runs/older
goes_on 12 14 runs/c
mv runs/c gone
refused runs/old "that was in '$PWD/runs/c' and saved checkpoint '0"
says out '(step 12)'
mv gone runs/e
goes_on 14 15 runs/e
rm -r runs/e
refused runs/older "in '$PWD/runs/e'"

begin "a run that has its store in its own folder is copied with it"
expect 0 "$train" --set run.dir=runs/own --set train.steps=4 $every "$config"
cp -r runs/own runs/own2
goes_on 4 6 runs/own2
goes_on 4 5 runs/own

begin "a fork, or a file's run, within the store"
expect 0 "$ckpt" runs/own export --all last own.npz
for folder in store store/runs store/x runs/own/checkpoints runs/own/checkpoints/new; do
	of=runs/e
	[ -d runs/e ] || of=runs/one
	case $folder in runs/own*) of=runs/own ;; esac
	expect 64 "$ckpt" "$of" fork last "$folder"
	says err "cannot be the folder of a new run"
	expect 64 "$ckpt" "$of" import own.npz "$folder"
	says err "cannot be the folder of a new run"
done
[ ! -e store/x ] && [ ! -e store/run.json ] || fail "a run in the store"
ln -s store elsewhere
expect 64 "$ckpt" runs/one fork last elsewhere/x
expect 0 "$ckpt" runs/own fork last "$PWD/new/run"
expect 0 "$ckpt" runs/own fork last new/other
pass
