#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-train --sweep on several ranks: teams, whose runs have the bits of runs alone; data that is read once; failures of a team; a rank
# that dies, and the rest with --resume.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
export OMP_NUM_THREADS=1
short="--set train.steps=4 --set train.batch_size=2 --set parallel.sync_batch_norm=true"
samples_of() {
	at=$(od -An -t u8 -j $(($(wc -c <"$1") - 72)) -N 8 "$1")
	echo $((at - 16))
}
total=$(($(samples_of data/coads-train.dlx) + $(samples_of data/coads-validation.dlx)))

# Two ranks x three seeds on five ranks, of which one has no team: one table, the bits of runs alone, and each byte read once.
cat >seeds.yaml <<'EOF'
seeds: [1, 2, 3]
ranks: [2, 1]
EOF
plain=$DLX_DEBUG
for copy in share all; do
	DLX_DEBUG=$(debug stage_counts=yes stage_extent=20000 ranks_per_host=3)
	expect 0 on_ranks 5 "$train" --sweep=seeds.yaml $short --set "data.stage={dir: cache-$copy, copy: $copy}" --set run.dir=$copy "$config"
	DLX_DEBUG=$plain
	[ "$(grep -c '^run  ' out)" -eq 1 ] || { cat out; fail "not one table"; }
	[ "$(sed -n '/^run  /,/^$/p' out | grep -c '  done  ')" -eq 6 ] || { cat out; fail "not six runs are done"; }
	[ "$(sed -n 's/^stage: rank .* read \([0-9]*\).*/\1/p' err | awk '{ n += $1 } END { print n + 0 }')" -eq "$total" ] || {
		cat err
		fail "not $total bytes were read"
	}
	says out "read for all runs ($total bytes)"
done
for seed in 1 2 3; do
	expect 0 on_ranks 2 "$train" $short --set run.seed=$seed --set run.dir=alone-2-$seed "$config"
	expect 0 "$train" $short --set run.seed=$seed --set run.dir=alone-1-$seed "$config"
	for ranks in 1 2; do
		for copy in share all; do
			same_run alone-$ranks-$seed "$copy/ranks=$ranks,seed=$seed"
		done
	done
done

# Teams within a team: groups of batch norm.
echo "{seeds: [1, 2], ranks: 4}" >groups.yaml
groups="--set train.steps=2 --set train.batch_size=1 --set parallel.sync_batch_norm=2"
expect 0 on_ranks 4 "$train" --sweep=groups.yaml $groups --set run.dir=groups "$config"
expect 0 on_ranks 4 "$train" $groups --set run.seed=2 --set run.dir=alone-groups "$config"
same_run alone-groups groups/seed=2

# A team whose run fails makes the next one.
cat >hard.yaml <<'EOF'
list:
  - {optimizer: {type: sgd, learning_rate: 1e6, momentum: 0}, train.steps: 40, model.batch_norm: none, parallel.sync_batch_norm: false}
  - {optimizer.learning_rate: -1}
  - {data.train: none.dlx}
  - {optimizer.learning_rate: 0.01}
  - {optimizer.learning_rate: 0.02}
ranks: 2
EOF
expect 76 on_ranks 4 "$train" --sweep=hard.yaml $short --set run.dir=hard "$config"
says out "3 of 5 runs failed:"
[ "$(sed -n '/^run  /,/^$/p' out | grep -c '  done  ')" -eq 2 ] || { cat out; fail "not two runs are done"; }
for status in 76 78 66; do
	says out "failed ($status)"
done
[ "$(grep -c 'hard.yaml:3:31: .learning_rate. is out of range' err)" -eq 1 ] || { cat err; fail "the error is not printed once"; }

# The demo, with a few steps: its page has the numbers of both counts of ranks, and pictures.
mkdir demo
cd demo || exit 99
ln -s "$DLX_SOURCE/configs" configs
expect 0 "$DLX_SOURCE/data-tools/demo/demo_speedup.sh" "$DLX_BUILD" --set train.epochs=1 --set train.validate.steps=6
says runs/speedup/speedup.html '6 runs compared'
says runs/speedup/speedup.html 'Learning over ranks'
says runs/speedup/speedup.html 'data:image/png;base64,'
cd ..

# A rank that dies ends the job; what is missing is made by another one, of another size.
cat >two.yaml <<'EOF'
seeds: [1, 2, 3, 4]
ranks: 2
EOF
long="--set train.steps=6 --set train.batch_size=2"
export DLX_DEBUG="$plain,crash_at=ckpt_durable#3"
on_ranks 4 "$train" --sweep=two.yaml $long --set "checkpoint.every={steps: 2}" --set run.dir=dies "$config" >out 2>err && fail "no rank died"
export DLX_DEBUG="$plain"
expect 0 on_ranks 2 "$train" --resume --sweep=two.yaml $long --set "checkpoint.every={steps: 2}" --set run.dir=dies "$config"
[ "$(sed -n '/^run  /,/^$/p' out | grep -c '  done  ')" -eq 4 ] || { cat out; fail "not four runs are done"; }
for seed in 1 4; do
	expect 0 on_ranks 2 "$train" $long --set "checkpoint.every={steps: 2}" --set run.seed=$seed --set run.dir=alone-$seed "$config"
	same_run alone-$seed dies/seed=$seed
done
pass
