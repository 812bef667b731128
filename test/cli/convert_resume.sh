#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A conversion that is killed goes on with --resume: from the samples that are complete, which are verified, to the same bytes as one
# that was not, wherever it was killed. No file has its name before all are complete; other failures leave nothing, or with --resume
# what is complete.
. "${DLX_SOURCE:?}/test/lib.sh"
find_numpy
"$python3" - <<'P' || fail 'no sources'
import numpy as np
r = np.random.default_rng(5)
for k in range(60):
    x = r.random((2, 40 + 8 * (k % 2), 60), dtype=np.float32)
    x[0, 0, k] = np.nan
    np.save("x-%02d.npy" % k, x)
    np.save("y-%02d.npy" % k, r.integers(0, 3, x.shape[1:], dtype=np.uint8))
np.save("large.npy", r.random((3, 2, 60, 256, 256), dtype=np.float32))
P
set -- -i 'x-*.npy' -t 'y-*.npy' --input-layout first --split a=0.7,b=0.3 --shard 100KiB

# files FOLDER: which are there.
files() {
	(cd "$1" && echo *)
}
expect 0 capped "$convert" -q "$@" -o whole.dlx
mkdir whole
mv whole-*.dlx whole
[ "$(files whole | wc -w)" -gt 5 ] || fail 'too few shards for a test'
# crash POINT: killed there, nothing has its name; then --resume, here on other threads.
crash() {
	point=$1
	shift
	rm -rf one
	mkdir one
	DLX_DEBUG=$(debug crash_at="$point") capped "$convert" -q "$@" -o one/whole.dlx >out 2>err
	[ $? -eq 137 ] || fail "not killed at $point"
	for file in one/*.dlx; do
		[ ! -e "$file" ] || fail "$file has its name, but the conversion was killed at $point"
	done
	[ -f one/whole.dlx.journal ] || fail "no journal of what was killed at $point"
}
same() {
	[ "$(files one)" = "$(files whole)" ] || fail "there are $(files one), not $(files whole)"
	for file in whole/*; do
		cmp "$file" "one/${file#whole/}" || fail "another file: $*"
	done
}
for point in convert_sample#1 convert_sample#23 convert_finished#1 convert_sample#45 convert_finished#4 convert_sample#60; do
	crash "$point" "$@"
	expect 0 capped "$convert" -j 3 --resume "$@" -o one/whole.dlx
	case $point in
	convert_sample#1 | convert_finished#1) ;;
	*) says err 'samples are complete and verified' ;;
	esac
	same "$point"
done

begin "killed twice, and once by kill -9 from another process"
crash convert_sample#9 "$@"
DLX_DEBUG=$(debug crash_at=convert_sample#12) capped "$convert" -q --resume "$@" -o one/whole.dlx >out 2>err
expect 0 capped "$convert" --resume "$@" -o one/whole.dlx
same twice
rm -rf one
mkdir one
"$convert" -q -l 19 "$@" -o one/whole.dlx >out 2>err &
pid=$!
await test -s one/whole.dlx.journal
stop $pid KILL
expect 0 capped "$convert" -q -l 19 --resume "$@" -o one/whole.dlx
expect 0 capped "$convert" -q -l 19 "$@" -o whole.dlx
for file in whole-*.dlx; do cmp "$file" "one/$file" || fail "killed from elsewhere: another $file"; done
rm -f whole-*.dlx

begin "a damaged part is found by its hash and converted again, with what follows"
crash convert_sample#50 "$@"
printf 'x' | dd of=one/whole-a-000002.dlx.part bs=1 seek=5000 conv=notrunc 2>/dev/null
expect 0 capped "$convert" --resume "$@" -o one/whole.dlx
says err 'samples are complete and verified'
! grep -q '^dlx-convert: [45][0-9] of 60' err || fail 'damage was not found'
same damaged
crash convert_sample#50 "$@"
rm one/whole-a-000000.dlx.part
expect 0 capped "$convert" --resume "$@" -o one/whole.dlx
same 'a file less'

begin "samples of many chunks"
expect 0 capped "$convert" -q -i large.npy --input-layout first -o large-whole.dlx
DLX_DEBUG=$(debug crash_at=convert_sample#2) capped "$convert" -q -i large.npy --input-layout first -o large.dlx >out 2>err
expect 0 capped "$convert" -i large.npy --input-layout first --resume -o large.dlx
says err '2 of 3 samples are complete'
"$inspect" --verify large.dlx >/dev/null || fail 'large.dlx is damaged'
cmp large.dlx large-whole.dlx || fail 'another large.dlx'

begin "other options or sources are refused; without --resume the conversion starts again"
crash convert_sample#20 "$@"
expect 64 capped "$convert" --resume "$@" -l 5 -o one/whole.dlx
says err 'is of a conversion with other options or of sources that have changed'
cp x-07.npy x-07.copy && sleep 0.01 && cp x-07.copy x-07.npy
expect 64 capped "$convert" --resume "$@" -o one/whole.dlx
expect 0 capped "$convert" -q "$@" -o one/whole.dlx
same anew

begin "failures and signals leave nothing, or with --resume what is complete"
rm -rf one
mkdir one
expect 74 env DLX_DEBUG="$(debug fault=write:60)" "$convert" -q "$@" -o one/whole.dlx
[ "$(files one)" = '*' ] || fail "a failure left $(files one)"
expect 74 env DLX_DEBUG="$(debug fault=write:60)" "$convert" -q --resume "$@" -o one/whole.dlx
says err 'is kept for --resume'
expect 0 capped "$convert" --resume "$@" -o one/whole.dlx
says err 'samples are complete and verified'
same failed
for signal in TERM HUP; do
	rm -rf one
	mkdir one
	"$convert" -q -l 19 "$@" -o one/whole.dlx >out 2>err &
	pid=$!
	await test -s one/whole.dlx.journal
	stop $pid $signal
	case $status in
	143 | 129) [ "$(files one)" = '*' ] || fail "SIG$signal left $(files one)" ;;
	0) ;;
	*) cat err; fail "SIG$signal does not end it" ;;
	esac
done

begin "two at once: the second one is refused"
mkdir -p two
mkfifo hold
"$python3" - <<'P' &
import fcntl, time, os
f = open("two/x.dlx.journal", "w")
fcntl.flock(f, fcntl.LOCK_EX)
open("held", "w").close()
open("hold").read()
P
holder=$!
await test -e held
expect 73 "$convert" -q -i 'x-*.npy' --input-layout first -o two/x.dlx
says err 'another process is writing it'
echo >hold
ends $holder
expect 0 "$convert" -q -i 'x-*.npy' --input-layout first -o two/x.dlx

begin "sources that have changed"
# Their sizes and times are as before; they are in folders or named by other files; their order changes, too.
changed() {
	name=$1
	shift
	for when in before after; do
		rm -rf one
		DLX_DEBUG=$(debug crash_at=convert_sample#2) capped "$convert" -q "$@" -o changed.dlx >out 2>err
		[ $? -eq 137 ] || { cat err; fail "not killed: $*"; }
		if [ $when = before ]; then
			expect 0 capped "$convert" --resume "$@" -o changed.dlx
			continue
		fi
		touch -r "$name" time
		"$python3" -c "import os, sys; f = open(sys.argv[1], 'r+b'); f.seek(os.path.getsize(sys.argv[1]) // 2); f.write(b'abcd')" "$name"
		touch -r time "$name"
		expect 64 capped "$convert" --resume "$@" -o changed.dlx
		says err 'sources that have changed'
	done
}
"$python3" - <<'P' || fail 'no folders'
import os, json
import numpy as np
os.makedirs("z.zarr/deep/v")
open("z.zarr/.zgroup", "w").write('{"zarr_format": 2}')
open("z.zarr/deep/.zgroup", "w").write('{"zarr_format": 2}')
json.dump({"zarr_format": 2, "shape": [4, 2, 8, 8], "chunks": [1, 2, 8, 8], "dtype": "<f4", "compressor": None, "fill_value": 0,
           "order": "C", "filters": None}, open("z.zarr/deep/v/.zarray", "w"))
for k in range(4):
    np.arange(128, dtype="<f4").tofile("z.zarr/deep/v/%d.0.0.0" % k)
P
changed x-07.npy "$@"
changed z.zarr/deep/v/0.0.0.0 -i z.zarr:deep/v --input-layout first
cp -r z.zarr/deep/v/3.0.0.0 z.zarr/deep/v/other
changed z.zarr/deep/v/other -i z.zarr:deep/v --input-layout first
"$DLX_BUILD/test/cli/make_sources" . || fail 'no HDF5 files'
changed grid.h5 -i virtual.h5:cube --input-layout last
changed sample-3.h5 -i pattern.h5:all
if grep -q '^#define HAVE_LMDB 1' "$DLX_BUILD/config.h"; then
	mkdir db
	"$python3" -c "
import struct, sys
for k in range(4):
    sys.stdout.buffer.write(struct.pack('<II', 2, 4096) + b'v%d' % k + bytes(range(256)) * 16)" | "$DLX_BUILD/test/cli/make_lmdb" db || fail 'no database'
	changed db/data.mdb -i 'db:v[u8]'
	DLX_DEBUG=$(debug crash_at=convert_sample#2) capped "$convert" -q -i 'db:v[u8]' -o changed.dlx >out 2>err
	echo of other readers >db/lock.mdb
	expect 0 capped "$convert" --resume -i 'db:v[u8]' -o changed.dlx
fi
mkdir order
cp x-00.npy order/x-1.npy
cp x-02.npy order/x-2.npy
DLX_DEBUG=$(debug crash_at=convert_sample#2) capped "$convert" -q -i 'order/x-[12].npy' --input-layout first -o changed.dlx >out 2>err
mv order/x-2.npy order/x-0.npy
mv order/x-1.npy order/x-2.npy
mv order/x-0.npy order/x-1.npy
expect 64 capped "$convert" --resume -i 'order/x-[12].npy' --input-layout first -o changed.dlx
says err 'sources that have changed'
rm -f changed.dlx*

begin "the command of dlx-convert(1), which a job repeats until it ends well"
mkdir -p era
cp x-0[0-3].npy era
sed -n '/^until dlx-convert/,/^done/p' "$DLX_SOURCE/man/dlx-convert.1" | sed 's/\\e$/\\/' >example.sh
grep -q resume example.sh || fail 'no example in dlx-convert(1)'
expect 0 env PATH="$DLX_BUILD:$PATH" sh example.sh
[ -s era.dlx ] || fail 'no record of the example'
pass
