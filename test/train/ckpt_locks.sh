#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Two runs save in one store at a time, and come to the bits that they have alone; two processes of one run are distinguished by a
# lock; on a file system without locks a warning says that they are not, and neither harms what the other has saved.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
sed 's/crop: {size: .*}/crop: {size: [20, 28]}/' "$DLX_SOURCE/test/train/tiny.yaml" >tiny.yaml
export OMP_NUM_THREADS=1
set -- --set train.steps=24 --set train.batch_size=1 --set checkpoint.every.steps=1 --set checkpoint.keep.last=2 \
	--set train.validate.epochs=0

# start NAME RUN OPTION...: in the background, with its output in NAME.out and NAME.err; its process in $pid.
start() {
	what=$1 run=$2
	shift 2
	"$train" --set run.dir="$run" "$@" tiny.yaml >"$what.out" 2>"$what.err" &
	pid=$!
}

# ended NAME PID STATUS
ended() {
	ends "$2"
	[ "$status" -eq "$3" ] || { cat "$1.out" "$1.err"; fail "$1: exit status $status instead of $3"; }
}

# intact RUN LEAST: its store is intact, and has at least this many versions.
intact() {
	expect 0 "$ckpt" "$1" verify
	[ "$(ls "$1"/checkpoints/versions | wc -l)" -ge "$2" ] || fail "$1: versions are lost"
}

# Alone, and at a time in one store: a chunk that both have is there once, and neither removes what the other needs.
for seed in 1 2; do
	expect 0 "$train" --set run.dir=runs/alone-$seed --set run.seed=$seed "$@" tiny.yaml
done
start one runs/one --set run.seed=1 --set checkpoint.store=store "$@"
one=$pid
start two runs/two --set run.seed=2 --set checkpoint.store=store "$@"
two=$pid
ended one $one 0
ended two $two 0
[ "$(ls store/versions | wc -l)" -le 6 ] || fail "old versions stay in a shared store"
for seed in 1 2; do
	run=$(echo one two | cut -d' ' -f$seed)
	expect 0 "$ckpt" runs/$run verify
	last=$(sed -n 's/.*"type": "checkpoint", "step": 24, "id": "\([^"]*\)".*/\1/p' runs/$run/metrics.jsonl)
	for a in "store/versions/$last.json" "$(version_of runs/alone-$seed)"; do
		sed -n '/^  "tensors"/,/^  ]/p' "$a" | sha256sum
	done >hashes
	[ "$(sort -u hashes | wc -l)" -eq 1 ] || fail "$run: in a shared store it comes to other bits"
	expect 0 "$train" --set run.dir=runs/$run --set run.seed=$seed "$@" --resume tiny.yaml
	says out "$(echo "$last" | sed 's/^0*//')"
done

# The same run twice: the second is refused while the first saves.
start first runs/both --set run.seed=1 "$@" --set train.steps=100000
first=$pid
reached runs/both/metrics.jsonl '"type": "checkpoint"' $first
expect 69 "$train" --set run.dir=runs/both --set run.seed=1 "$@" --resume tiny.yaml
says err "another process saves its checkpoints in 'runs/both/checkpoints'"
send TERM $first
ended first $first 75

# Without locks: killed in the middle of a save, it goes on to the bits of the run alone, and says what may happen.
DLX_DEBUG=$(debug locks=no)
warning="cannot be locked (No locks available): another process that saves there would not be noticed"
DLX_DEBUG=$(debug crash_at=ckpt_pack#5) "$train" --set run.dir=runs/killed --set run.seed=1 "$@" tiny.yaml >out 2>err
[ $? -eq 137 ] || { cat out err; fail "not killed"; }
says err "$warning"
expect 0 "$train" --set run.dir=runs/killed --set run.seed=1 "$@" --resume tiny.yaml
says err "$warning"
same_run_state() { [ "$(newest_state "$1")" = "$(newest_state "$2")" ] || fail "$2: not the bits of $1"; }
same_run_state runs/alone-1 runs/killed
intact runs/killed 2

# The same run twice at a time: both end, and what each has saved last is intact.
expect 0 "$train" --set run.dir=runs/twice --set run.seed=1 "$@" --set train.steps=2 tiny.yaml
start one runs/twice --set run.seed=1 "$@" --resume
one=$pid
start two runs/twice --set run.seed=1 "$@" --resume
two=$pid
ended one $one 0
ended two $two 0
says one.err "$warning"
says two.err "$warning"
intact runs/twice 2
same_run_state runs/alone-1 runs/twice
expect 0 "$train" --set run.dir=runs/twice --set run.seed=1 "$@" --resume tiny.yaml
pass
