#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# LMDB databases as STEMDL wrote them, and others, against NumPy; what dlx-convert says of damaged ones.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
find_numpy
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$DLX_SOURCE/test/cli"

grep -q '^#define HAVE_LMDB 1' "$DLX_BUILD/config.h" || {
	echo text >x.mdb
	convert_refuses 69 "dlx was built without liblmdb" -i x.mdb
	lacks liblmdb-dev
}
"$python3" "$DLX_SOURCE/test/cli/check_lmdb.py" "$convert" "$DLX_BUILD/test/cli/make_lmdb" . || fail "check_lmdb.py"
db=batch_train_0.db
convert_refuses 64 "has 2 variables; name those wanted, as in $db:NAME,NAME; it has: 2d_potential, cbed" -i $db
convert_refuses 66 "has no variable 'bed' (did you mean 'cbed'?)" -i $db:bed
convert_refuses 64 "its type and extents have to be said behind the name; a sample has 2048 bytes" -i plain_0.lmdb
says err "as in 'cbed[i16,8,8,8,2]'"
convert_refuses 65 "the type and extents given do not fit; a sample has 2048 bytes" -i "plain_0.lmdb:cbed[f16,8,8]"
convert_refuses 65 "the value of key 'v2' has 4 bytes, that of 'v1' 8" -i "odd.lmdb:v[u8]"
convert_refuses 65 "no key ends in a number" -i words.lmdb

# damage: cut off, and no database at all
size=$(wc -c <plain_0.lmdb)
head -c $((size - 1)) plain_0.lmdb >short.lmdb
convert_refuses 65 "lmdb: it ends at byte $((size - 1)), its header (byte " -i "short.lmdb:cbed[f16]"
head -c 100 plain_0.lmdb >short.lmdb
convert_refuses 65 "no database of this kind of machine" -i "short.lmdb:cbed[f16]"
echo text >text.mdb
convert_refuses 65 "no database of this kind of machine" -i "text.mdb"
pass
