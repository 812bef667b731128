#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-convert's threads and its memory: the same bytes with any number of threads, from every kind of reader; a large sample in a
# small part of its size. The long form has samples of 1 GiB, converts them on one thread, too, and has further formats, of which
# the short form has one that is read in the same way.
# limit: 15 minutes
. "${DLX_SOURCE:?}/test/lib.sh"
find_numpy
export PYTHONPATH="$DLX_SOURCE/test/cli"

# equal NAME OPTION...: records of one and of eight threads are the same, in the long form of three, too.
others=$(form 8 '3 8')
equal() {
	alike_name=$1
	shift
	for threads in 1 $others; do
		mkdir -p "j$threads"
		expect 0 capped "$convert" -q -l 1 -j "$threads" -o "j$threads/$alike_name.dlx" "$@"
	done
	for file in j1/"$alike_name"*.dlx; do
		for threads in $others; do
			cmp "$file" "j$threads/${file#j1/}" || fail "$file depends on threads"
		done
	done
}

begin "many small samples of an array"
"$python3" - <<'P' || fail 'no sources'
import numpy as np
r = np.random.default_rng(4)
x = r.random((5000, 3, 8, 8), dtype=np.float32)
x[r.random(x.shape) < 0.1] = np.nan
np.save("many.npy", x)
np.save("target.npy", r.random((5000, 8, 8), dtype=np.float32))
for k in range(40):
    h = 200 + 40 * (k % 2)
    np.save("file-%02d.npy" % k, r.random((2, h, 300), dtype=np.float32))
    np.save("label-%02d.npy" % k, r.integers(0, 3, (h, 300), dtype=np.uint8))
np.savez("all.npz", x=x[:, :, :4], y=r.integers(0, 9, 5000, dtype=np.int32))
P
equal many -i many.npy -t target.npy --input-layout first -v --classes 0.2,0.7 --shard 512KiB --split a=0.75,b=0.25
equal file -i 'file-*.npy' -t 'label-*.npy' --input-layout first --class-names a,b,c
"$python3" - <<'P' || fail 'no TFRecord files'
import gzip, numpy as np
from tfrecord import example, frame
r = np.random.default_rng(5)
for k in range(2):
    data = b"".join(frame(example({"x": [r.bytes(8192)], "y": [float(i)]})) for i in range(600))
    open("plain-%d.tfrecord" % k, "wb").write(data)
    gzip.open("packed-%d.tfrecord" % k, "wb", 1).write(data)
P
for kind in plain packed; do
	equal $kind -i "$kind-*.tfrecord:x[u16,2,32,64]" -t "$kind-*.tfrecord:y" --input-layout first
done
expect 0 "$inspect" --verify j1/plain.dlx
equal npz -i all.npz:x -t all.npz:y --input-layout first

begin "a large sample of each format that is read in pieces"
n=$(form 256 512)
mib=$((n * n * n / 131072))
most=$(form 128 600)
counts=$(form 2 '1 2')
kept=128 # MiB of the Zarr array's chunks, of which 256 MiB at most are kept
mkdir big
"$DLX_BUILD/test/cli/make_sources" big "$n" || fail 'no large sources'
"$python3" - "$n" <<'P' || fail 'no large sources'
import gzip, json, numpy as np, os, shutil, struct, sys, zipfile
n = int(sys.argv[1])
v = np.lib.format.open_memmap("big/cube.npy", mode="w+", dtype=np.float32, shape=(1, n, n, n, 2))
os.makedirs("big/cube.zarr")
step = n // 16
json.dump({"zarr_format": 2, "shape": [1, 2, n, n, n], "chunks": [1, 2, step, n, n], "dtype": "<f4", "compressor": None, "fill_value": 0,
           "order": "C", "filters": None}, open("big/cube.zarr/.zarray", "w"))
for k in range(16):
    i = np.resize(np.roll(np.arange(8191, dtype=np.float32), -(k * step * n * n % 8191)), (step, n, n))
    z = np.stack([i, i + 10000])
    v[0, k * step:(k + 1) * step] = np.moveaxis(z, 0, -1)
    z.tofile("big/cube.zarr/0.0.%d.0.0" % k)
np.savez("big/cube.npz", x=v)
first = np.moveaxis(v, -1, 1)
with zipfile.ZipFile("big/packed.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z, z.open("x.npy", "w", force_zip64=True) as f:
    np.lib.format.write_array(f, np.ascontiguousarray(first))
with open("big/cube.idx", "wb") as f, gzip.open("big/cube.idx.gz", "wb", 1) as z:
    for out in f, z:
        out.write(struct.pack(">BBBBIIIII", 0, 0, 13, 5, 1, 2, n, n, n))
        for c in first[0]:
            for plane in c:
                out.write(plane.astype(">f4").tobytes())
with open("big/cube.tfrecord", "rb") as f, gzip.open("big/packed.tfrecord", "wb", 1) as z:
    shutil.copyfileobj(f, z)
P

begin "memory"
# peak THREADS OPTION...: $peak, the resident mebibytes of the conversion, its children's too.
peak() {
	peak_threads=$1
	shift
	peak=$(DLX_DEBUG= "$python3" - "$convert" -q -l 1 -j "$peak_threads" -o big.dlx "$@" <<'P'
import resource, subprocess, sys
if subprocess.run(sys.argv[1:], stdout=sys.stderr).returncode:
    sys.exit(1)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
P
	) || fail "no conversion: $*"
}
further=
! big || further="cube.[h]5=last cube.npz=last cube.idx=first cube.tfrecord:x[f32,$n,$n,$n,2]=last"
for source in cube.npy=last 'packed.[h]5=last' cube.nc=first cube.zarr=first packed.npz=first cube.idx.gz=first \
	"packed.tfrecord:x[f32,$n,$n,$n,2]=last" $further; do
	path=big/${source%=*} layout=${source##*=} limit=$most
	case $path in *.zarr) limit=$(form $((most + kept)) 600) ;; esac
	for threads in $counts; do
		peak $threads -i "$path" --input-layout "$layout"
		[ "$peak" -lt "$limit" ] || fail "a sample of $mib MiB in $path took $peak MiB, not less than $limit, on $threads threads"
		echo "$path: $mib MiB a sample, $threads threads, $peak MiB resident"
		mv big.dlx "big-$threads.dlx"
	done
	[ ! -e big-1.dlx ] || cmp big-1.dlx big-2.dlx || fail "$path depends on threads"
	"$inspect" --json big-2.dlx >text || fail "$path: no record"
	"$python3" - "$n" <<'P' || fail "$path: other values"
import dlxrecord, numpy as np, sys
n = int(sys.argv[1])
text, x, _ = dlxrecord.read("big-2.dlx")
assert text["sizes"][0]["rows"][0] > 0 and x.shape == (1, 2, n, n, n), (text["sizes"], x.shape)
i = np.resize(np.arange(8191, dtype=np.float32), (n, n, n))
assert (x[0, 0] == i).all() and (x[0, 1] == i + 10000).all()
s = text["input"]["statistics"]
assert all(abs(s[c]["mean"] - np.mean(x[0, c], dtype=np.float64)) < 1e-6 * s[c]["mean"] for c in (0, 1)), s
P
done

begin "pictures by rows, strips and tiles, the values of an LMDB database"
built_with TIFF libtiff-dev
built_with LMDB liblmdb-dev
"$python3" "$DLX_SOURCE/test/cli/large_samples.py" big "$n" "$DLX_BUILD/test/cli/make_lmdb" || fail 'no large samples'
for source in rows.png=last pages.tif=first planes.tif=last tiles.tif=stack "large.lmdb:x[>f32,2,$n,$n,$n]=first" \
	$(form '' 'opaque.png=last pages.tif=stack strips.tif=stack'); do
	path=big/${source%=*} layout=${source##*=} limit=$(form 200 600)
	case $path in *.lmdb:*) limit=$most ;; esac
	case $path in *tiles.tif) dtype=f32 ;; *) dtype='' ;; esac # the others as they are: numbers of 64 bits are no input
	for threads in $counts; do
		peak $threads -i "$path" --input-layout "$layout" ${dtype:+--dtype "$dtype"}
		[ "$peak" -lt "$limit" ] || fail "a sample in $path took $peak MiB, not less than $limit, on $threads threads"
		echo "$path, $layout: $threads threads, $peak MiB resident"
		mv big.dlx "big-$threads.dlx"
	done
	[ ! -e big-1.dlx ] || cmp big-1.dlx big-2.dlx || fail "$path depends on threads"
	"$python3" "$DLX_SOURCE/test/cli/large_samples.py" --check big-2.dlx "$path" "$layout" "$n" || fail "$path, $layout: other values"
done

begin "an interlaced picture; columns, for which rows are decoded twice; transparency at the last point alone"
for source in interlaced.png=stack wide.png=first seen.png=last; do
	path=big/${source%=*} layout=${source##*=}
	expect 0 capped "$convert" -q -l 1 -j 2 -o big.dlx -i "$path" --input-layout "$layout"
	"$python3" "$DLX_SOURCE/test/cli/large_samples.py" --check big.dlx "$path" "$layout" "$n" || fail "$path, $layout: other values"
done

begin "damage has its file and its place"
refused() {
	expect 65 capped "$convert" -q -l 0 -o no.dlx -i "$2"
	[ ! -e no.dlx ] || fail "a record of $2"
	says err "$1"
}
"$python3" - "$n" <<'P' || fail 'no damage'
import gzip, large_samples, os, struct, sys
for name in ("cube.npz", "packed.npz", "cube.idx.gz", "cube.tfrecord", "packed.tfrecord", "rows.png", "strips.tif", "large.lmdb",
             "interlaced.png"):
    with open("big/" + name, "r+b") as f: # in place: a copy takes as long as a conversion
        at = os.path.getsize("big/" + name) * 3 // 4
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 16]))
    os.rename("big/" + name, "big/hurt-" + name)
high, wide, _ = large_samples.shapes(int(sys.argv[1]))["planes.tif"][1]
each = 2 * high * wide
data = open("big/planes.tif", "rb").read()
good, bad = (struct.pack(">3I", 8, 8 + each, 8 + 2 * each + k) for k in (0, 1000))
assert data.count(good) == 1
open("big/short-planes.tif", "wb").write(data.replace(good, bad))
open("big/lie.idx.gz", "wb").write(gzip.compress(struct.pack(">BBBBIII", 0, 0, 8, 3, 1, 4000, 4000) + bytes(15999999), 1))
open("big/vast.idx.gz", "wb").write(gzip.compress(struct.pack(">BBBBIII", 0, 0, 8, 3, 1, 1 << 20, 1 << 20) + bytes(1 << 20), 1))
P
refused "'big/hurt-cube.npz', 'x': damaged zip member: checksum mismatch" big/hurt-cube.npz
refused "'big/hurt-packed.npz'" big/hurt-packed.npz
refused "'big/hurt-cube.idx.gz': damaged compressed data at byte" big/hurt-cube.idx.gz
refused "'big/lie.idx.gz', 'lie': truncated: the header promises more values than there are" big/lie.idx.gz
refused "'big/vast.idx.gz', 'vast': truncated: the header promises more values than there are" big/vast.idx.gz
refused 'record 0: its bytes do not have their checksum (byte 12 of the records)' 'big/hurt-cube.tfrecord:x[f32]'
refused "'big/hurt-packed.tfrecord'" 'big/hurt-packed.tfrecord:x[f32]'
refused "'big/hurt-rows.png', 'hurt-rows': png: " big/hurt-rows.png
refused "'big/hurt-strips.tif', 'hurt-strips': tiff: damaged: cannot read the values" big/hurt-strips.tif

begin "cut off just before the byte that was changed"
for file in big/hurt-*; do
	truncate -s $(($(wc -c <"$file") * 3 / 4)) "$file"
	mv "$file" "big/short-${file#big/hurt-}"
done
refused "'big/short-cube.idx.gz': the compressed data is cut off at byte" big/short-cube.idx.gz
refused "'big/short-cube.npz': truncated zip archive: no directory at its end" big/short-cube.npz
refused 'record 0: its length is beyond the end of the file (byte 0 of the records)' 'big/short-cube.tfrecord:x[f32]'
refused "'big/short-packed.tfrecord': the compressed data is cut off at byte" 'big/short-packed.tfrecord:x[f32]'
refused "'big/short-rows.png', 'short-rows': png: " big/short-rows.png
refused "'big/short-interlaced.png', 'short-interlaced': png: " big/short-interlaced.png
refused "'big/short-strips.tif', 'short-strips': tiff: damaged, or not a TIFF file" big/short-strips.tif
refused "'big/short-planes.tif', 'short-planes': tiff: damaged: cannot read the values" big/short-planes.tif
refused "'big/short-large.lmdb': lmdb: it ends at byte" "big/short-large.lmdb:x[f32,2,$n,$n,$n]"
pass
