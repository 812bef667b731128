#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The library that test/gpu/check has the driver load, with stand-ins for the driver and CUPTI.
. "${DLX_SOURCE:?}/test/lib.sh"
library=$DLX_BUILD/test/gpu/injected.so
[ -r "$library" ] || skip "dlx was built without CUDA"
command -v python3 >/dev/null || skip "no python3 to load a library with"
cuda=$(grep -ao 'libcublasLt\.so\.[0-9]*' "$train" | head -n 1 | sed 's/.*\.//')
mkdir fakes
cp "$DLX_BUILD/test/gpu/fake_cupti.so" "fakes/libcupti.so.$cuda"
cp "$DLX_BUILD/test/gpu/fake_cupti.so" fakes/libcuda.so.1
# load WHAT SECONDS: a process that has the library do something
load() {
	LD_LIBRARY_PATH=$work/fakes DLX_INJECT=$1 python3 -c "
import ctypes, sys, time
ok = ctypes.CDLL('$library').InitializeInjection()
time.sleep($2)
sys.exit(not ok)"
}
expect 1 load nonsense 0
says err "'watch:FILE' or 'trap:SECONDS'"
expect 0 load trap:0 1
says out 'launched 1'
expect 0 load watch:seen.json 0
if grep -q 'without CUPTI' err; then pass; fi
says seen.json '{"replays": 3, "kernels": 4, "span": 0.000001100, "busy": 0.000001000}'
pass
