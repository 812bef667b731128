#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx with CUDA 12.8: configured (sm_70 is in its list then), built, and emulated against its headers. No package of Debian or PyPI has
# its nvcc, but PyPI's have its headers, runtime, libdevice and assembler; clang takes the place of nvcc's two frontends. So this finds
# what the headers, device code for Volta and the assembler refuse, and nothing that only nvcc 12's own frontend would. In the long
# form alone. The argument is a folder with those packages unpacked (its nvidia/cuda_runtime and so on), else pip is requested them.
. "${DLX_SOURCE:?}/test/lib.sh"
big || skip "ten minutes of compiling: in make bigcheck"
grep -q '^#define HAVE_CUDA\|^CUDA_CPPFLAGS = .*-DHAVE_CUDA' "$DLX_BUILD/Makefile" || skip "dlx was built without CUDA"
clang=$(for v in 24 23 22 21 20 19 18 17 16 ''; do command -v "clang++${v:+-$v}" && break; done) || skip "no clang++"
packages=${1:-$work/packages}
if [ $# -eq 0 ]; then
	find_python3
	"$python3" -m pip --version >/dev/null 2>&1 || skip "no pip, and no folder is given"
	for package in nvidia-cuda-nvcc-cu12==12.8.93 nvidia-cuda-runtime-cu12==12.8.90 nvidia-cuda-cupti-cu12==12.8.90 \
		nvidia-cublas-cu12==12.8.4.1; do
		"$python3" -m pip download --quiet --no-deps --only-binary=:all: -d wheels $package >pip.log 2>&1 ||
			skip "pip cannot have $package: $(tail -n 1 pip.log)"
		"$python3" - "$packages" <<-'END'
			import glob, os, sys, zipfile
			for wheel in glob.glob("wheels/*.whl"):
			    with zipfile.ZipFile(wheel) as z:
			        z.extractall(sys.argv[1], [n for n in z.namelist() if "cublas" not in n or "/include/" in n])
			    os.remove(wheel)
		END
	done
fi

# A toolkit's folder of all that; cuDNN's and NCCL's headers are those of the build, which serve both.
have=$(sed -n 's/^CUDA_CPPFLAGS = //p' "$DLX_BUILD/Makefile")
mkdir -p toolkit/include toolkit/lib64 toolkit/nvvm toolkit/bin
for p in cuda_runtime cuda_nvcc cuda_cupti cublas; do
	cp -R "$packages/nvidia/$p/include/." toolkit/include/ || fail "'$packages' lacks $p"
done
for folder in $(echo "$have" | tr ' ' '\n' | grep '^/') /usr/include /usr/local/include; do
	for h in "$folder"/cudnn*.h "$folder"/nccl.h; do
		[ ! -r "$h" ] || [ -e "toolkit/include/${h##*/}" ] || cp "$h" toolkit/include/
	done
done
cp -R "$packages/nvidia/cuda_nvcc/nvvm/." toolkit/nvvm/
cp "$packages/nvidia/cuda_nvcc/bin/ptxas" toolkit/bin/ && chmod 755 toolkit/bin/ptxas
echo "INPUT($packages/nvidia/cuda_runtime/lib/libcudart.so.12)" >toolkit/lib64/libcudart_static.a
# nvcc's part: device code of the oldest and of the newest architecture that clang knows, by NVIDIA's assembler; then the host's.
cat >toolkit/bin/nvcc <<END
#!/bin/sh
[ "\$1" != --version ] || { echo 'Cuda compilation tools, release 12.8, V12.8.93'; exit; }
for word; do
	case \$word in
	*.cu) from=\$word ;;
	-I*) include=\$word ;;
	esac
	[ "\${before-}" != -o ] || to=\$word
	before=\$word
done
common="-x cuda --cuda-path=$work/toolkit -Wno-unknown-cuda-version -std=c++17 -O3 \${include-} -c \$from"
for arch in 70 90; do
	$clang \$common --cuda-device-only --cuda-gpu-arch=sm_\$arch -o "\$to.sm_\$arch" || exit 1
done
exec $clang \$common --cuda-host-only --cuda-gpu-arch=sm_70 -fPIE -o "\$to"
END
chmod 755 toolkit/bin/nvcc
echo '__global__ void k() {}' >probe.cu
toolkit/bin/nvcc -c -o probe.o probe.cu >probe.log 2>&1 || skip "$clang cannot compile for CUDA 12.8: $(grep -m 1 error probe.log)"

mkdir build && cd build || fail "no folder"
"$DLX_SOURCE/configure" --with-cuda="$work/toolkit" --enable-developer CC="$CC" >configure.log 2>&1 || { tail configure.log; fail "configure"; }
says configure.log 'CUDA       12.8.93'
says configure.log 'cuda (70,80,90,100)'
make -j"$(nproc)" all test/gpu/train_emulated test/gpu/optest_emulated test/gpu/conv_checks_emulated test/gpu/compare_steps \
	test/gpu/injected.so test/gpu/fake_cupti.so >make.log 2>&1 || { tail -n 20 make.log; fail "it does not compile with CUDA 12.8"; }
for k in cuda/*.o; do
	case $k in
	*.emulated.o) ;;
	*) [ -s "$k.sm_70" ] || fail "no code for sm_70 in $k" ;;
	esac
done
LD_LIBRARY_PATH=$packages/nvidia/cuda_runtime/lib ./dlx-train --version | grep -q '^backends:.*cuda' || fail "it does not start"
grep -aq 'libcublasLt\.so\.12' dlx-train && grep -aq 'libcupti\.so\.12' dlx-train || fail "libraries of another CUDA are looked for"
export LD_LIBRARY_PATH=$packages/nvidia/cuda_runtime/lib
for t in optest step errors profile ranks memory; do
	DLX_TIER=check DLX_BUILD=$PWD sh "$DLX_SOURCE/test/gpu/${t}_emulated.sh" >"$t.log" 2>&1
	rc=$?
	case $rc-$t in
	0-* | 77-errors | 77-ranks | 77-memory) ;;        # without MPICH or the data some are skipped
	*) false ;;
	esac || { tail -n 20 "$t.log"; fail "${t}_emulated.sh fails with CUDA 12.8"; }
done
cd "$work" && pass
