#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A few cases of each class of hostile tests; "make adversary" runs thousands.
. "${DLX_SOURCE:?}/test/lib.sh"
command -v python3 >/dev/null || lacks python3
has_ranks || echo "no case of ranks: dlx-train was built without MPICH"
"$DLX_SOURCE/test/adversary/run" --seed 1 --count 8 arrays changed:4 checkpoints forged kills lmdb netcdf paths pictures ranks:3 records shapes signals tfrecord yaml zarr \
	>lines 2>wrong
status=$?
cat lines wrong
[ $status -eq 0 ] || fail "wrong cases"
[ "$(wc -l <lines)" -eq "$(ls "$DLX_SOURCE/test/adversary" | grep -v '\.' | grep -vc '^run$')" ] || fail "classes are missing"

# The driver and the classes see what is wrong: a program that ends by a signal, and one that takes all for good.
mkdir fake
for p in dlx-train dlx-convert dlx-inspect; do
	ln -s "$DLX_BUILD/$p" "fake/$p"
done
rm fake/dlx-inspect
printf '#!/bin/sh\nexit 0\n' >fake/dlx-inspect
chmod +x fake/dlx-inspect
DLX_BUILD=$PWD/fake "$DLX_SOURCE/test/adversary/run" --count 4 records >lines 2>wrong && fail "damage that is taken for good is not seen"
says wrong 'taken for good'
printf '#!/bin/sh\nkill -SEGV $$\n' >fake/dlx-inspect
DLX_BUILD=$PWD/fake "$DLX_SOURCE/test/adversary/run" --count 4 records >lines 2>wrong && fail "a crash is not seen"
says wrong 'status -11'
pass
