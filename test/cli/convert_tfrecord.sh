#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# TFRecord files, plain and compressed, against NumPy; what dlx-convert says of damaged ones and of types that were not said.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
find_numpy
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$DLX_SOURCE/test/cli"
"$python3" "$DLX_SOURCE/test/cli/check_tfrecord.py" "$convert" . || fail "check_tfrecord.py"


# patterns for records, too
for i in 1 2; do
	expect 0 "$convert" -q -i one -o "record-$i.dlx"
done
expect 0 "$inspect" 'record-?.dlx'
says out record-1.dlx
says out record-2.dlx
expect 66 "$inspect" 'record-{1,3}.dlx'
says err "no file matches 'record-3.dlx'"
expect 0 "$convert" -q --like 'record-*.dlx' --input-layout first -i one -o out.dlx

cube=cube-0.tfrecord
convert_refuses 64 "has 2 variables; name those wanted" -i $cube
convert_refuses 64 "a sample has 4096 bytes: 4096 of u8 or i8, 2048 of f16, bf16, i16 or u16, 1024 of f32 or i32" -i $cube:x
says err "as in 'x[i16,8,8,8,4]'"
convert_refuses 66 "has no variable 'z'; it has: x, y" -i $cube:z
convert_refuses 65 "the type and extents given do not fit; a sample has 4096 bytes" -i "$cube:x[i16,8,8,4]"
convert_refuses 65 "the type and extents given do not fit; a sample has 14 bytes" -i 'kinds.tfrecords:half[f32]'
convert_refuses 64 "unknown type 'i2'; expected f32" -i "$cube:x[i2,8,8,8,4]"
convert_refuses 64 "an extent is no whole number" -i "$cube:x[i16,8,-1]"
convert_refuses 64 "an extent is no whole number" -i "$cube:x[i16,]"
convert_refuses 64 "too many extents" -i "$cube:x[i16,1,1,1,1,1,1,1]"
convert_refuses 64 "is a list of floats, f32" -i "$cube:y[f64]"
convert_refuses 65 "the feature 'empty' of record 0 is empty" -i "kinds.tfrecords:empty[u8]"

# damage is reported with its place
head -c 4000 $cube >short.tfrecord
convert_refuses 65 "record 0: its length is beyond the end of the file (byte 0 of the records)" -i "short.tfrecord:x[u8]"
head -c 4000 all >short.gz
convert_refuses 65 "'short.gz': the compressed data is cut off at byte 4000" -i "short.gz:x[u8]"
head -c 100 one >short.tfrecord
convert_refuses 65 "(byte " -i short.tfrecord
printf hello >text.tfrecord
convert_refuses 65 "record 0: it is cut off" -i text.tfrecord
printf 'hello, this is no record' >text.tfrecord
convert_refuses 65 "not a TFRecord file, or the checksum of its length is wrong" -i text.tfrecord
: >empty.tfrecord
convert_refuses 65 "no records" -i empty.tfrecord
"$python3" - <<'END' || fail "no damage"
from tfrecord import example, frame

data = bytearray(open("plain", "rb").read())
data[len(data) // 2 + 100] ^= 4
open("flipped", "wb").write(data)
good = example({"v": [1.0, 2.0, 3.0]})
open("longer", "wb").write(frame(good) + frame(example({"v": [1.0, 2.0]})))
open("integers", "wb").write(frame(good) + frame(example({"v": [1, 2, 3]})))
open("none", "wb").write(frame(good) + frame(example({"w": [1.0]})))
open("other", "wb").write(frame(good) + frame(good[:-1] + b"\xff"))
open("cut", "wb").write(frame(good) + frame(good[:-5]))
END
convert_refuses 65 "record 3: its bytes do not have their checksum (byte " -i 'flipped:x[i16,8,8,8,4]' --input-layout last
convert_refuses 65 "the feature 'v' of record 1 has 2 floats" -i longer
convert_refuses 65 "the feature 'v' of record 1 has 3 integers (byte 53), that of record 0 3 floats" -i integers
convert_refuses 65 "record 1 has no feature 'v'" -i none
convert_refuses 65 "record 1: a field that is cut off, where a tf.train.Example was expected" -i cut
expect 0 "$convert" -q -o out.dlx -i other
pass
