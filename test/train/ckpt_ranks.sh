#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Versions that two ranks have written are read by three and by one, with every bit; a run goes on exactly: in the middle of an
# epoch, with accumulation, from a fork, and under `reproducible` on another number of ranks. Stopped by a signal in the middle of
# an accumulation it ends with a whole step.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
coads_data
sed 's/crop: {size: .*}/crop: {size: [20, 28]}/' "$DLX_SOURCE/test/train/tiny.yaml" >tiny.yaml
export OMP_NUM_THREADS=1
DLX_DEBUG=$(debug read_share=1000)      # small as they are, each rank has a share of the versions here

# run RANKS DIR SETTING...
run() {
	n=$1 dir=$2
	shift 2
	expect 0 on_ranks "$n" "$train" --quiet --set run.dir="$dir" --set train.validate.epochs=0 "$@" tiny.yaml
}

# state_of RUN: hash of the tensors of its newest version, wherever its store is.
state_of() {
	store=$(sed -n 's/.*"store": "\([^"]*\)".*/\1/p' "$1/checkpoints/run.json")
	[ "$store" != . ] || store=$1/checkpoints
	last=$("$ckpt" "$1" show last | sed -n 's/^version *//p')
	sed -n '/^  "tensors"/,/^  ]/p' "$store/versions/"*"$last.json" >tensors
	[ -s tensors ] || fail "$1: no tensors in its newest version"
	sha256sum <tensors
}

# equal RUN RUN: the bits of their newest versions.
equal() {
	[ "$(state_of "$1")" = "$(state_of "$2")" ] || fail "$2: not the bits of $1"
}

# weights RUN: their names and contents in its newest version.
weights() {
	sed -n 's/.*"name": "\([^"]*\)".*"use": "weight", \("chunks": .*\)}.*/\1 \2/p' "$(version_of "$1")"
}

begin "two ranks write a part each; three, and one, continue and save the same bits"
set -- --set model.batch_norm=none --set train.batch_size=null --set train.global_batch_size=6 --set optimizer.momentum=0
run 2 runs/written "$@" --set train.steps=3
[ "$(ls runs/written/checkpoints/packs | wc -l)" -eq 2 ] || fail "not a pack of each of two ranks"
weights runs/written >written
[ "$(wc -l <written)" -ge 9 ] || { cat written; fail "no weights in the manifest"; }
for n in 3 1; do
	cp -r runs/written runs/read-$n
	run $n runs/read-$n "$@" --set train.steps=4 --resume \
		--set "optimizer.groups=[{match: '*', learning_rate_factor: 0}]"
	[ "$(steps_of runs/read-$n)" -eq 4 ] || fail "$n ranks: no step was made"
	weights runs/read-$n >read
	cmp written read || fail "$n ranks have read other weights than 2 have written"
	expect 0 "$ckpt" runs/read-$n verify
done

begin "each rank reads a share"
# By the system calls all but the ends and indices of packs is read once.
evaluated() {
	tail -n 1 out | grep '^{' || { cat out; fail "no metrics"; }
}
expect 0 "$train" --quiet --evaluate runs/written/config.yaml
evaluated >alone
if strace -o traced true 2>/dev/null; then
	mkdir traces
	expect 0 capped strace -ff -y -e trace=pread64 -o traces/of mpiexec -n 3 "$train" --quiet --evaluate runs/written/config.yaml
	evaluated >together
	cmp alone together || fail "read by three ranks the version has other metrics"
	[ "$(grep -l 'packs/[^>]*\.pack>' traces/of.* | wc -l)" -eq 3 ] || fail "not each of three ranks has read packs"
	for trace in $(grep -l 'packs/[^>]*\.pack>' traces/of.*); do
		sed -n 's/^pread64([0-9]*<[^>]*packs\/\([^>]*\)>.*, \([0-9]*\)) = \([0-9]*\)$/\1 \2 \3/p' "$trace" | sort -u >"$trace.read"
	done
	cat traces/*.read | sort | uniq -c | awk '$1 == 1' >once
	[ "$(wc -l <once)" -ge 9 ] || { cat traces/*.read; fail "ranks have read the same chunks"; }
fi

begin "ranks that do not see the files, or find them damaged, leave it to rank 0"
expect 0 on_ranks 3 sh -c '[ "$PMI_RANK" = 0 ] || mkdir -p blind; [ "$PMI_RANK" = 0 ] || cd blind; exec "$@"' sh "$train" --quiet \
	--evaluate --set data.validation="$PWD/data/coads-validation.dlx" "$PWD/runs/written/config.yaml"
evaluated >blind.out
cmp alone blind.out || fail "where others do not see the files the version has other metrics"
cp -r runs/written runs/damaged
for pack in runs/damaged/checkpoints/packs/*; do
	printf X | dd of="$pack" bs=1 seek=100 conv=notrunc status=none
done
expect 65 on_ranks 3 "$train" --quiet --evaluate --set run.dir=runs/damaged runs/written/config.yaml
[ "$(grep -c 'is damaged and skipped' err)" -eq 1 ] || { cat err; fail "a damaged version is not reported once"; }

begin "packs of a killed job are removed"
# Packs that a killed job has left go while rank 0 removes old versions, slowly here: rank 1 does not begin the next version before,
# and so does not count on a chunk that is about to go.
run 2 runs/orphans --set train.steps=4 --set checkpoint.every.steps=1 --set checkpoint.keep.last=4
rm runs/orphans/checkpoints/versions/*0[34]-*.json
[ "$(ls runs/orphans/checkpoints/packs | wc -l)" -eq 8 ] || fail "not a pack of each of two ranks in each of four versions"
slow='strace -f -o traced -e trace=unlink,unlinkat -e inject=unlink,unlinkat:delay_enter=300000'
if $slow true 2>/dev/null; then
	expect 0 on_ranks 2 sh -c '[ "$PMI_RANK" = 0 ] && exec '"$slow"' "$@"; exec "$@"' sh "$train" --resume --set train.steps=4 \
		--set run.dir=runs/orphans runs/orphans/config.yaml --set checkpoint.keep.last=1
	grep -q 'unlink.*packs/' traced || { cat traced; fail "no pack was removed"; }
	! grep 'has not written its part' err || fail "rank 0 has removed what rank 1 counted on"
fi

begin "two ranks, stopped within an epoch, and a fork from there"
# An epoch of 8 samples, 4 in a step of two micro-batches.
set -- --set train.batch_size=1 --set train.accumulate=2 --set train.clip_norm=1.0
run 2 runs/whole "$@" --set train.steps=6
run 2 runs/stopped "$@" --set train.steps=3
run 2 runs/stopped "$@" --set train.steps=4 --resume
expect 0 "$ckpt" runs/stopped fork 3 runs/fork
run 2 runs/fork "$@" --set train.steps=6 --resume
equal runs/whole runs/fork
run 2 runs/stopped "$@" --set train.steps=6 --resume
equal runs/whole runs/stopped

begin "on other numbers of ranks, each from within an epoch"
set -- --set parallel.reproducible=true --set train.batch_size=1 --set train.global_batch_size=4
run 1 runs/one "$@" --set train.steps=6
run 2 runs/moved "$@" --set train.steps=1
run 4 runs/moved "$@" --set train.steps=3 --resume
expect 0 "$ckpt" runs/moved fork last runs/forked
run 1 runs/moved "$@" --set train.steps=6 --resume
equal runs/one runs/moved
run 2 runs/forked "$@" --set train.steps=6 --resume
equal runs/one runs/forked

begin "a signal within an accumulation"
set -- --set train.batch_size=1 --set train.accumulate=4 --set train.validate.epochs=0 --set checkpoint.every.steps=1 \
	--set checkpoint.keep.last=1000
"$train" --set run.dir=runs/signal "$@" --set train.steps=100000 tiny.yaml >out 2>err &
pid=$!
reached runs/signal/metrics.jsonl '"type": "checkpoint"' $pid
stop $pid
[ $status -eq 75 ] || { cat out err; fail "exit status $status of a run that was stopped"; }
at=$(steps_of runs/signal)
run 1 runs/signal "$@" --set train.steps=$((at + 3)) --resume
run 1 runs/undisturbed "$@" --set train.steps=$((at + 3))
equal runs/undisturbed runs/signal
pass
