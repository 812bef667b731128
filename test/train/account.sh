#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A run takes the memory that was planned, to the byte: alone, with plans that come late, on several ranks; metrics.jsonl has both
# numbers. One that takes more is found out: an error where DLX_DEBUG=strict=yes requests it, else a warning, said once.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
case $DLX_DEBUG in
*strict=yes) ;;
*) fail "tests are to be strict" ;;
esac

# accounted DIR: its start line has the same number twice, which is the sum of its parts.
accounted() {
	sed -n 's/.*"type": "start".*"memory": {\(.*\)}}$/\1/p' "$1/metrics.jsonl" | tr -d '",' | awk '
	{ for (i = 1; i < NF; i += 2) v[$i] = $(i + 1) }
	END {
		parts = v["values:"] + v["inputs:"] + v["arena:"] + v["tables:"]
		exit !(v["planned:"] > 4000000 && v["planned:"] == v["allocated:"] && v["planned:"] == parts)
	}' || { head -n 1 "$1/metrics.jsonl"; fail "$1: not what was planned"; }
}
n=0
expect 78 "$train" --check --set train.memory.limit=1KiB "$config"
limit=$(least_limit)
for how in train.steps=4 train.steps=6 train.memory.limit=$limit 'optimizer.average=0.9' train.accumulate=2; do
	n=$((n + 1))
	set -- --set "$how"
	expect 0 "$train" --quiet --set train.steps=3 "$@" --set run.dir=runs/$n "$config"
	[ "$n" = 3 ] || accounted runs/$n
	expect 0 "$train" --quiet --evaluate --set run.dir=runs/$n "$@" "$config"
done
expect 0 "$train" --quiet --bench=2 "$config"
expect 0 "$train" --quiet --dump-step dump "$config"
expect 0 "$train" --quiet --export x.safetensors "$config"
# What the plan is called is what --check calls it.
plan=$(sed -n 's/.*"plan": "\([0-9a-f]*\)".*/\1/p' runs/1/metrics.jsonl)
expect 0 "$train" --check --set train.steps=4 "$config"
says out "fingerprint $plan"

DLX_DEBUG=$(debug fault=arena:1) expect 70 "$train" --set train.steps=3 --set run.dir=runs/more "$config"
says err 'bytes of memory, where'
[ ! -e runs/more/metrics.jsonl ] || fail "a step was made"
DLX_DEBUG=$(debug fault=arena:1 strict=no) expect 0 "$train" --set run.dir=runs/more "$config"
[ "$(grep -c 'warning: the run has taken .* were planned' err)" -eq 1 ] || { cat err; fail "not one warning"; }
grep -q '"memory": {"planned"' runs/more/metrics.jsonl || fail "no account of a run that took more"

find_mpiexec
for how in parallel.sync_batch_norm=false parallel.sync_batch_norm=true parallel.reproducible=true; do
	n=$((n + 1))
	expect 0 timeout 150 mpiexec -n 2 "$train" --quiet --set train.steps=3 --set "$how" --set run.dir=runs/$n "$config"
	accounted runs/$n
done
pass
