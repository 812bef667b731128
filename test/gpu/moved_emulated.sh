#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What the emulated GPU counts of kernels that large tensors go through: they move 16 bytes of neighbouring channels at once where these are
# aligned, sums of rows 8; a norm takes as few launches, and its gradient as few passes over memory, as cuda/k_norm_grad.cu says; kernels of
# dlx's are taken, and overlap if requested and the GPU can.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
optest=$DLX_BUILD/test/gpu/optest_emulated
export DLX_EMULATE_MOVED=moved DLX_EMULATE_LAUNCHES=launches

# runs OP SAMPLE: in each type, four times in all, and as the reference.
runs() {
	rm -f moved launches
	expect 0 capped "$optest" --device=cuda --kernels --sample="$2" "$1"
	[ -s moved ] || fail "$1 of '$2' runs no kernel"
}
# bytes KERNEL TYPE: what it moved in packs of channels, and how often.
bytes() {
	awk -v kernel=" $1(" -v type="T = $2" 'index($0, kernel) && index($0, type) { n += $2; words += $1 } END { print n + 0, words + 0 }' moved
}
# packs LEAST KERNEL...: each moves this many bytes at once in 16 bits, on an average with places and vectors.
packs() {
	least=$1
	shift
	for kernel; do
		for type in __half __nv_bfloat16; do
			# shellcheck disable=SC2046
			set -- $(bytes "$kernel" $type)
			[ "$2" -gt 0 ] && [ "$1" -ge $((least * $2)) ] || { cat moved; fail "$kernel moves $1 bytes of $type in $2 pieces"; }
		done
	done
}
# kernels NAME...: these were launched, and no others but copies of what the test gives.
kernels() {
	ran=$(sed 's/ .*//; s/^(//' launches | grep -v -e '^normalize_input$' -e '^copy$' -e '^cast' -e '^fill$' | sort | tr '\n' ' ')
	[ "$ran" = "$(printf '%s\n' "$@" | sort | tr '\n' ' ')" ] || fail "launched: $ran instead of $*"
}

# Norms: of many rows two launches for the statistics and one for the result, of few one and one; gradients three, and one.
runs batch_norm '2x48x21x23 48:positive 48; slope: 0'
packs 16 statistics_chunks norm_map gradient_chunks gradient_map
kernels statistics_chunks statistics_join norm_map gradient_chunks gradient_join gradient_map
runs batch_norm '1x48x4x5 48:positive 48; slope: 0'
packs 16 statistics_few norm_map gradient_few
kernels statistics_few norm_map gradient_few
runs batch_norm_apply '2x48x21x23 48 48 48 48:positive 2x48x21x23; slope: 0'
packs 16 norm_map

# Passes of the gradient after an addition and a ReLU, which each read or write a tensor: five of the sums (four and a sixteenth, which is no
# pack, by signs), and three of what they are put into. Vectors and what a thread has of them add less than one.
passes() {
	each=$((4 * 4 * 8 * 64 * 64 * 2))     # four runs
	for type in __half __nv_bfloat16; do
		sums=$(($(bytes gradient_chunks $type | sed 's/ .*//') / each)) map=$(($(bytes gradient_map $type | sed 's/ .*//') / each))
		[ "$sums $map" = "$1 $2" ] || { cat moved; fail "$sums and $map passes of $type instead of $1 and $2"; }
	done
}
x=4x8x64x64
runs batch_norm_grad "$x $x 8 8 8:positive - - $x $x; slope: 0"
passes 5 3
runs batch_norm_grad_signs "$x $x 8 8 8:positive - - 4x1x64x64:u8 $x; slope: 0"
passes 4 3

# Pools and resizing; places of maxima are a byte a channel.
runs max_pool '2x48x16x18:distinct; kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1'
packs 12 max_pool pool_grad_cells
runs max_pool '2x48x8x8:distinct; kernel: 4'
packs 12 max_pool max_pool_spread
runs average_pool '2x48x16x18; kernel: 2'
packs 16 average_pool pool_grad_cells
runs average_pool '2x48x16x18; kernel: 5, stride: 1'
packs 16 average_pool average_pool_grad
runs resize '2x48x7x9; size: [14, 18]'
packs 16 resize

# What follows a convolution, dropout, and gradients of biases: of a convolution, and of what else has one.
DLX_DEBUG=$(debug way=parts)
runs conv_relu '2x48x9x9 48x48x3x3! 48! ; pad_lo: 1, pad_hi: 1'
packs 16 epilogue
runs relu_dropout '2x48x9x9:away 3:key; rate: 0.1'
packs 16 dropout
runs conv_grad_weight '2x48x9x9 2x48x9x9; pad_lo: 1, pad_hi: 1, kernel: 3, bias: true'
packs 8 sum_chunks
runs sum '2x48x37x61; axes: [0, 2, 3]'
packs 8 reduce_rows

# Kernels of dlx's, in 16 bits alone: of a batch of 4 channels, which are not padded to 8; of few channels to few; and of tiles of depthwise
# convolutions. launched COUNT KERNEL...: so often, in two types, of which each has four runs.
DLX_DEBUG=$(debug way=ours)
launched() {
	count=$1
	shift
	for kernel; do
		n=$(sed 's/^(//' launches | awk -v kernel="$kernel" '$1 == kernel { n = $2 } END { print n + 0 }')
		[ "$n" = "$count" ] || { cat launches; fail "$kernel is launched $n times instead of $count"; }
	done
}
runs conv '2x4x9x9 64x4x3x3! ; pad_lo: 1, pad_hi: 1'
launched 8 few_to_many few_gradient
runs conv '2x16x9x9 16x16x5x5! ; pad_lo: 2, pad_hi: 2'
launched 16 narrow
launched 8 narrow_weights
runs conv '2x64x9x9 64x1x3x3! ; groups: 64, pad_lo: 1, pad_hi: 1'
launched 16 depthwise_tile
launched 8 depthwise_tile_gradient
pass
