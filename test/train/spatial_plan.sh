#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What --plan says of samples that are cut over ranks: subdomains, messages, what is gathered, and the memory of a rank, which is that of
# the run to the byte; and 'spatial: auto', which takes the smallest cut that fits.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
find_python3
coads_data
export OMP_NUM_THREADS=1
DLX_DEBUG=$(debug trials=no)

# plan PROGRAM CONFIG OPTION...: $PROGRAM holds for the plan p, s its member "spatial".
plan() {
	program=$1
	shift
	expect 0 "$train" --plan=json "$@"
	sed -n '/^{/,$p' out >plan.json
	"$python3" - "$program" <<'E' || { cat plan.json | head -c 3000; fail "$program: $*"; }
import json, sys
p = json.load(open("plan.json"))
s = p.get("spatial")
sys.exit(not eval(sys.argv[1]))
E
}

# Oyama's network (IEEE TPDS 2021) at 512 cubed over 8: halos of an interior rank for a sample; the published program has 104 MiB.
oyama="--set train.accumulate=2 --set parallel.spatial=[8,1,1] $DLX_SOURCE/configs/cosmoflow-lbann-2020.yaml"
plan 's["grid"] == [8, 1, 1] and s["teams"] == 2 and s["interior"] and s["rows"] == [[64] * 8, [512], [512]]' --ranks=16 $oyama
plan '92 << 20 < s["halo"] <= 93 << 20 and s["exposed_seconds"] <= (1 + 1e-9) * s["link_seconds"] > 0' $oyama
plan 'sum(e[d]["sent"] for e in s["exchanges"] if not e["gathers"] for d in ("forward", "backward")) == 2 * s["halo"]' $oyama
plan 's["exchanges"][0] == {"layer": "conv1", "axis": 0, "gathers": False, "forward": {"messages": 8, "sent": 2 << 23,
	"received": 2 << 23}, "backward": {"messages": 0, "sent": 0, "received": 0}}' $oyama
# Joining rows copies none of a rank's own: interior ranks have a fourth and an eighth of the activations, and a few rows.
sized="--device cpu --set model.input.size=[256,256,256] --set train.accumulate=1 $DLX_SOURCE/configs/cosmoflow-lbann-2020.yaml"
plan 'not print(p["memory"]["arena"], file=open("uncut", "w"))' $sized
for cut in 4,1,1 2,2,1 2,2,2; do
	ranks=$(echo $cut | sed 's/,/ * /g')
	plan "p['memory']['arena'] <= (1 / ($ranks) + 0.005) * $(cat uncut)" --ranks=$((ranks)) --set "parallel.spatial=[$cut]" $sized
done
plan 's["whole"] == [{"layer": "pool6", "op": "average_pool", "size": [8, 8, 8]}] and s["exchanges"][-1]["gathers"]' $oyama
# A rank that gathers rows receives them from all others, and waits in one node.
plan 's["teams"] == 1 and s["rows"][0] == [4] * 128' --ranks=128 $oyama --set parallel.spatial=[128,1,1]
expect 0 "$train" --plan $oyama
says out '[8, 1, 1]: 1 team of 8 ranks, which share each sample'
says out 'rows along axis 0: 8 x 64'
says out 'figures here are of subdomain 1 of 0 to 7, in the interior'
says out "from 'pool6' (average_pool) on all ranks of a team compute whole layers"
says out 'for a sample this rank sends halos of 92.2 MiB (50.1 MiB forward, 42.1 MiB backward)'
says out 'and 896 KiB of what is gathered'
says out '16777216       16777216  pool2'

# What crosses hosts takes longer; what is summed over positions is not gathered; unequal subdomains.
plan 's["link_seconds"] < 1e-3' --ranks=1x8 $oyama
plan 's["link_seconds"] > 5e-3' --ranks=8x1 $oyama
cat >pooled.yaml <<'Y'
model:
  family: layers
  input: {channels: 2, size: [22, 12]}
  classes: 3
  layers:
    - conv2d: {filters: 4, kernel: 3, padding: same}
    - max_pool: {kernel: 2}
    - global_average
    - dense: {units: 3, name: last}
data: {train: none.dlx}
loss: softmax_cross_entropy
train: {steps: 1, batch_size: 2}
Y
plan 's["rows"] == [[6, 6, 4, 6], [12]] and s["whole"][0]["size"] is None and not any(e["gathers"] for e in s["exchanges"])' \
	--set 'parallel.spatial=[4,1]' pooled.yaml
expect 0 "$train" --check --set 'parallel.spatial=[4,1]' pooled.yaml
says out 'rows along axis 0: 2 x 6, 4, 6'
says out 'its input is summed over the team'
plan 's is None' pooled.yaml

# The memory of a run is what was planned without its ranks; with batches of 4, and of 6 and 2. Validation sees larger samples, so that
# its plan is made before the run begins. Messages from another host have buffers of their own; DLX_DEBUG=strict compares what all ranks
# have taken for messages.
sed 's/crop: {size: .*}/crop: {size: [16, 20]}/; s/steps: 9/epochs: 2/' "$DLX_SOURCE/test/train/tiny.yaml" >small.yaml
plain=$DLX_DEBUG
for how in 'cpu [2,1] 4 1' 'cpu [1,2] 6 1' 'reference [2,1] 6 1' 'cpu null 6 1' 'cpu [2,1] 6 2' 'reference [1,2] 4 2'; do
	set -- $how
	[ "$4" = 1 ] || DLX_DEBUG=$(debug ranks_per_host=1)
	settings="--set device=$1 --set parallel.spatial=$2 --set train.batch_size=null --set train.global_batch_size=$3"
	rm -rf runs
	expect 0 on_ranks 2 "$train" --quiet --set run.dir=runs/x $settings small.yaml
	planned=$(sed -n 's/.*"type": "start".*"memory": {\(.*\)}}$/\1/p' runs/x/metrics.jsonl | tr -d '",' |
		awk '{ for (i = 1; i < NF; i += 2) if ($i !~ /planned|allocated/) sum += $(i + 1); print sum }')
	DLX_DEBUG=$plain
	plan "p[\"memory\"][\"run\"] == $planned" --ranks="$4x$((2 / $4))" $settings small.yaml
done

# 'auto': by the memory that a rank has. Whole samples, then the outermost axis, then both.
mkdir -p host/proc/self host/sys/fs/cgroup
auto="--set device=reference --set parallel.spatial=auto --set train.batch_size=null --set train.global_batch_size=4 small.yaml"
plain=$DLX_DEBUG
DLX_DEBUG=$(debug "host_root=$PWD/host")
# room RANKS BYTES: a machine that offers each of the ranks this many bytes, in whole KiB.
room() {
	kib=$((($1 * $2 + 1023) / 1024 + $1))
	printf 'MemTotal: %s kB\nMemAvailable: %s kB\n' $kib $kib >host/proc/meminfo
}
auto_takes() {
	expect 0 "$train" --plan --ranks="$1" $auto
	says out "spatial auto  $2"
}
settings=${auto% small.yaml}
need_of() {
	DLX_DEBUG=$plain expect 0 "$train" --plan=json --ranks="$1" $settings --set "parallel.spatial=$2" small.yaml
	sed -n 's/.*"run": \([0-9]*\), .*/\1/p' out
}
room 1 100000000
auto_takes 1 'whole samples, since there is one rank'
auto_takes 4 'whole samples, which fit: a rank needs'
for cut in '[2,1]' '[4,1]'; do
	room 4 "$(need_of 4 "$cut")"
	auto_takes 4 "[$(echo "$cut" | tr -d '[]' | sed 's/,/, /')], the smallest cut over 4 ranks that fits"
done
says out '; [2, 1] needs'
plan 's["grid"] == [4, 1] and "smallest" in s["auto"]' --ranks=4 $auto
plan 's["grid"] is None and "one rank" in s["auto"]' $auto
room 2 "$(need_of 2 '[2,1]')"
expect 0 on_ranks 2 "$train" --set run.dir=runs/auto $auto
says out "'spatial: auto' takes [2, 1], the smallest cut over 2 ranks that fits"
# For a prediction one rank alone lacks the memory: all end. With more, its cut is another one than that of the training.
expect 71 on_ranks 2 "$train" --quiet --predict data/coads-validation.dlx -o p.npy --set run.dir=runs/auto $auto
says err 'a prediction of 1 samples needs'
room 2 5000000
expect 0 on_ranks 2 "$train" --quiet --predict data/coads-validation.dlx -o p.npy --set run.dir=runs/auto $auto
room 4 1000
expect 71 "$train" --check --ranks=4 $auto
says out 'though no cut over 4 ranks fits'
expect 71 "$train" --check --set device=reference small.yaml
says out "'parallel.spatial: auto' divides each sample among ranks"
expect 78 "$train" --check --ranks=4 --set parallel.reproducible=true $auto
says err "'reproducible' is not possible with 'parallel.spatial'"
pass
