#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-convert --split and --shard: a group is in one part alone, shares are kept, the same seed gives the same split wherever the files
# lie, each part has its own statistics and labels, shards have about their size and a training reads them by a pattern.
. "${DLX_SOURCE:?}/test/lib.sh"
find_numpy
export PYTHONPATH="$DLX_SOURCE/test/cli"

begin "ten universes of four files each, and an array of a hundred samples"
"$python3" - <<'P' || fail 'no sources'
import os, numpy as np
r = np.random.default_rng(3)
os.mkdir("sim")
for u in range(10):
    for k in range(4):
        np.save("sim/univ_%d_cut_%d_x.npy" % (u, k), r.random((1, 6, 8), dtype=np.float32) + u)
        np.save("sim/univ_%d_cut_%d_y.npy" % (u, k), r.integers(0, 2 + (u == 0), (6, 8), dtype=np.uint8))
np.save("many.npy", np.arange(100 * 2 * 30 * 40, dtype=np.float32).reshape(100, 2, 30, 40) + r.random((100, 2, 30, 40), dtype=np.float32))
np.save("label.npy", r.integers(0, 3, 100, dtype=np.uint8))
P
universes() {
	capped "$convert" -i "$1/*_x.npy" -t "$1/*_y.npy" --input-layout first --split train=0.8,validation=0.1,test=0.1 \
		--group-by 'univ_([0-9]+)_' --seed "$2" -o "$3"
}
expect 0 universes sim 12345 u.dlx
says out 'u-train.dlx: 32 samples'
says out 'u-validation.dlx: 4 samples'
says out 'u-test.dlx: 4 samples'
[ ! -e u.dlx ] || fail 'a file without a part'

begin "elsewhere, and named otherwise: the same split; another seed: another"
mkdir -p far/away
cp -r sim far/away/sim
expect 0 universes ./far/away/sim 12345 again.dlx
expect 0 universes sim 2 other.dlx
"$python3" - <<'P' || fail 'wrong parts'
import dlxrecord, numpy as np
def groups(name):
    text, x, y = dlxrecord.read(name)
    keys = text["keys"]
    assert [k.split("_")[1] for k in keys] == text["groups"], (keys, text["groups"])
    for k, v, t in zip(keys, x, y):
        assert (v == np.load("sim/" + k)).all() and (t == np.load("sim/" + k.replace("_x", "_y"))).all(), k
    stats = text["input"]["statistics"][0]
    assert abs(stats["mean"] - np.mean(x, dtype=np.float64)) < 1e-6 and stats["count"] == np.size(x), stats
    counts = np.bincount(np.ravel(y))
    assert text["target"]["class_counts"] == counts.tolist(), (text["target"], counts)
    return keys, set(text["groups"])
seen = {}
for part, n in ("train", 8), ("validation", 1), ("test", 1):
    keys, of = groups("u-%s.dlx" % part)
    assert len(of) == n and len(keys) == 4 * n, (part, of)
    assert keys == groups("again-%s.dlx" % part)[0], part
    seen[part] = of
    seen[part, 2] = groups("other-%s.dlx" % part)[1]
assert not seen["train"] & seen["test"] and not seen["train"] & seen["validation"] and not seen["test"] & seen["validation"]
assert any(seen[p] != seen[p, 2] for p in ("train", "validation", "test"))
P

begin "rows of one array are groups of one; --samples chooses after the split"
expect 0 "$convert" -i many.npy -t label.npy --input-layout first --split a=0.5,b=0.5 -o rows.dlx
says out 'rows-a.dlx: 50 samples'
expect 0 "$convert" -i many.npy -t label.npy --input-layout first --split a=0.5,b=0.5 --samples 0:20 -o few.dlx
"$python3" - <<'P' || fail '--samples changes the split'
import dlxrecord
few, all = (dlxrecord.read(n)[1] for n in ("few-a.dlx", "rows-a.dlx"))
assert 0 < len(few) < 20 and all[:len(few)].tolist() == few.tolist()
P

begin "shards: each about this large and whole in itself, together what one file has"
expect 0 "$convert" -q -i many.npy -t label.npy --input-layout first -o whole.dlx
expect 0 "$convert" -i many.npy -t label.npy --input-layout first --shard 100KiB -o x.dlx
says out 'x-000000.dlx to x-'
"$python3" - <<'P' || fail 'wrong shards'
import dlxrecord, glob, numpy as np, os
names = sorted(glob.glob("x-*.dlx"))
sizes = [os.path.getsize(n) for n in names]
assert names[0] == "x-000000.dlx" and len(names) > 3, names
assert all(85 << 10 < s < 120 << 10 for s in sizes[:-1]), sizes
parts = [dlxrecord.read(n) for n in names]
_, x, y = dlxrecord.read("whole.dlx")
assert np.array_equal(np.concatenate([p[1] for p in parts]), x) and np.array_equal(np.concatenate([p[2] for p in parts]), y)
P
expect 0 capped "$convert" -q -i many.npy -t label.npy --input-layout first --shard 64KiB --split train=0.75,validation=0.25 -o s.dlx
cat >shards.yaml <<'END'
run: {name: shards, seed: 1}
model: {family: layers, layers: [flatten, {dense: 3}]}
data: {train: 's-train-*.dlx', validation: 's-validation-*.dlx', transforms: [{normalize: {method: standard}}]}
loss: softmax_cross_entropy
train: {epochs: 1, batch_size: 25, validate: {epochs: 1}}
report: {progress: none}
END
expect 0 capped "$train" shards.yaml
expect 0 "$inspect" --verify s-train-000001.dlx

begin "fewer shards than before: the old ones are reported"
expect 0 "$convert" -q -i many.npy -t label.npy --input-layout first --shard 1MiB -o x.dlx
says err 'is there from an earlier conversion'

begin "the man page's example"
"$python3" - <<'P' || fail 'no sources'
import numpy as np
for s in range(10):
    for t in range(2):
        np.save("sim_%d_t_%d.npy" % (s, t), np.full((1, 4, 4), s, np.float32))
P
sed -n '/^dlx-convert -i .sim_/,/^\.Ed/p' "$DLX_SOURCE/man/dlx-convert.1" | sed '/^\.Ed/d; s/\\e$/\\/' >example.sh
grep -q group-by example.sh || fail 'no example in dlx-convert(1)'
expect 0 env PATH="$DLX_BUILD:$PATH" sh example.sh
says out 'snapshots-train-000000.dlx: 16 samples'
says out 'snapshots-test-000000.dlx: 2 samples'

begin "mistakes, with their place; nothing is left"
refused() {
	convert_refuses "$@" -i many.npy -t label.npy --input-layout first
	set -- out-*.dlx
	[ ! -e "$1" ] || fail "left: $*"
}
refused 64 "part 2 is 'test'" --split train=0.9,test
refused 64 "part 1, 'train=2': '2' is no share" --split train=2
refused 64 'add up to 0.9, not to 1' --split a=0.5,b=0.4
refused 64 "part 2 is called 'a' as part 1 is" --split a=0.5,a=0.5
refused 64 "expected a name of letters" --split ../a=0.5,b=0.5
refused 64 "did you mean 'file'?" --split a=0.5,b=0.5 --group-by fil
refused 64 "no regular expression" --split a=0.5,b=0.5 --group-by '(x'
refused 65 "'many.npy', the file of sample 0, does not match 'univ_(.)'" --split a=0.5,b=0.5 --group-by 'univ_(.)'
refused 65 "nothing is left for the part 'a=0.4': there is 1 group, as 'many.npy'" --split a=0.4,b=0.6 --group-by file
refused 64 "--shard: '2Gb' is no size" --shard 2Gb
refused 64 '--seed is for --split' --seed 3
pass
