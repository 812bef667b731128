#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Memory of a GPU, which the emulation counts: what a plan says is what a run takes, nothing is allocated once steps run, and a step
# that does not fit is refused before the run, with a table and remedies of which each helps.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
coads_data
cp "$DLX_SOURCE/test/train/tiny.yaml" .

# small COMMAND...: tiny.yaml with a small crop; a later --set goes before an earlier one.
small() {
	capped "$emulated" --device=cuda --set 'data.transforms=[{crop: {size: [10, 14], validation: centre}}]' --set train.batch_size=4 \
		--set train.steps=3 --set data.keep_short_batch=false --set train.memory.aside=64KiB "$@" tiny.yaml
}
number() {
	sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" out | head -n 1
}

# Planned is measured, with checkpoints and evaluations, and nothing is allocated after planning.
expect 0 small --plan=json
planned=$(number run)
DLX_EMULATE_COUNT=count expect 0 small --set run.dir=runs/counted
[ "$(sed -n 's/most //p' count)" = "$planned" ] || fail "planned $planned bytes, took $(cat count)"
says count 'late 0'
says count 'last 0'

# What libraries take when steps have run is compared with what was set aside for them.
DLX_EMULATE_LATE=700M expect 0 small --set run.dir=runs/late --set train.memory.aside=null
says err "700 MiB more of the GPU's memory were taken"
says err "256 MiB were left to them"
says err "set 'train.memory.aside' to 875MiB"
DLX_EMULATE_LATE=700M expect 0 small --set run.dir=runs/enough --set train.memory.aside=875MiB
grep -q 'were left to them' err && fail "a warning where enough was set aside"
DLX_EMULATE_LATE=700M expect 0 small --bench=5
[ "$(number device_later)" = $((700 << 20)) ] && [ "$(number device_aside)" = 65536 ] || { cat out; fail "the line lacks what came later"; }

# A step that does not fit: refused with a table, before anything of the run is there.
room=$((planned * 85 / 100 + 65536))
DLX_EMULATE_MEMORY=$room expect 71 small --set run.dir=runs/none
says err 'a step of 4 samples needs'
says err 'but the GPU offers'
for row in parameters optimizer inputs activations gradients "left to the GPU's libraries" 'the GPU, whole'; do
	says err "    $row"
done
[ ! -e runs/none/metrics.jsonl ] || fail "a step was made"
cp err refused
# Each remedy helps.
limit=$(sed -n 's/.*{limit: \([0-9]*KiB\)}.*/\1/p' refused)
[ "$limit" ] || fail "no limit is offered"
DLX_EMULATE_MEMORY=$room expect 0 small --set run.dir=runs/limit --set train.memory.limit="$limit"
batch=$(sed -n "s/.*'train.batch_size: \([0-9]*\)' with 'train.accumulate: [0-9]*'.*/\1/p" refused)
accumulate=$(sed -n "s/.*'train.batch_size: [0-9]*' with 'train.accumulate: \([0-9]*\)'.*/\1/p" refused)
[ "$batch" ] && [ $((batch * accumulate)) = 4 ] || fail "no batch is offered that makes the same step: $batch x $accumulate"
DLX_EMULATE_MEMORY=$room expect 0 small --set run.dir=runs/batch --set train.batch_size="$batch" \
	--set train.accumulate="$accumulate"
grep -q "'precision.compute: bf16' needs .*, which fits" refused || fail "no word on bf16"
DLX_EMULATE_MEMORY=$room expect 0 small --set run.dir=runs/bf16 --set precision.compute=bf16
# The memory that others have is not there.
DLX_EMULATE_MEMORY=1G/$room expect 71 small --set run.dir=runs/none
# What is left aside is not either, and can be chosen.
expect 71 small --set run.dir=runs/none --set train.memory.aside=4096MiB
DLX_EMULATE_MEMORY=$((planned + 65536)) expect 0 small --set run.dir=runs/tight
# --check says what there is, and which batch fits.
DLX_EMULATE_MEMORY=$room expect 71 small --check
head -n 1 out | grep -q '^does not fit  a step of 4 samples needs .* but the GPU offers ' || { cat out; fail "the first line"; }
says out "- 'train.batch_size: $batch' with 'train.accumulate: $accumulate' fits"
says out 'GPU memory'
says out 'host memory'
largest=$(sed -n 's/^largest batch \([0-9]*\).*/\1/p' out)
[ "$largest" -ge 1 ] && [ "$largest" -lt 4 ] || fail "the largest batch is $largest"
DLX_EMULATE_MEMORY=$room expect 0 small --set run.dir=runs/largest --set train.batch_size="$largest"
# The host's memory counts for batches on their way.
mkdir -p host/proc
printf 'MemTotal: 1 kB\nMemAvailable: 1 kB\n' >host/proc/meminfo
DLX_DEBUG=$(debug "host_root=$PWD/host") expect 71 small --set run.dir=runs/none
says err 'pinned memory'
# Dense blocks without batch norm in them: what a block has seen and what it adds are written by turns, each from the other, so that neither
# is computed again as a whole.
cat >turns.yaml <<-'END'
	run: {name: turns, seed: 3}
	model:
	  family: fcn
	  growth: 8
	  kernel: 1
	  poolings: 2
	  layers_per_block: [2, 1, 2, 2, 2]
	  transition_up_kernel: 1
	  dropout: 0
	  input: {channels: 1, size: [16, 16]}
	  classes: 2
	data: {train: none.dlx, validation: null}
	loss: mse
	optimizer: {type: sgd, learning_rate: 0.01}
	train: {steps: 1, batch_size: 3}
END
# In another one the least limit is found by a search that must not depend on what was tried before.
sed -e 's/family: fcn/family: tiramisu/; s/growth: 8/growth: 4/; s/poolings: 2/blocks: [3, 2, 1]/; s/dropout: 0/dropout: 0.2/' \
	-e 's/layers_per_block: .*/initial_filters: 8/; s/transition_up_kernel: 1/order: norm_first/; s/16, 16/16, 24/' \
	-e 's/classes: 2/classes: 2\n  unused_transition: false\n  output_dropout: false/; s/loss: .*/loss: softmax_cross_entropy/' \
	turns.yaml >another.yaml
dump() {
	dumped=$1
	shift
	capped "$emulated" --device=cuda --synthetic --dump-step="$dumped" --set precision.compute=bf16 "$@"
}
for n in turns another; do
	expect 0 dump $n-plain $n.yaml
	expect 78 dump refused --set train.memory.limit=1KiB $n.yaml
	limit=$(least_limit)
	[ "$limit" ] || { cat err; fail "$n: no limit is offered"; }
	expect 0 dump $n-again --set train.memory.limit="$limit" $n.yaml
	diff -r $n-plain $n-again || fail "$n: not the same bits in $limit"
done
pass
