#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# configure names a cuDNN that is too old, or missing, where CUDA was requested; and which GPUs code is made for follows CUDA's version.
. "${DLX_SOURCE:?}/test/lib.sh"
mkdir -p cuda/bin cuda/include build
cat >cuda/bin/nvcc <<'EOF'
#!/bin/sh
echo 'Cuda compilation tools, release 13.0, V13.0.88'
EOF
chmod +x cuda/bin/nvcc

# version MAJOR MINOR PATCH: of the header
version() {
	printf '#define CUDNN_MAJOR %s\n#define CUDNN_MINOR %s\n#define CUDNN_PATCHLEVEL %s\n' "$@" >cuda/include/cudnn_version.h
}

# configured ARGUMENT...: configure in a folder of its own, of a source that may have been configured in place.
configured() {
	(cd build && capped "$DLX_SOURCE/configure" --without-mpi "$@")
}

version 9 7 1
expect 1 configured --with-cuda="$PWD/cuda"
says err 'cuDNN 9.7.1 is too old: the GPU backend needs 9.8 or newer'
expect 0 configured NVCC="$PWD/cuda/bin/nvcc" CUDA_HOME="$PWD/cuda"
says err 'cuDNN 9.7.1 is too old: without 9.8 or newer there is no GPU backend'
says out 'backends   cpu (oneDNN), reference'

version 9 10 2
for cuda in '13.0.88 80,90,100' '12.8.93 70,80,90,100' '12.4.131 70,80,90'; do
	sed -i "s/, V.*'/, V${cuda% *}'/" cuda/bin/nvcc
	expect 0 configured --with-cuda="$PWD/cuda" --without-nccl
	says out "cuda (${cuda#* }), reference"
done
pass
