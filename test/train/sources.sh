#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Sources with weights: --check, --plan, the log and the effective config name them, a run that is resumed in the middle of an
# epoch ends with the same bits, ranks have the losses of one, and other weights are other data. With 'shuffle: {within: host}'
# hosts (pretended ones) read their own samples, with the same losses for any number of ranks on each.
. "${DLX_SOURCE:?}/test/lib.sh"
export OMP_NUM_THREADS=1

digits a1 8 3 1000 --channel-names x --ignore 9
digits a2 8 3 3000 --channel-names x --ignore 9
digits b 8 10 6000 --channel-names x --ignore 9
digits other 8 10 6000 --channel-names y --ignore 9
cat >sources.yaml <<'END'
run: {name: sources, dir: runs/sources, seed: 3}
model:
  family: layers
  layers:
    - conv2d: {filters: 6, kernel: 3, padding: same, activation: relu}
    - conv2d: {filters: 2, kernel: 1}
data:
  train: [{files: 'a?.dlx', weight: 3}, {files: b.dlx, weight: 1}]
  transforms: [{cast: 100}, roll: {axis: width}]
loss: {type: softmax_cross_entropy}
metrics: [accuracy]
optimizer: {type: sgd, learning_rate: 0.05, momentum: 0.9}
schedule: {type: constant}
train: {epochs: 3, global_batch_size: 4}
report: {progress: lines, every: 1}
END
run() {
	"$train" --set run.dir="runs/$name" "$@" sources.yaml
}
losses() {
	sed -n 's/.*"type": "step".*"loss": \([^,]*\),.*/\1/p' "runs/$1/metrics.jsonl"
}
export_of() {
	expect 0 "$train" --set run.dir="runs/$1" --export "$1.safetensors" sources.yaml
}

begin "the contribution of each source"
first="'a?.dlx', weight 3: 12 of the 16 samples of an epoch (75 %), each of its 6 2 times"
second="'b.dlx', weight 1: 4 of the 16 samples of an epoch (25 %), each of its 10 0.4 times"
expect 0 "$train" --check sources.yaml
says out "sources       $first"
says out "              $second"
expect 0 "$train" --plan=json sources.yaml
says out '"sources": [{"files": "a?.dlx", "weight": 3, "samples": 6, "epoch": 12}, {"files": "b.dlx", "weight": 1, "samples": 10, "epoch": 4}],'
expect 0 "$train" --check --set 'data.train=[a1.dlx, a2.dlx, b.dlx]' sources.yaml
! grep -q '^sources' out || fail "files without weights are listed as sources"

begin "the log and the effective config; resumed within an epoch"
name=whole
expect 0 run
says out "$first"
says out "$second"
expect 0 "$train" --check runs/whole/config.yaml
says out "sources       $first"
name=part
expect 0 run --set train.steps=6
expect 78 run --resume --set 'data.train=[{files: "a?.dlx", weight: 1}, {files: b.dlx, weight: 1}]'
says err 'training data'
expect 0 run --resume
losses whole >whole.losses
[ "$(wc -l <whole.losses)" -eq 12 ] || fail "not twelve steps"
losses part | cmp - whole.losses || fail "losses of a resumed run differ"
export_of whole
export_of part
cmp whole.safetensors part.safetensors || fail "a resumed run ends with other bits"

begin "mistakes"
expect 65 "$train" --check --set 'data.train=[{files: b.dlx, weight: 1}, {files: other.dlx, weight: 2}]' sources.yaml
says err "'other.dlx' does not fit 'b.dlx': input channel 0 is 'y', expected 'x'"
expect 78 "$train" --check --set 'data.train=[{files: b.dlx, weight: 1000}, {files: a1.dlx, weight: 1}]' sources.yaml
says err "source 'a1.dlx' has the weight 1: its share of the 13 samples that are read in an epoch is less than one"
expect 66 "$train" --check --set 'data.train=[{files: b.dlx, weight: 1}, {files: "none-*.dlx", weight: 1}]' sources.yaml
expect 78 "$train" --check --set parallel.reproducible=true --set train.batch_size=4 --set 'data.shuffle={within: host}' sources.yaml
says err "'shuffle: {within: host}' depends on it"

begin "ranks"

find_mpiexec
close() {
	losses "$1" | paste "$2" - | awk '{ d = $1 - $2; if (d < 0) d = -d; if (!(d <= 2e-5 * $1)) { print "step", NR, $0; bad = 1 } }
		END { exit bad || NR != 12 }' || fail "losses of $1 differ"
}
ranks() {
	name=$1 n=$2
	shift 2
	expect 0 on_ranks "$n" "$train" --set run.dir="runs/$name" "$@" sources.yaml
}
for n in $(form "2" "2 4"); do
	ranks "ranks-$n" "$n"
	close "ranks-$n" whole.losses
done

begin "hosts"
# hosts NAME RANKS EACH: of each host.
hosts() {
	name=$1 n=$2 each=$3
	shift 3
	expect 0 on_ranks "$n" env DLX_DEBUG="$(debug ranks_per_host="$each")" "$train" --set run.dir="runs/$name" \
		--set 'data.shuffle={within: host}' "$@" sources.yaml
}
hosts two 2 1
says out 'samples are shuffled within each of 2 hosts: each reads its own share of them alone'
losses two >two.losses
hosts two-of-two 4 2
close two-of-two two.losses
hosts alone 2 2
! grep -q 'within each' out || fail "one host is described as several"
close alone whole.losses
hosts four 4 1
says out 'within each of 4 hosts'

begin "within an epoch only the same hosts resume; hosts with different numbers of ranks cannot share"
hosts stopped 2 1 --set train.steps=6
expect 78 on_ranks 2 "$train" --set run.dir=runs/stopped --set 'data.shuffle={within: host}' --resume sources.yaml
says err 'is of the middle of an epoch, whose samples were shuffled within each of 2 hosts; now they are shuffled, and some would'
hosts stopped 2 1 --resume
losses stopped | cmp - two.losses || fail "losses of a resumed run of two hosts differ"
expect 78 on_ranks 3 env DLX_DEBUG="$(debug ranks_per_host=2)" "$train" --set 'data.shuffle={within: host}' \
	--set train.global_batch_size=3 sources.yaml
says err "'shuffle: {within: host}' needs as many ranks on each host"
pass
