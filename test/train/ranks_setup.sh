#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What goes wrong before the first step is reported once and ends all ranks with the same status; a rank that fails alone ends the others; 16 ranks,
# or 64, make some steps.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml

# refused STATUS TEXT MPIEXEC-ARGUMENTS...: reported by one rank alone.
refused() {
	status=$1
	text=$2
	shift 2
	expect "$status" capped mpiexec "$@"
	says err "$text"
	[ "$(grep '^dlx-train: ' err | grep -vc ': warning: ')" -eq 1 ] || {
		cat err
		fail "not one message: $text"
	}
}

refused 64 "dlx-train: unknown option '--nothing'" -n 3 "$train" --nothing "$config"
refused 78 "unknown key 'bach_size'" -n 3 "$train" --set train.bach_size=1 "$config"
refused 66 "dlx-train: --set:1:12: cannot open 'none.dlx'" -n 3 "$train" --set data.train=none.dlx "$config"
refused 66 "dlx-train: rank 1 (host " -n 1 "$train" "$config" : -n 1 "$train" --set data.train=none.dlx "$config" : -n 1 "$train" "$config"
says err "cannot open 'none.dlx'"
refused 78 "cannot be shared evenly by 3 ranks; the next larger one that can has 9" -n 3 "$train" --set train.batch_size=null \
	--set train.global_batch_size=8 "$config"
refused 78 "rank 2 (host " -n 2 "$train" "$config" : -n 1 "$train" --set optimizer.momentum=0.5 "$config"
says err "this rank differs from rank 0 in the configs: 'momentum: 0.5' here, 'momentum: 0.9' there"
refused 78 "in the training data: " -n 2 "$train" "$config" : -n 1 "$train" --set data.train=data/coads-validation.dlx "$config"

begin "files of one name that ranks see differently: validation, evaluation, prediction"
mkdir -p other
cp data/coads-train.dlx other/v.dlx
cp data/coads-validation.dlx v.dlx
mine="--set data.train=$PWD/data/coads-train.dlx --set data.validation=v.dlx --set run.dir=$PWD/seen --set train.steps=2"
expect 0 "$train" $mine "$config"
differs() {
	refused 65 "rank 2 (host " -n 2 "$train" "$@" : -n 1 -wdir "$PWD/other" "$train" "$@"
	says err "this rank differs from rank 0 in the data to validate on or to predict from: 'v.dlx' with fingerprint "
}
differs $mine --set run.dir="$PWD/two" "$config"
differs $mine --evaluate "$config"
differs $mine --predict v.dlx -o p.npy "$config"
differs $mine --predict v.dlx --tile auto -o p.npy "$config"
[ ! -e two ] && [ ! -e p.npy ] || fail "a mixture is left"
refused 78 "in the devices: 'reference' here, 'cpu' there" -n 2 "$train" "$config" : -n 1 "$train" --device reference "$config"
refused 66 "no checkpoint in" -n 2 "$train" --set run.dir=runs/none --evaluate "$config"
refused 73 "cannot" -n 2 "$train" --set run.dir=/dev/null/run "$config"

begin "ranks that were started with another command, or are another program"
for other in --check --plan --evaluate --resume=auto --bench=3; do
	refused 64 "this rank differs from rank 0 in the command: '" -n 1 "$train" "$config" : -n 1 "$train" $other "$config"
	says err "' here, 'training' there"
done
refused 64 "rank 2 (host " -n 2 "$train" --evaluate --weights=last "$config" : -n 1 "$train" --evaluate "$config"
says err "in the command: '--evaluate' here, '--evaluate --weights=last' there"
refused 69 'a rank is missing in MPI_Init; the others have waited 10.0 s; rank 1 (process ' -n 1 "$train" --set parallel.timeout=1s "$config" : \
	-n 1 sleep 1000
says err "sleep'"

begin "mpiexec has that rank's status"
timeout 150 mpiexec -n 1 "$train" --set parallel.timeout=1s "$config" : -n 1 true >out 2>err && fail "all is well without rank 1"
says err '; 1 of the 2 ranks of this host has ended'
[ -d runs ] && fail "a run that was refused left a folder"

begin "memory that one rank cannot get"
for k in 1 2; do
	expect 69 on_ranks 1 "$train" "$config" : -n 1 env DLX_DEBUG="$(debug fault=alloc:$k)" "$train" "$config"
	[ "$(grep -c '^dlx-train: ' err)" -eq 1 ] || { cat err; fail "allocation $k: not one message"; }
	rm -rf runs
done

begin "a loss that is not finite is the same for all"
refused 76 'dlx-train: the loss is not finite' -n 2 "$train" --set model.batch_norm=none --set optimizer.learning_rate=1e6 --set train.steps=40 "$config"
rm -rf runs

begin "a disk that is full, on rank 0, when the state is written"
expect 74 on_ranks 1 env DLX_DEBUG="$(debug fault=write:2+)" "$train" --set run.dir=runs/full "$config" : \
	-n 1 "$train" --set run.dir=runs/full "$config"
says err 'dlx-train: rank 0 (host '

begin "help, version, --plan and --check"
expect 0 on_ranks 2 "$train" --version
expect 0 on_ranks 2 "$train" --check "$config"
[ "$(grep -c '^parameters' out)" -le 1 ] || fail "--check is said twice"

expect 0 on_ranks 2 "$train" --bench=3 "$config"
says out '"ranks": {"size": 2, "hosts": 1, '
says out '"batch": 6'
says out '"exposed": '
[ "$(wc -l <out)" -eq 1 ] || fail "--bench on two ranks: not one line"

begin "ranks of one host behave as if on two"
expect 0 on_ranks 3 env DLX_DEBUG="$(debug ranks_per_host=2)" "$train" --set run.dir=runs/hosts "$config"

begin "more ranks than an epoch's rest has batches for resume with the next epoch"
expect 0 "$train" --set run.dir=runs/rest --set train.batch_size=2 --set data.keep_short_batch=false --set train.steps=3 "$config"
expect 0 on_ranks 3 "$train" --set run.dir=runs/rest --set train.batch_size=2 --set data.keep_short_batch=false --set train.steps=5 \
	--resume "$config"
[ "$(grep -c '"type": "step"' runs/rest/metrics.jsonl)" -eq 5 ] || fail "more ranks did not go on with the next epoch"

begin "one core does for many ranks, although each waits for all the others"
export OMP_NUM_THREADS=1
steps=$(form 4 10)
expect 0 on_ranks "$(form 16 64)" "$train" --set run.dir=runs/many --set train.batch_size=1 --set train.steps="$steps" \
	--set train.validate.epochs=0 --set data.threads=1 "$config"
[ "$(grep -c '"type": "step"' runs/many/metrics.jsonl)" -eq "$steps" ] || fail "many ranks: not $steps steps"
pass
