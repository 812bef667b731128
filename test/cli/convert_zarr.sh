#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Zarr stores of both versions against NumPy; what dlx-convert says of damaged ones and of what it does not read.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
find_numpy
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$DLX_SOURCE/test/cli"
built_with BLOSC libblosc-dev
"$python3" "$DLX_SOURCE/test/cli/check_zarr.py" "$convert" . blosc || fail "check_zarr.py"

convert_refuses 66 "has no variable 'tt'; it has: t" -i g2.zarr:tt
convert_refuses 64 "is one array without a name; 'x' cannot be chosen" -i s0.zarr:x
convert_refuses 66 "neither a Zarr store nor an LMDB database" -i .
convert_refuses 65 "neither .zarray, .zgroup nor zarr.json is in this folder" -i . -f zarr
convert_refuses 66 "it is a folder, which no npy file is" -i s0.zarr -f npy

begin "metadata that are changed"
# edit FILE FROM TO: a copy of s1.zarr (version 3) or s0.zarr (version 2) with other metadata
edit() {
	rm -rf bad.zarr
	[ "$1" = zarr.json ] && cp -r s1.zarr bad.zarr || cp -r s0.zarr bad.zarr
	grep -qF -e "$2" "bad.zarr/$1" || fail "no $2 in $1"
	sed -i "s|$(printf %s "$2" | sed 's/\[/\\[/g')|$3|" "bad.zarr/$1"
}
edit zarr.json '"float32"' '"complex64"'
convert_refuses 65 "'data_type': an element type that is neither float nor integer" -i bad.zarr
says err "'bad.zarr/zarr.json', byte 71: "
edit zarr.json '"name": "bytes"' '"name": "packbits"'
convert_refuses 65 "before the codec 'bytes' the codec 'packbits' is not supported" -i bad.zarr
edit zarr.json '"node_type": "array"' '"node_type": "table"'
convert_refuses 65 "'node_type': neither an array nor a group" -i bad.zarr
edit zarr.json '"regular"' '"rectilinear"'
convert_refuses 65 "'chunk_grid': not regular" -i bad.zarr
edit zarr.json '"fill_value": 0' '"fill_value": "zero"'
convert_refuses 65 "'fill_value': no value of the array's type" -i bad.zarr
for scale in '"half"' '[0.5, 2]' null; do
	edit zarr.json '"attributes": {}' "\"attributes\": {\"scale_factor\": $scale}"
	convert_refuses 65 "its attribute 'scale_factor' is no single number" -i bad.zarr
done
for missing in '"none"' '[7, "none"]' true; do
	edit zarr.json '"attributes": {}' "\"attributes\": {\"missing_value\": $missing}"
	convert_refuses 65 "its attribute 'missing_value' is no number; say which values are missing" -i bad.zarr
done
edit zarr.json '{' '['
convert_refuses 65 "bad.zarr/zarr.json" -i bad.zarr
edit .zarray '"filters": null' '"filters": [{"id": "delta"}]'
convert_refuses 65 "the filter 'delta' is not supported" -i bad.zarr
edit .zarray '"compressor": null' '"compressor": {"id": "bz2"}'
convert_refuses 65 "the codec 'bz2' is not supported" -i bad.zarr
edit .zarray '"shape": [4, 5]' '"shape": [4, 5000000000]'
convert_refuses 65 "an array of 4x5000000000, but only 96 bytes of chunks" -i bad.zarr
edit .zarray '"shape": [4, 5]' '"shape": [4, 0]'
convert_refuses 65 "an axis of no extent" -i bad.zarr
edit .zarray '"chunks": [4, 2]' '"chunks": [4, 0]'
convert_refuses 65 "'chunks': an extent is no whole number" -i bad.zarr
edit .zarray '"chunks": [4, 2]' '"chunks": [40000, 200000]'
convert_refuses 65 "'chunks': a chunk of 2 GiB or more" -i bad.zarr
edit .zarray '"chunks": [4, 2]' '"chunks": [4, 3]'
convert_refuses 65 "'bad.zarr/0.0': not as many bytes as a chunk has" -i bad.zarr
edit .zarray '"fill_value": 0' '"fill_value": null'
rm bad.zarr/0.1
convert_refuses 65 "'bad.zarr/0.1' is missing, and the array has no fill value" -i bad.zarr
for packer in gzip zstd blosc; do
	rm -rf bad.zarr
	"$python3" -c "
import numpy as np
from zarr_files import array
array('bad.zarr', np.arange(4000.).reshape(40, 100), (40, 100), 3, '$packer')"
	expect 0 "$convert" -q -o out.dlx -i bad.zarr
	head -c 60 bad.zarr/c/0/0 >cut
	mv cut bad.zarr/c/0/0
	convert_refuses 65 "'bad.zarr/c/0/0': $packer: " -i bad.zarr
done

begin "a sharded array whose metadata are changed"
# shards FROM TO
shards() {
	rm -rf bad.zarr
	"$python3" -c "
import numpy as np
from zarr_files import sharded
sharded('bad.zarr', np.arange(64, dtype='<f4').reshape(8, 8), (4, 8), (2, 4))"
	grep -qF -e "$1" bad.zarr/zarr.json || fail "no $1 in zarr.json"
	sed -i "s|$(printf %s "$1" | sed 's/\[/\\[/g')|$2|" bad.zarr/zarr.json
}
shards '"chunk_shape": [2, 4]' '"chunk_shape": [3, 4]'
convert_refuses 65 "'chunk_shape': no part of the shape of a shard" -i bad.zarr
shards '"index_location": "end"' '"index_location": "middle"'
convert_refuses 65 "'index_location': neither start nor end" -i bad.zarr
shards '{"name": "crc32c"}' '{"name": "gzip"}'
convert_refuses 65 "of the index of a shard the codec 'gzip' is not supported" -i bad.zarr
shards '"codecs": [{"name": "bytes"' '"codecs": [{"name": "sharding_indexed"'
convert_refuses 65 "in a shard, or after another codec, the codec 'sharding_indexed' is not supported" -i bad.zarr
shards '"index_location": "end"' '"index_location": "start"'
convert_refuses 65 "'bad.zarr/c/0/0': crc32c of the index: its checksum is wrong" -i bad.zarr
shards '{"name": "crc32c"}' '{"name": "crc32c"}'
head -c 50 bad.zarr/c/1/0 >cut
mv cut bad.zarr/c/1/0
convert_refuses 65 "'bad.zarr/c/1/0': 50 bytes, which are fewer than the index of its chunks has" -i bad.zarr
shards ', {"name": "crc32c"}' ''
convert_refuses 65 "'bad.zarr/c/0/0': a chunk of 137438953472 bytes at 137438953472, but the file has 196" -i bad.zarr

begin "a ZIP file whose member is damaged"
"$python3" -c "
from zarr_files import zipped
zipped('s1.zarr', 'bad.zarr.zip')
data = bytearray(open('bad.zarr.zip', 'rb').read())
at = data.index(b'c/0/0') + 5
data[at + 20] ^= 1
open('bad.zarr.zip', 'wb').write(data)"
convert_refuses 65 "'bad.zarr.zip/c/0/0': damaged zip member: checksum mismatch" -i bad.zarr.zip
pass
