#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-simulate: mistakes in a cluster's file have a place and a remedy; a row is the number that --plan prints; from one number of ranks
# to its double efficiency does not rise, and a lag does not expose more; measured times of one rank are that rank's step; a published
# efficiency is met by the noise that is fitted to it; and steps of kernels that sleep, among ranks and modelled peers, are never shorter
# than simulated. No time is judged from above.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
simulate=$DLX_BUILD/dlx-simulate bench_program=$DLX_BUILD/dlx-bench
clusters=$DLX_SOURCE/configs/cluster
tiramisu=$DLX_SOURCE/configs/tiramisu-daint.yaml

# --- cluster files ---

# mistake LINE:COLUMN TEXT SED: in Piz Daint's file so changed, found by both programs.
mistake() {
	sed "$3" "$clusters/daint.yaml" >cluster.yaml
	for program in "$simulate --ranks=8" "$train --quiet --plan --ranks=8"; do
		expect 78 $program --cluster cluster.yaml "$tiramisu"
		says err "cluster.yaml:$1: $2"
		grep -q '\^' err || { cat err; fail "no caret"; }
	done
}
mistake 11:3 "unknown key 'bandwith' in 'device'; did you mean 'bandwidth'?" 's/bandwidth: 732/bandwith: 732/'
mistake 3:1 "unknown key 'host' in a cluster file; did you mean 'hosts'?" 's/^hosts/host/'
mistake 6:7 "'sums' must be one of nccl, mpi, each, not 'mpl'; did you mean 'mpi'?" 's/^sums: mpi/sums: mpl/'
mistake 4:8 "'ranks' is out of range" 's/^ranks: 1/ranks: 0/'
mistake 7:1 "'device' needs 'f32', 'bits16' and 'bandwidth'" '/^  f32/d'
mistake 14:3 "'across' has 7 'bytes' and 8 'seconds'" 's/bytes: \[8, /bytes: [/'
mistake 14:3 "the curve of 'across' must have two points at least" 's/bytes: \[8, 1024/bytes: [1024, 8/'
mistake 14:3 "'links.across' needs 'bandwidth', or a curve" '/^    bytes/d; /^    seconds/d'
expect 66 "$simulate" --cluster none.yaml "$tiramisu"
expect 64 "$simulate" --cluster "$clusters/daint.yaml" --ranks 8,6000 "$tiramisu"
says err '6000 ranks: Piz Daint has 5320 hosts of 1, for 5320 ranks together'
says out '      8      8 '
expect 64 "$train" --quiet --plan --cluster "$clusters/daint.yaml" --ranks 6000 "$tiramisu"
expect 64 "$train" --quiet --cluster "$clusters/daint.yaml" "$tiramisu"
says err "'--cluster' goes with '--check' or '--plan'"
for file in "$clusters"/*.yaml; do
	expect 0 "$simulate" --cluster "$file" --ranks 1,64,4096 "$tiramisu"
	# Each figure has its source on its line, or on the line before.
	awk '/^ *[a-z0-9]+: +[-+0-9.e\[]/ && !/#/ && before !~ /#|bytes/ { print FILENAME ": " $0 } { before = $0 }' "$file" >bare
	[ ! -s bare ] || { cat bare; fail "a figure without a source"; }
done

# --- options ---

expect 64 "$simulate" "$tiramisu"
says err "'--cluster FILE' is missing"
expect 64 "$simulate" --cluster "$clusters/eos.yaml"
says err 'no config file given'
for list in '' 8, ,8 0 8,x 8.5; do
	expect 64 "$simulate" --cluster "$clusters/eos.yaml" "--ranks=$list" "$tiramisu"
done
expect 64 "$simulate" --cluster "$clusters/eos.yaml" --fit 2@8 "$tiramisu"
expect 64 "$simulate" --cluster "$clusters/eos.yaml" --fit 0.9 "$tiramisu"
expect 64 "$simulate" --cluster "$clusters/eos.yaml" --fit 0.9@8 --noise 0.1 "$tiramisu"
expect 64 "$simulate" --cluster "$clusters/eos.yaml" --noise 2 "$tiramisu"
expect 64 "$bench_program" links
expect 64 "$bench_program" links -o links.yaml
says err 'one rank has no links'
expect 73 "$simulate" --cluster "$clusters/eos.yaml" --svg nowhere/x.svg "$tiramisu"

# --- rows ---

cat >rows.py <<'END'
"""rows.py CHECK FILE...: what must hold of simulations as JSON."""
import json
import sys

what, *files = sys.argv[1:]
runs = [json.load(open(f)) for f in files]
rows = [r["rows"] for r in runs]
if what == "same":            # a plan's predicted step is the row's
    plan = json.load(open(files[1]))["predicted"] if "predicted" in runs[1] else None
    row = rows[0][0]
    assert plan["step_seconds"] == row["step_seconds"] and plan["exposed_seconds"] == row["exposed_seconds"], (plan, row)
    assert plan["cluster"] == runs[0]["cluster"] and plan["times"] == row["times"]
elif what == "falls":
    for a, b in zip(rows[0], rows[0][1:]):
        assert b["ranks"] == 2 * a["ranks"]
        assert b["efficiency"] <= a["efficiency"] * (1 + 1e-12), (a, b)
        assert b["efficiency_low"] <= b["efficiency"] <= b["efficiency_high"]
    assert rows[0][0]["efficiency"] == 1 and rows[0][-1]["efficiency"] < 1
elif what == "no_better":     # than 'auto' is another division, but for what the solver does not know of the kernels that the plan will have
    for a, b in zip(*rows):
        assert b["step_seconds"] >= 0.995 * a["step_seconds"], (a, b)
elif what == "cut":           # the last advice is the row that its setting has; a step of whole samples has twice the samples, and arithmetic for them
    change, row, whole = runs[0]["changes"][-1], rows[1][0], rows[0][0]
    assert change["set"] == "parallel.spatial=[2, 1, 1]", change
    assert {k: v for k, v in change.items() if k != "set"} == row
    assert row["subdomains"] == 2 and whole["subdomains"] == 1 and row["batch"] == whole["batch"] / 2
    assert abs(row["samples_per_second"] * row["step_seconds"] / row["batch"] - 1) < 1e-9
    assert row["memory"] <= 2**34 < whole["memory"]
    assert 1 <= (row["flops_per_second"] * row["step_seconds"]) / (whole["flops_per_second"] * whole["step_seconds"]) * 2 < 1.2
elif what == "lag":           # the links alone: what the slowest rank takes longer is a share of kernels, and a lag has more of them
    for a, b in zip(*rows):
        links = [r["exposed_seconds"] - r["slowest_seconds"] for r in (a, b)]
        assert b["lag"] == 1 and links[1] <= links[0] + 1e-12, (a, b)
elif what == "step":
    step = json.load(open(files[1]))["step_median"]
    assert abs(rows[0][0]["step_seconds"] / step - 1) < 1e-6, (rows[0][0], step)
    assert rows[0][0]["times"] == "the profile profile.json"
elif what == "fit":
    assert abs(rows[0][0]["efficiency"] - 0.907) < 1e-9 and rows[0][0]["noise"] > 0
elif what == "longer":        # a step of ranks, or of one among modelled ones, is no shorter than simulated
    step = json.load(open(files[1]))["step_median"]
    assert step >= 0.999 * rows[0][0]["step_seconds"], (step, rows[0][0])
END
# In "same" the second file has no rows.
sed -i 's/^rows = .*/rows = [r.get("rows") for r in runs]/' rows.py
holds() {
	"$python3" rows.py "$@" || fail "rows: $*"
}
rows() {
	expect 0 "$simulate" --json "$@"
	"$python3" "$DLX_SOURCE/test/cli/json_keys.py" out || fail "JSON of $*"
}

for cluster in daint frontier; do
	rows --cluster "$clusters/$cluster.yaml" --ranks 1024 --noise 0 "$tiramisu"
	mv out row.json
	expect 0 "$train" --quiet --plan=json --ranks 1024 --cluster "$clusters/$cluster.yaml" "$tiramisu"
	mv out plan.json
	holds same row.json plan.json
done

# 'auto' divides gradients anew for each number of ranks.
doublings=1,2,4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384
for config in resnet-50 deepcam-mlperf tiramisu-fc-densenet103 cosmoflow-lbann-2023; do
	for cluster in summit daint eos frontier; do
		doubled=$(echo $doublings | sed "$(case $cluster in eos | daint) echo 's/,8192.*//' ;; esac)")
		set -- --cluster "$clusters/$cluster.yaml" --ranks "$doubled" --noise 0.01 --set train.accumulate=1 "$DLX_SOURCE/configs/$config.yaml"
		rows "$@"
		mv out falls.json
		holds falls falls.json
		rows --set parallel.gradient_lag=1 "$@"
		mv out lag.json
		holds lag falls.json lag.json
	done
	rows --set parallel.grouping=count:4 "$@"
	mv out four.json
	holds falls four.json
	holds no_better falls.json four.json
done

# What is given is said, and what is not known is said to be so.
expect 0 "$simulate" --cluster "$clusters/summit.yaml" --ranks 27360 --fit 0.907@27360 --set train.accumulate=1 \
	"$DLX_SOURCE/configs/deeplabv3+-sc18.yaml"
says out 'fitted: an efficiency of 0.907 at 27360 ranks was given'
says out 'kernels by published rates'
rows --cluster "$clusters/summit.yaml" --ranks 27360 --fit 0.907@27360 --set train.accumulate=1 "$DLX_SOURCE/configs/deeplabv3+-sc18.yaml"
mv out fit.json
holds fit fit.json
expect 65 "$simulate" --cluster "$clusters/summit.yaml" --ranks 8 --fit 1@27360 "$tiramisu"
says err 'links alone make the efficiency'
expect 0 "$simulate" --cluster "$clusters/eos.yaml" --ranks 64 --samples 63000 --set train.steps=0 --set train.epochs=2 --set train.accumulate=1 \
	"$tiramisu" --svg rows.svg
says out 'the slowest rank is as fast as others'
grep -q '</svg>' rows.svg || fail "no picture"
expect 0 "$simulate" --cluster "$clusters/eos.yaml" --ranks 64 "$DLX_SOURCE/configs/fcn-pool-avg.yaml"
says out 'how long it takes is not known without the data, or --samples'
expect 0 "$simulate" --cluster "$clusters/eos.yaml" --ranks 64 --set train.accumulate=1 --set train.batch_size=100 "$tiramisu"
says out 'memory        about'
# Of a network whose sums take long something is faster.
sed 's/bandwidth: 400e9/bandwidth: 1e9/' "$clusters/eos.yaml" >slow.yaml
expect 0 "$simulate" --cluster slow.yaml --ranks 4096 --set train.accumulate=1 "$DLX_SOURCE/configs/resnet-50.yaml"
says out 'At 4096 ranks, each planned again:'
says out '--set train.batch_size=64 '
says out 'updates are one step late'

# Where whole samples do not fit, a cut is named, and where the batch has fewer samples than there are ranks.
universe=$DLX_SOURCE/configs/cosmoflow-lbann-2020.yaml
uncut() {
	grep -qF parallel.spatial "$1" && fail "a cut that does not help"
	true
}
set -- --cluster "$clusters/summit.yaml" --ranks 64 --set train.accumulate=1
expect 0 "$simulate" "$@" "$universe"
says out "--set 'parallel.spatial=[2, 1, 1]' "
says out '; fits, unlike whole samples'
rows "$@" "$universe"
mv out uncut.json
rows "$@" --set 'parallel.spatial=[2, 1, 1]' "$universe"
mv out cut.json
holds cut uncut.json cut.json
expect 0 "$simulate" "$@" --set 'model.input.size=[128,128,128]' "$universe"
uncut out
expect 0 "$simulate" "$@" --set 'data.mixup={alpha: 0.2}' "$universe"
uncut out
expect 78 "$simulate" "$@" --set train.batch_size=null --set train.global_batch_size=16 --set 'model.input.size=[128,128,128]' "$universe"
says err 'a global batch of 16 samples cannot be shared evenly by 64 ranks'
says err "for 64 ranks; possible is --set 'parallel.spatial=["
says err 'with which 4 ranks share each sample'
expect 78 "$simulate" "$@" --set train.global_batch_size=16 "$universe"
uncut err

# --- real steps ---

small="--set train.batch_size=2 --set train.accumulate=1 --set model.input.size=[64,64] --set data.transforms=[] --device cpu"
network=$DLX_SOURCE/configs/tiramisu-fc-densenet56.yaml
bench() {
	"$@" --quiet --synthetic $small "$network" </dev/null >out 2>err || { cat out err; fail "$*"; }
}
cat >each.yaml <<'END'
name: a test
hosts: 512
ranks: 8
sums: each
links: {across: {latency: 50e-6, bandwidth: 100e6}}
END
bench "$train" --bench=3 --profile
mv out profile.json
rows --cluster each.yaml --ranks 1 --times profile.json $small "$network"
mv out one.json
holds step one.json profile.json
expect 65 "$simulate" --cluster each.yaml --times profile.json $small --set train.batch_size=3 "$network"
says err 'has batches of 2 samples, the plan has 3'
expect 65 "$simulate" --cluster each.yaml --times profile.json --set train.batch_size=2 --set train.accumulate=1 "$DLX_SOURCE/configs/resnet-50.yaml"
says err 'is of another network'
expect 65 "$simulate" --cluster each.yaml --ranks 2 --times profile.json $small --set 'parallel.spatial=[2, 1]' "$network"
says err "'--times' are of whole samples, but 'parallel.spatial' cuts them"
expect 65 "$simulate" --cluster each.yaml --times one.json $small "$network"
says err 'it has no profile'

# Kernels that sleep: one rank, one among 4,096 modelled ones, and two.
sleeping=sleep=yes,rates=200e9:400e9:20e9,link=50e-6:100e6
compare() {
	mv out bench.json
	(DLX_DEBUG=$(debug $sleeping); export DLX_DEBUG; rows --cluster each.yaml --ranks "$1" $small "$network") || exit 1
	mv out row.json
	holds longer row.json bench.json
}
DLX_DEBUG=$(debug $sleeping) bench "$train" --bench=3
compare 1
DLX_DEBUG=$(debug $sleeping,ranks=4096) bench "$train" --bench=3
compare 4096
if has_ranks; then
	DLX_DEBUG=$(debug $sleeping) bench capped mpiexec -n 2 "$train" --bench=3
	compare 2
	on_ranks 2 "$bench_program" links -o here.yaml || fail "links"
	expect 0 "$simulate" --cluster here.yaml --ranks 2 --times profile.json $small "$network"
	says out '1 hosts of 2 ranks'
	on_ranks 2 env DLX_DEBUG="$(debug ranks_per_host=1)" "$bench_program" links -o hosts.yaml || fail "links of hosts"
	grep -q '^  across:' hosts.yaml || { cat hosts.yaml; fail "no link between hosts"; }
	expect 0 "$simulate" --cluster hosts.yaml --ranks 2 --times profile.json $small "$network"
fi
# One rank among modelled ones has the step that it has alone: the others have its gradients.
expect 0 "$train" --quiet --synthetic --dump-step alone $small "$network"
(DLX_DEBUG=$(debug link=1e-5:1e9,ranks=8); export DLX_DEBUG; expect 0 "$train" --quiet --synthetic --dump-step peers $small "$network") || exit 1
diff -r alone peers || fail "modelled peers change a step"
# A whole run of one: with a lag too, and through a checkpoint.
coads_data
(DLX_DEBUG=$(debug link=1e-5:1e9,ranks=2); export DLX_DEBUG
expect 0 "$train" --device cpu --set run.dir=peers.run --set train.batch_size=2 --set data.validation=null --set parallel.gradient_lag=1 \
	--set train.validate.epochs=0 --set train.steps=3 "$DLX_SOURCE/test/train/tiny.yaml"
expect 0 "$train" --device cpu --resume --set run.dir=peers.run --set train.batch_size=2 --set data.validation=null \
	--set parallel.gradient_lag=1 --set train.validate.epochs=0 --set train.steps=5 "$DLX_SOURCE/test/train/tiny.yaml") || exit 1
pass
