#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# --predict --tile: with halos of the receptive field tiles of any size give the bits of the whole, in both formats and on
# one rank and two; where it is not finite that is said. The plan says which tile fits.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
samples=data/coads-validation.dlx
sed 's/poolings: 1/poolings: 2/; s/layers_per_block: .*/layers_per_block: [1, 1, 1, 1, 2]/; s/crop: {size: .*}/crop: {size: [44, 64]}/' \
	"$DLX_SOURCE/test/train/tiny.yaml" >two.yaml
# A U-Net with as many channels as kernels are made for.
cat >unet.yaml <<'EOF'
run: {name: unet, seed: 1}
model:
  family: layers
  layers:
    - {conv2d: {filters: 16, kernel: 3, padding: same, name: a}}
    - relu
    - {max_pool: {kernel: 2}}
    - {conv2d: {filters: 32, kernel: 3, padding: same, name: b}}
    - batch_norm
    - relu
    - {max_pool: {kernel: 2}}
    - {conv2d: {filters: 64, kernel: 3, padding: same}}
    - relu
    - {conv_transpose2d: {filters: 32, kernel: 2, stride: 2, name: up}}
    - {concat: {inputs: [up, b]}}
    - {conv2d: {filters: 32, kernel: 1}}
    - {conv_transpose2d: {filters: 16, kernel: 2, stride: 2, name: upper}}
    - {concat: {inputs: [upper, a]}}
    - {conv2d: {filters: 4, kernel: 3, padding: same}}
data: {train: data/coads-train.dlx, transforms: [{crop: 32}, {normalize: {method: standard, mask: validity}}]}
loss: {type: softmax_cross_entropy}
optimizer: {type: sgd, learning_rate: 0.05}
schedule: {type: constant}
train: {steps: 3, batch_size: 3}
report: {progress: none}
EOF

begin "tiles have the bits of the whole"
# same NAME OPTIONS...: the prediction of NAME.yaml with these has the bits of the whole.
same() {
	net=$1
	shift
	expect 0 "$train" --predict $samples "$@" -o tiles.npy $net.yaml
	says err 'the numbers of the whole'
	cmp tiles.npy $net.npy || fail "$net: $*"
}
for net in two unet; do
	expect 0 "$train" --quiet $net.yaml
	expect 0 "$train" --predict $samples -o $net.npy $net.yaml
	same $net --tile 64
	same $net --tile 72x120
	same $net --tile 1000
	same $net --tile auto
done
says err '1 tile of 92 x 180'

begin "other processors' kernels"
# They add up in another order, which must not depend on the width either.
for isa in AVX2 SSE41; do
	ONEDNN_MAX_CPU_ISA=$isa
	export ONEDNN_MAX_CPU_ISA
	expect 0 "$train" --predict $samples -o unet.npy unet.yaml
	same unet --tile 64
	same unet --tile 72x120
done
unset ONEDNN_MAX_CPU_ISA
expect 0 "$train" --predict $samples -o unet.npy unet.yaml
same unet --tile 40x44
says err 'tiles of 40 x 44 for each sample of 90 x 180'
expect 0 "$train" --predict $samples --tile 64 -o tiles.nc unet.yaml
expect 0 "$train" --predict $samples -o whole.nc unet.yaml
cmp tiles.nc whole.nc || fail "netCDF"
for as in probabilities classes; do
	for form in npy nc h5; do
		expect 0 "$train" --predict $samples --as $as --tile 64 -o tiles.$form unet.yaml
		expect 0 "$train" --predict $samples --as $as -o whole.$form unet.yaml
		cmp tiles.$form whole.$form || fail "--as $as, $form"
	done
	cmp whole.nc whole.h5 || fail "HDF5 is not netCDF-4"
done
if has_ranks; then
	expect 0 on_ranks 2 "$train" --predict $samples --tile 64 -o ranks.npy unet.yaml
	cmp ranks.npy unet.npy || fail "two ranks"
fi

begin "values that are not finite"
# dlx warns of them; the numbers differ, but not by much.
sed 's/family: layers/family: deeplabv3+/; /^  layers:/,/^data:/{/^data:/!d}' unet.yaml >deeplab.yaml
sed -i 's/name: unet/name: deeplab/; s/steps: 3/steps: 1/; s/batch_size: 3/batch_size: 2/' deeplab.yaml
expect 0 "$train" --quiet deeplab.yaml
expect 0 "$train" --predict $samples --tile 64 -o blended.npy deeplab.yaml
says err 'not the numbers of the whole'
says blended.npy "'shape': (4, 4, 90, 180,)"

begin "resizes by any factor"
# Resizes by any factor: a tile computes what the whole does there. In the first network sizes follow the input, in the
# second they are those of the whole.
cat >factor.layers <<'EOF'
    - {conv2d: {filters: 16, kernel: 3, padding: same}}
    - {max_pool: {kernel: 2}}
    - {resize: {factor: 1.5}}
    - relu
    - {max_pool: {kernel: 3}}
    - {resize: {factor: 3}}
    - {conv2d: {filters: 16, kernel: [4, 2], padding: {before: [2, 1], after: [1, 0]}}}
    - {average_pool: {kernel: 3}}
    - {resize: {factor: 4, mode: nearest}}
    - {resize: {factor: 5, mode: nearest}}
    - {average_pool: {kernel: 5}}
    - {conv2d: {filters: 4, kernel: 1}}
EOF
cat >sizes.layers <<'EOF'
    - {conv2d: {filters: 16, kernel: 3, padding: same}}
    - {resize: {size: [60, 120]}}
    - {conv2d: {filters: 16, kernel: 3, padding: same}}
    - {adaptive_average_pool: [20, 40]}
    - {resize: {size: [90, 180]}}
    - {conv2d: {filters: 4, kernel: 3, padding: same}}
EOF
for net in factor sizes; do
	sed "s/name: unet/name: $net/; /^  layers:/,/^data:/{/^  layers:/!{/^data:/!d}}; /^  layers:/r $net.layers" \
		unet.yaml >$net.yaml
done
sed -i 's/{crop: 32}, //' sizes.yaml
for net in factor sizes; do
	expect 0 "$train" --quiet $net.yaml
	for device in cpu reference; do
		expect 0 "$train" --device $device --predict $samples -o $net.npy $net.yaml
		same $net --device $device --tile 72x108
		says err 'tiles of 72 x 108'
	done
done

begin "what does not work is refused before anything is computed"
expect 64 "$train" --predict $samples --tile 8 -o x.npy unet.yaml
says err 'are too small'
expect 64 "$train" --predict $samples --tile 64x64x64 -o x.npy unet.yaml
says err 'samples have 2 spatial axes'
for wrong in 0 -3 64x big 64,64 x; do
	expect 64 "$train" --predict $samples --tile $wrong -o x.npy unet.yaml
	says err 'expected auto, or the size of a tile'
done
for out in pictures x.npz x.csv; do
	expect 64 "$train" --predict $samples --tile 64 -o $out unet.yaml
	says err "'-o FILE.npy', '-o FILE.nc' or '-o FILE.h5'"
	[ ! -e $out ] || fail "'$out' was made"
done

begin "a norm over the channels of each point reads no other point"
sed 's/^run: .*/run: {name: point, seed: 1}/; s/- batch_norm/- layer_norm/' unet.yaml >point.yaml
expect 0 "$train" --quiet point.yaml
expect 0 "$train" --predict $samples -o point.npy point.yaml
same point --tile 64

begin "a network that gives one label for a sample"
npy() {
	printf '\223NUMPY\001\000\166\000'
	printf '%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': ($1), }"
}
{ npy '4, 1, 8, 8'; seq 10000 20000 | head -c 256; } >labelled.npy
{ npy '4,'; printf '\000\001\001\000'; } >labels.npy
expect 0 "$convert" --quiet -i labelled.npy --input-layout first -t labels.npy -o labelled.dlx
cat >label.yaml <<'EOF'
run: {name: label}
model: {family: layers, layers: [{conv2d: {filters: 4, kernel: 3}}, {adaptive_average_pool: 1}, flatten, {dense: 2}]}
data: {train: labelled.dlx}
loss: softmax_cross_entropy
optimizer: sgd
train: {steps: 1, batch_size: 2}
report: {progress: none}
EOF
expect 0 "$train" --quiet label.yaml
for tile in 4 1000 auto; do
	expect 64 "$train" --predict labelled.dlx --tile $tile -o x.npy label.yaml
	says err "'--tile' is for networks whose output has the spatial axes of the input; for 1x8x8 this one's has not"
done
expect 64 "$train" --evaluate --tile 64 unet.yaml
says err "'--tile' goes with '--predict'"
DLX_DEBUG=$(debug fault=write:2) "$train" --quiet --predict $samples --tile 64 -o x.npy unet.yaml 2>err && fail "a disk that is full"
[ -z "$(find . -name 'x.npy*' -o -name '*.tmp*')" ] || fail "something is left"

begin "little memory: whole samples are refused with the remedy, and auto uses tiles"
mkdir -p host/proc/self host/sys/fs/cgroup
printf 'MemTotal: 3500 kB\nMemAvailable: 3500 kB\n' >host/proc/meminfo
DLX_DEBUG=$(debug host_root="$PWD/host")
export DLX_DEBUG
expect 71 "$train" --quiet --predict $samples -o x.npy unet.yaml
says err "'--tile auto' predicts in tiles that fit"
same unet --tile auto
says err ' tiles of '
expect 0 "$train" --plan unet.yaml
says out 'whole samples do not fit, but these tiles do: --tile '
tile=$(sed -n 's/.*these tiles do: --tile \([0-9]*\)x\([0-9]*\),.*/[\1, \2]/p' out)
expect 0 "$train" --plan=json unet.yaml
says out "\"tile\": {\"whole\": false, \"size\": $tile, \"arena\": "
pass
