#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The library that test/gpu/check has the driver load, with stand-ins for the driver and CUPTI.
. "${DLX_SOURCE:?}/test/lib.sh"
library=$DLX_BUILD/test/gpu/injected.so
[ -r "$library" ] || skip "dlx was built without CUDA"
find_python3
cuda=$(grep -ao 'libcublasLt\.so\.[0-9]*' "$train" | head -n 1 | sed 's/.*\.//')
mkdir fakes
cp "$DLX_BUILD/test/gpu/fake_cupti.so" "fakes/libcupti.so.$cuda"
cp "$DLX_BUILD/test/gpu/fake_cupti.so" fakes/libcuda.so.1
# load WHAT TEXT: a process that has the library do something, and stays until it has said TEXT
load() {
	LD_LIBRARY_PATH=$work/fakes DLX_INJECT=$1 capped "$python3" -c "
import ctypes, sys, time
ok = ctypes.CDLL('$library').InitializeInjection()
while '$2' not in open('out').read():
    time.sleep(0.05)
sys.exit(not ok)"
}
expect 1 load nonsense ""
says err "'watch:FILE' or 'trap:SECONDS'"
expect 0 load trap:0 'launched 1'
expect 0 load watch:seen.json ""
if grep -q 'without CUPTI' err; then pass; fi
says seen.json '{"replays": 3, "kernels": 4, "span": 0.000001100, "busy": 0.000001000}'
pass
