#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Batch normalisation by the batches of several ranks: with all ranks together 2, 3 and 4 of them train as one rank with the
# same global batch does, running statistics included; groups of ranks as this many ranks with larger batches. So do micro-batches,
# late gradients, 16 bits, shares that are uneven or empty, several hosts; recomputed or resumed the bits are the same.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
find_python3
coads_data
export OMP_NUM_THREADS=1
config=$DLX_SOURCE/test/train/tiny.yaml
base="--set train.batch_size=null --set train.validate.epochs=0 --set train.steps=$(form 4 9)"
sync=parallel.sync_batch_norm

# run RANKS DIR SETTING...: steps of two epochs or more, and their weights as DIR.safetensors.
run() {
	n=$1
	dir=$2
	shift 2
	expect 0 on_ranks "$n" "$train" --quiet --set run.dir="$dir" $base "$@" "$config"
	expect 0 "$train" --set run.dir="$dir" $base "$@" --export "$dir.safetensors" "$config"
}
close() {
	weights_close "$@" || fail "weights: $*"
}
differ() {
	weights_close "$@" >/dev/null 2>&1 && fail "weights do not differ: $*"
}

# all NAME COUNTS TOLERANCE SETTING...: this many ranks with the statistics of all, against the first count.
all() {
	name=$1
	counts=$2
	tolerance=$3
	shift 3
	one=
	for ranks in $counts; do
		run "$ranks" "runs/$name-$ranks" --set $sync=true "$@"
		[ -z "$one" ] || close "$one.safetensors" "runs/$name-$ranks.safetensors" "$tolerance"
		one=${one:-runs/$name-$ranks}
	done
}

begin "the statistics of all ranks"
# With eight samples: a batch of 12, larger than the set; batches of 4; batches of 6 and 2, of which one rank of three has none.
all twelve "$(form "1 3" "1 2 3 4")" 5e-5 --set train.global_batch_size=12
all four "$(form "1 4" "1 2 4")" 5e-5 --set train.global_batch_size=4 --set 'optimizer={type: adam, learning_rate: 0.003}'
all six "$(form "1 3" "1 2 3")" 5e-5 --set train.global_batch_size=6 --set train.clip_norm=0.5
all micro "1 2" 1e-3 --set train.global_batch_size=2 --set train.accumulate=3
all late "$(form "1 3" "1 2 3")" 5e-5 --set train.global_batch_size=6 --set parallel.gradient_lag=1
all scaled "1 2" 5e-5 --set train.global_batch_size=4 --set precision.loss_scale=dynamic
all half "1 2" 0.1 --set train.global_batch_size=4 $(compute_bf16 "$config")
# In double precision, which takes its time, nothing but the rounding of files is left.
sed 's/crop: {size: .*}/crop: {size: [16, 20]}/' "$config" >small.yaml
config=small.yaml
all double "1 3" 1e-7 --set train.global_batch_size=6 --set device=reference --set train.steps=3
all double-micro "1 2" 1e-7 --set train.global_batch_size=2 --set train.accumulate=3 --set device=reference --set train.steps=2
config=$DLX_SOURCE/test/train/tiny.yaml

begin "one step, by its files: gradients of scales and shifts are not summed twice"
for n in $(form "1 3" "1 2 3"); do
	expect 0 on_ranks $n "$train" --set $sync=true $base --set train.global_batch_size=6 --dump-step step-$n "$config"
	close step-1/gradients.safetensors step-$n/gradients.safetensors 1e-5
done

begin "without it ranks have other results, and on one rank it has no effect"
run 2 runs/local --set train.global_batch_size=4
differ runs/four-1.safetensors runs/local.safetensors 1e-3
run 1 runs/alone --set train.global_batch_size=6 --set train.clip_norm=0.5
cmp runs/alone.safetensors runs/six-1.safetensors || fail "it changes one rank"

# Batches are small, and what is rounded differently grows in the steps of them; in double precision it does not.
exact="--set device=reference --set train.steps=2"

begin "groups of ranks"
# Groups of two of four ranks are two ranks with twice the batch; also those of a last batch of two samples for six ranks, in which
# the first group has none. The mean of all statistics is that of the groups'.
for average in $(form true "true false"); do
	set -- --set train.global_batch_size=4 --set parallel.average_statistics=$average
	run 4 runs/pairs-$average "$@" --set $sync=2
	run 2 runs/two-$average "$@"
	close runs/two-$average.safetensors runs/pairs-$average.safetensors 1e-3
	config=small.yaml
	run 4 runs/pairs-exact-$average "$@" $exact --set $sync=2
	run 2 runs/two-exact-$average "$@" $exact
	config=$DLX_SOURCE/test/train/tiny.yaml
	close runs/two-exact-$average.safetensors runs/pairs-exact-$average.safetensors 1e-7
done
run 6 runs/six-pairs --set train.global_batch_size=6 $exact --set $sync=2
run 3 runs/three --set train.global_batch_size=6 $exact
close runs/three.safetensors runs/six-pairs.safetensors 1e-4       # the sample that stands in for none was counted twice

begin "hosts: groups inside of them, over two of them, and all ranks"
run 2 runs/two --set train.global_batch_size=4
for hosts in $(form 2 "1 2"); do
	DLX_DEBUG=$(debug ranks_per_host=$hosts)
	run 4 runs/hosts-$hosts --set train.global_batch_size=4 --set $sync=2
	close runs/two.safetensors runs/hosts-$hosts.safetensors 1e-3
	run 4 runs/hosts-all-$hosts --set train.global_batch_size=12 --set $sync=true
	close runs/twelve-1.safetensors runs/hosts-all-$hosts.safetensors 5e-5
	DLX_DEBUG=$(debug ranks_per_host=0)
done

begin "recomputation under a limit of memory: the same bits, no further message"
set -- --set train.global_batch_size=8 --set train.steps=3 --set $sync=true
expect 78 "$train" --plan --ranks=2 $base "$@" --set train.memory.limit=1 "$config"
least=$(least_limit)
for limit in null $least; do
	expect 0 "$train" --plan --ranks=2 $base "$@" --set train.memory.limit=$limit "$config"
	cp out "plan-$limit"
	says out "batch norm    statistics of all 2 ranks: 10 sums more"
	run 2 "runs/limit-$limit" "$@" --set train.memory.limit=$limit
done
grep -q ' batch_norm_apply ' "plan-$least" || fail "the limit of $least has nothing run again"
[ "$(newest_state runs/limit-null)" = "$(newest_state "runs/limit-$least")" ] || fail "run again, other bits"

begin "stopped and resumed, on as many ranks the same bits, on others the same steps"
set -- --set train.global_batch_size=6 --set $sync=true
run 3 runs/whole "$@"
run 3 runs/stopped "$@" --set train.steps=2
run 3 runs/stopped "$@" --resume
[ "$(newest_state runs/whole)" = "$(newest_state runs/stopped)" ] || fail "resumed, other bits"
run 3 runs/moved "$@" --set train.steps=2
run 2 runs/moved "$@" --resume
close runs/whole.safetensors runs/moved.safetensors 5e-5

begin "messages and refusals"
expect 0 "$train" --plan --ranks=4 $base --set train.global_batch_size=4 --set train.accumulate=3 --set $sync=2 "$config"
says out "batch norm    statistics of each 2 ranks: 30 sums more, 5.86 KiB"
expect 0 "$train" --plan=json --ranks=4 $base --set train.global_batch_size=4 --set $sync=true "$config"
says out '"batch_statistics": {"ranks": 4, "reductions": 10, "bytes": 2000}'
says out '"sync_batch_norm": true'
expect 0 "$train" --plan=json $base --set train.global_batch_size=4 --set $sync=true "$config"
says out '"batch_statistics": {"ranks": 1, "reductions": 0, "bytes": 0}'
expect 78 on_ranks 3 "$train" --set $sync=2 "$config"
says err "3 ranks cannot be divided into groups of 2, which 'sync_batch_norm' asks for"
for bad in 0 -1 some 1.5 '[2]'; do
	expect 78 "$train" --check --set "$sync=$bad" "$config"
	says err "'sync_batch_norm' must be false, true"
done

begin "a rank that is stopped is named with the layer whose statistics wait for it, once"
capped mpiexec -disable-auto-cleanup -n 4 sh -c 'echo $$ >pid.$PMI_RANK; exec "$@"' sh "$train" --set run.dir=runs/stuck $base \
	--set train.global_batch_size=4 --set train.steps=1000000 --set $sync=2 --set parallel.timeout=20s "$config" >out 2>err </dev/null &
job=$!
reached runs/stuck/metrics.jsonl '"step": 4,' $job
send STOP "$(cat pid.3)"
ends $job
! alive "$(cat pid.3)" || send KILL "$(cat pid.3)"
[ $status -eq 69 ] || fail "exit status $status of a run with a rank that stands still"
[ "$(grep -c 'is not complete after' err)" = 1 ] || fail "not one report: $(cat err)"
grep -q 'rank 3 (host .*, stopped)' err || fail "the report does not name rank 3: $(cat err)"
pass
