#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What a run says of its ranks: the grid, as planned and as it is; sums and messages, counted as planned; own work, waits and
# efficiency; and what dlx-report makes of it.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
coads_data
sed 's/crop: {size: .*}/crop: {size: [20, 28]}/' "$DLX_SOURCE/test/train/tiny.yaml" >tiny.yaml
config=tiny.yaml
export OMP_NUM_THREADS=1
set -- --set train.steps=20 --set train.validate.epochs=0 --set train.batch_size=1

# The grid of ranks that are not there.
expect 0 "$train" --plan --ranks 4x2 "$config"
says out 'ranks         8, batches of 3: 24 samples a step'
says out 'grid          4 hosts x 2 ranks'
says out 'sums          2 a step, in each host in shared memory, then between hosts in 2 shards,'
expect 0 "$train" --plan=json --ranks 1x3 "$config"
says out '"ranks": {"hosts": 1, "ranks": 3, "shards": 0, "grid": [{"ranks": [0, 1, 2]}]},'
says out '"sums": 2, "messages": 0,'
expect 0 "$train" --plan=json --ranks 2 "$config"
says out '{"hosts": 1, "ranks": 2, "shards": 0, "grid": [{"ranks": [0, 1]}]},'
for wrong in 0 3x x3 0x3 3x0 2x2x2 1000x1001 1e3; do
	expect 64 "$train" --plan --ranks $wrong "$config"
	says err "'--ranks $wrong': expected a number from 1 to 1000000, or hosts x ranks of each, as in 4x8"
done

# value KEY FILE: of a number in a line of JSON.
value() {
	sed -n "s/.*\"$1\": \([-0-9.e]*\)[,}].*/\1/p" "$2" | head -n 1
}
holds() {
	awk "BEGIN { exit !($1) }" || fail "$2: $1"
}

# runs NAME HOSTS RANKS SETTING...: trains, and compares what was counted with the plan.
runs() {
	name=$1
	hosts=$2
	ranks=$3
	shift 3
	DLX_DEBUG=$(debug ranks_per_host=$((ranks / hosts)))
	expect 0 on_ranks "$ranks" "$train" --plan=json "$@" "$config"
	mv out plan
	expect 0 on_ranks "$ranks" "$train" --set run.dir=runs/"$name" "$@" "$config"
	says out "$hosts host"
	grep '"type": "rates"' runs/"$name"/metrics.jsonl | tail -n 1 >rates
	holds "$(value sums rates) == $(value sums plan)" "$name: sums"
	holds "$(value messages rates) == $(value messages plan)" "$name: messages"
	holds "$(value messages plan) $([ "$hosts" -gt 1 ] && echo '>' || echo '==') 0" "$name: messages between $hosts hosts"
	holds "0 < $(value work_min rates) && $(value work_min rates) <= $(value work_median rates)" "$name: own work"
	holds "$(value work_median rates) <= $(value work_max rates) && $(value work_max rates) <= $ranks * $(value step_seconds rates)" "$name: own work"
	holds "0 <= $(value exposed rates) && $(value exposed rates) < 1 && $(value slowest_rank rates) < $ranks" "$name: exposed"
	holds "$(value sustained rates) <= $(value best rates)" "$name: sustained and best"
	holds "$(value samples rates) / $(value seconds rates) / $(value sustained rates) - 1 < 1e-6" "$name: sustained"
	holds "$(value decoded rates) >= $(value samples rates) * 5 * 90 * 180 * 4 && $(value read rates) < $(value decoded rates)" "$name: bytes"
	holds "$(value sent rates) == 0 && 0 <= $(value waited rates) && $(value waited rates) < 1" "$name: data"
	DLX_DEBUG=$(debug ranks_per_host=0)
}
runs two 1 2 "$@"
says out 'of own work in a step of'
# Without a figure of one rank the efficiency is own work by step.
holds "($(value efficiency rates) + $(value exposed rates) - 1) ^ 2 < 1e-12" efficiency
runs hosts 2 4 "$@"
runs wire 2 4 "$@" --set precision.wire=bf16 --set parallel.grouping=none
runs statistics 2 4 "$@" --set parallel.sync_batch_norm=true
runs teams 2 4 "$@" --set parallel.sync_batch_norm=2 --set train.accumulate=2
runs lag 1 3 "$@" --set parallel.gradient_lag=1 --set parallel.grouping=count:3
# With one, it is that: a batch of 1 at 2 samples/s is half a second.
runs given 1 2 "$@" --set report.one_rank=2
holds "($(value efficiency rates) * $(value step_seconds rates) / 0.5 - 1) ^ 2 < 1e-12" efficiency

# One line at the end of each start, also of one rank, and each run is distinguished.
expect 0 "$train" --set run.dir=runs/one "$@" "$config"
says out 'sustained '
grep -q '^data  .* read, .* decoded; .* % of the steps. time was spent waiting for it$' out || fail "nothing is said of the data"
grep '"type": "rates"' runs/one/metrics.jsonl >rates
holds "$(value decoded rates) >= $(value samples rates) * 5 * 90 * 180 * 4" "one: bytes"
grep -q 'ranks  ' out && fail "a run on one rank speaks of ranks"
[ "$(grep -c '"type": "rates"' runs/one/metrics.jsonl)" -eq 1 ] || fail "not one line of rates"
expect 0 "$DLX_BUILD/dlx-report" runs/one runs/two runs/hosts
says out 'slowest rank'
expect 0 "$DLX_BUILD/dlx-report" --json runs/one runs/two
says out '"efficiency_of_ranks": '
says out "\"data_read\": $(value read rates), \"data_sent\": 0, \"data_decoded\": $(value decoded rates), \"data_waited\": "
expect 0 "$DLX_BUILD/dlx-report" runs/one
grep -q exposed out && fail "a report on one rank has columns for several"
expect 0 "$DLX_BUILD/dlx-report" --speed runs/one
says out '  GB read'
grep -q exposed out && fail "a table of speeds on one rank has columns for several"
pass
