#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# parallel.reproducible with an emulated GPU each: one global batch gives the same bits on 1, 2, 3 and 4 of them, whatever the
# optimizer, lag, grouping, hosts and order of streams; also where a run goes on on another number, and where the last step of an
# epoch has fewer micro-batches than ranks.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
several_ranks

# run RANKS DIR SETTING...: two steps of a small crop
run() {
	n=$1
	dir=$2
	shift 2
	expect 0 on_ranks "$n" sh -c 'export DLX_EMULATE_GPUS=$PMI_RANK; exec "$@"' sh "$emulated" --quiet --device=cuda \
		--set parallel.reproducible=true --set run.dir="$dir" --set train.validate.epochs=0 \
		--set 'data.transforms=[{crop: {size: [8, 12]}}]' --set parallel.grouping=count:2 --set train.steps=2 "$@" "$config"
}

# equal NAME COUNTS SETTING...: on these numbers of ranks.
equal() {
	name=$1
	counts=$2
	shift 2
	first=
	for n in $counts; do
		run "$n" "runs/$name-$n" "$@"
		[ "$first" ] && same_run "$first" "runs/$name-$n"
		first=${first:-runs/$name-$n}
	done
}
four="--set train.global_batch_size=4 --set train.batch_size=1"
equal base "1 2 4" $four
[ "$(losses_of runs/base-1 | sort -u | wc -l)" -eq 3 ] || fail "not two losses and a validation: $(losses_of runs/base-1)"
equal adam "1 2" $four --set 'optimizer={type: adam, learning_rate: 0.003}' --set parallel.gradient_lag=1 --set parallel.grouping=none \
	--set train.clip_norm=0.3 --set train.steps=3
# Steps of six leaves and, of the eight samples, of two, for which one rank of three has none.
equal six "1 3" --set train.global_batch_size=6 --set train.batch_size=1

# Hosts, and another order of streams, change nothing; without the key other bits come out.
DLX_EMULATE_ORDER=early DLX_DEBUG=$(debug ranks_per_host=2) run 4 runs/hosts $four
same_run runs/base-1 runs/hosts
run 2 runs/plain $four --set parallel.reproducible=false --set train.global_batch_size=null --set train.accumulate=2
[ "$(newest_state runs/plain)" != "$(newest_state runs/base-1)" ] || fail "reproducible changes nothing"

# Two ranks, then one, and then two, with sums that are late.
late="$four --set parallel.gradient_lag=1"
run 1 runs/late $late --set train.steps=3
run 2 runs/moved $late --set train.steps=1
run 1 runs/moved $late --set train.steps=2 --resume
run 2 runs/moved $late --set train.steps=3 --resume
[ "$(newest_state runs/late)" = "$(newest_state runs/moved)" ] || fail "2, 1 and 2 ranks: not the bits of one"
pass
