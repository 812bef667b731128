#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-ckpt on made stores, of which every number is known: the tree, searches, distances, damage, forks, exports and imports.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
TZ=UTC
export TZ

# Run a with versions at 10, 20, 30 and, those between removed, 60; run b forks from its 20 and learns more.
make_made() {
	"$DLX_BUILD/test/cli/make_store" "$1" <<-'END' >ids || fail "cannot make a store"
		a 10 1 1764000000 1 - - 1 mean_iou=0.5,loss=0.9 {optimizer: {adam: {learning_rate: 0.1}}, train: {steps: 60}}
		a 20 2 1764000100 2 1 - 2 mean_iou=0.6,loss=0.8 {optimizer: {adam: {learning_rate: 0.1}}, train: {steps: 60}}
		a 30 3 1764000200 3 2 - 3 mean_iou=0.7,loss=0.7 {optimizer: {adam: {learning_rate: 0.1}}, train: {steps: 60}}
		b 20 2 1764000150 1 2 fork 2 mean_iou=0.6,loss=0.8 {optimizer: {adam: {learning_rate: 0.5}}, train: {steps: 60}}
		b 30 3 1764000250 2 4 - 4 mean_iou=0.85,loss=0.6 {optimizer: {adam: {learning_rate: 0.5}}, train: {steps: 60}}
		a 60 6 1764000500 6 0 - 6 mean_iou=0.8,loss=0.5 {optimizer: {adam: {learning_rate: 0.1}}, train: {steps: 60}}
	END
}
make_made store
id() { sed -n "$1p" ids; }
bare() { id "$1" | sed 's/^0*//'; }

# json: what was printed is JSON.
json() { "$python3" "$DLX_SOURCE/test/cli/json_keys.py" out || { cat out; fail "no JSON"; }; }

begin "the tree"
expect 0 "$ckpt" store log
sed 's/  step.*//' out >tree
cat >want <<END
* $(bare 6)
:
* $(bare 5)
* $(bare 4)
| * $(bare 3)
|/
* $(bare 2)
* $(bare 1)
END
# The parent of the sixth is of step 1, before all of its run.
diff want tree >/dev/null || { cat out; fail "another tree"; }
says out "* $(bare 6)  step 60  epoch 6  2025-11-24 16:08  mean_iou 0.8  loss 0.5  run aaaaaaaa  (last)"
says out "$(bare 5)  step 30  epoch 3  2025-11-24 16:04  mean_iou 0.85  loss 0.6  run bbbbbbbb  (best)"
says out "run bbbbbbbb  fork of $(bare 2)"
expect 0 "$ckpt" store log --json
json
says out '"metrics": {"mean_iou": 0.85, "loss": 0.6}, "last": false, "best": true, "tags": [], "pinned": false}'
expect 0 "$ckpt" --count 1 store log
[ "$(grep -c '^\*' out)" = 1 ] || fail "not one version"

begin "searches: status 1 if nothing is found, as grep has it"
expect 0 "$ckpt" store search 'mean_iou > 0.6 and step < 60'
[ "$(cut -d' ' -f1 out)" = "$(bare 5; bare 3)" ] || { cat out; fail "another search"; }
expect 0 "$ckpt" store search --json 'run = b'
json
expect 1 "$ckpt" store search 'mean_iou > 0.9'
[ ! -s out ] || fail "found what there is not"
expect 64 "$ckpt" store search 'step < 60 and mean_uio > 0'
says err "expression:1:15: no version has the metric 'mean_uio'"
expect 64 "$ckpt" store search 'step < 60 or'
says err 'expression:1:13: the expression ends'

begin "what a version contains"
expect 0 "$ckpt" store show "$(bare 4)"
says out "run       bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb, save 1"
says out "parents   $(bare 2), a fork"
says out 'conv.weight    weight  f32     8x3x3x3    864 B'
grep -q '^frozen  *weight  f32   1200x1000  4.6 MiB ' out || { cat out; fail "another size"; }
expect 0 "$ckpt" store show --json "$(id 4)"
json
says out '{"name": "count", "use": "state", "type": "i64", "shape": [], "bytes": 8, "stored": 8, "missing_chunks": 0, '
expect 0 "$ckpt" store show --config "$(id 4)"
[ "$(cat out)" = '{optimizer: {adam: {learning_rate: 0.5}}, train: {steps: 60}}' ] || fail "another config"
expect 66 "$ckpt" store show 77
says err "there is no version '77'"
expect 64 "$ckpt" store show 20
says err "'20' fits several versions"

begin "distances"
# The first value of each trained tensor is 1 + seed/1024, or 1 + seed.
expect 1 "$ckpt" store diff "$(bare 1)" "$(bare 2)"
grep -q '^conv.weight   *1 of 216  0.000977  4.05e-06  8192$' out || { cat out; fail "another distance"; }
grep -q '^count   *1 of 1  *1  *0.5  *1$' out || { cat out; fail "another distance"; }
says out '4 tensors differ, 1 alike'
says out 'scalar seconds: 10, 20'
expect 1 "$ckpt" store diff --json --weights "$(bare 1)" "$(bare 2)"
json
says out '"alike": false, "alike_tensors": 1'
says out '"differ": 1, "undefined": 0, "ulps": 8192, "largest": 0.0009765625'
! grep -q 'conv.weight.m' out || fail "a moment is no weight"
expect 1 "$ckpt" store diff --first "$(bare 2)" "$(bare 4)"
says out '0 tensors differ, 5 alike'
says out 'config optimizer.adam.learning_rate: 0.1, 0.5'
says out "dlx-train --replay=$(bare 2)..$(bare 4)"
expect 0 "$ckpt" store diff "$(bare 2)" "$(bare 2)"
make_made other
expect 0 "$ckpt" store diff "$(bare 2)" "other:$(bare 2)"
expect 1 "$ckpt" store diff "$(bare 2)" "other:$(bare 1)"
says out '4 tensors differ, 1 alike'
expect 66 "$ckpt" store diff "$(bare 2)" "nowhere:$(bare 2)"
expect 64 "$ckpt" store diff "other:$(bare 2)" "$(bare 2)"

begin "tags and pins"
expect 0 "$ckpt" store tag paper "$(bare 3)"
expect 0 "$ckpt" store pin "$(bare 1)"
expect 0 "$ckpt" store log
says out '(tag: paper)'
says out '(pinned)'
expect 0 "$ckpt" store search --json 'tagged or pinned'
json
says out '"tags": ["paper"], "pinned": false'
says out '"tags": [], "pinned": true'
expect 0 "$ckpt" store show paper
says out "version   $(bare 3)"
expect 64 "$ckpt" store tag last "$(bare 3)"
expect 66 "$ckpt" store tag paper 77
expect 0 "$ckpt" --json store tag --delete paper
json
expect 66 "$ckpt" store tag --delete paper
expect 0 "$ckpt" store pin --delete "$(bare 1)"
expect 66 "$ckpt" store pin --delete "$(bare 1)"

begin "forks copy no bytes"
ls -l store/packs >before
expect 0 "$ckpt" store fork "$(bare 3)" forked
ls -l store/packs | diff before - || fail "a fork writes packs"
[ "$(cat forked/config.yaml)" = '{optimizer: {adam: {learning_rate: 0.1}}, train: {steps: 60}}' ] || fail "another config"
expect 0 "$ckpt" forked log
says out "fork of $(bare 3)  (last, best)"
[ "$(grep -c '^\*' out)" = 4 ] || { cat out; fail "not the versions that the fork comes from"; }
expect 0 "$ckpt" forked log --all
[ "$(grep -c '^[ |]*\*' out)" = 7 ] || { cat out; fail "not all versions"; }
expect 0 "$ckpt" forked diff "$(bare 3)" last
expect 64 "$ckpt" store fork "$(bare 3)" forked
says err 'is the folder of a run already'
expect 66 "$ckpt" store fork 77 elsewhere
[ ! -e elsewhere ] || fail "a folder is left"
expect 0 "$ckpt" --json forked/checkpoints fork last twice
json

begin "a fork that was interrupted before its version was there is finished by the same command"
rm "store/versions/$(sed 's/.*"id": "\([^"]*\)".*/\1/' out).json"
run=$(sed -n 's/.*"run": "\([^"]*\)".*/\1/p' twice/checkpoints/run.json)
expect 0 "$ckpt" --json forked fork last twice
says out "\"run\": \"$run\""

begin "files: all bits come back, or weights alone"
for kind in safetensors npz; do
	expect 0 "$ckpt" store export --all "$(bare 5)" "all.$kind"
	expect 0 "$ckpt" "new-$kind" import "all.$kind"
	says out "to go on from it: dlx-train --resume new-$kind"
	expect 0 "$ckpt" --json store export "$(bare 5)" "weights.$kind"
	json
	says out '"tensors": 3'
	expect 0 "$ckpt" store import "weights.$kind" "weights-$kind"
	says out 'weights alone'
	expect 1 "$ckpt" "weights-$kind" diff "$(bare 5)" last
done
expect 0 "$ckpt" new-safetensors show --json last
says out '"step": 30, '
says out '"metrics": {"mean_iou": 0.85, "loss": 0.6}'
says out '"scalars": {"seed": "1", "seconds": "30"}'
expect 1 "$ckpt" weights-safetensors diff "$(bare 5)" last
says out '2 tensors differ, 3 alike'

begin "NumPy has no bfloat16, which becomes float32"
expect 1 "$ckpt" weights-npz diff --weights "$(bare 5)" last
says out 'tensor half: 5 of bf16 in the first version, 5 of f32 in the second'
expect 64 "$ckpt" store export last weights.h5
says err 'expected a name that ends in .safetensors or .npz'
expect 64 "$ckpt" store import weights.h5
head -c 1000 weights.safetensors >cut.safetensors
expect 65 "$ckpt" cut import cut.safetensors
[ ! -e cut ] || fail "a folder is left"

begin "chunks that no version needs are removed"
expect 0 "$ckpt" store verify
says out 'all intact'
rm "store/versions/$(id 6).json"
expect 0 "$ckpt" store gc --dry-run
says out 'would be: 1 pack removed'
expect 0 "$ckpt" --json store gc
json
says out '"packs": 1, '
expect 0 "$ckpt" store verify
says out 'all intact'

begin "damage is named: the chunk, its file, what needs it"
make_made hurt
printf 'XX' | dd of=hurt/packs/made-0.pack bs=1 seek=20 conv=notrunc 2>/dev/null
expect 65 "$ckpt" hurt verify
says out "$(bare 1)  damaged"
says out "tensor 'conv.weight', chunk 0: 'hurt/packs/made-0.pack': "
says out "$(bare 2)  intact"
says err "1 of 6 versions in 'hurt' is damaged"
expect 0 "$ckpt" hurt verify "$(bare 2)" "$(bare 3)"
expect 65 "$ckpt" --json hurt verify "$(bare 1)"
json
expect 65 "$ckpt" hurt diff "$(bare 1)" "$(bare 2)"
says err "hurt/packs/made-0.pack"
says err "tensor 'conv.weight'"
expect 65 "$ckpt" hurt export "$(bare 1)" hurt.npz
[ ! -e hurt.npz ] || fail "half a file is left"
make_made hurt2
sed 's/mean_iou/mean_iox/' "hurt2/versions/$(id 5).json" >changed
cat changed >"hurt2/versions/$(id 5).json"
expect 0 "$ckpt" hurt2 log
grep -q "^x $(bare 5)  step 30  damaged: 'hurt2/versions/$(id 5).json'" out || { cat out; fail "damage is not reported"; }
expect 65 "$ckpt" hurt2 verify
expect 65 "$ckpt" hurt2 show "$(bare 5)"
expect 65 "$ckpt" hurt2 fork "$(bare 5)" forked2
expect 65 "$ckpt" hurt2 gc

begin "the command line"
expect 64 "$ckpt"
expect 64 "$ckpt" store
expect 64 "$ckpt" store serach 'step < 1'
says err "did you mean 'search'"
expect 64 "$ckpt" log store
says err 'the store comes before the command: dlx-ckpt store log'
expect 64 "$ckpt" store log --config
says err "log has no option '--config'"
expect 64 "$ckpt" store diff 1
expect 66 "$ckpt" nowhere log
mkdir empty
expect 66 "$ckpt" empty log
expect 0 "$ckpt" --help
expect 0 "$ckpt" --version
pass
