#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Gradients in dense networks: masks of ReLU from what ReLU has read, and sums in the buffer of what they add to, whole or in bands of
# samples or rows. A run has the bits of one that does neither, and needs less memory.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
coads_data

# network NAME KERNEL [BLOCK]: layers that are concatenated, two of which begin with a ReLU, or the layers of BLOCK.
network() {
	block=${3:-$(sed "s/KERNEL/$2/" <<-END
		    - relu
		    - conv2d: {filters: 16, kernel: KERNEL, padding: same, name: c0}
		    - concat: {inputs: [stem, c0], name: one}
		    - conv2d: {filters: 16, kernel: KERNEL, padding: same, name: c1}
		    - concat: {inputs: [one, c1], name: two}
		    - relu
		    - conv2d: {filters: 16, kernel: KERNEL, padding: same, name: c2}
		    - concat: {inputs: [two, c2], name: three}
		    - conv2d: {filters: 16, kernel: KERNEL, padding: same, name: c3}
		    - concat: {inputs: [three, c3]}
	END
	)}
	cat >"$1.yaml" <<-END
		run: {name: $1, seed: 3}
		model:
		  family: layers
		  layers:
		    - conv2d: {filters: 16, kernel: 3, padding: same, name: stem}
		$block
		    - conv2d: {filters: 4, kernel: 1}
		data: {train: data/coads-train.dlx, transforms: [{crop: {size: [16, 20]}}, {normalize: {method: standard, mask: validity}}]}
		loss: softmax_cross_entropy
		optimizer: {type: sgd, learning_rate: 0.05, momentum: 0.9}
		train: {steps: 2, batch_size: 2}
		checkpoint: {every: null}
		report: {progress: none}
	END
}
small() {
	capped "$emulated" --device=cuda "$@"
}
# sum LAYER: the layout and the kernel of the sum with the gradient to its input.
sum() {
	awk -v layer="$1" '$3 ~ /conv_grad_input_sum|conv_grad_input_relu/ && $4 == layer { kernel = $10; for (i = 11; i <= NF; i++) kernel = kernel " " $i
		print $6 ", " kernel; exit }' plan
}
# lives_until OP LAYER: the node that reads last what this one has made.
lives_until() {
	awk -v op="$1" -v layer="'$2'" '/^memory map/ { map = 1 } map && $9 == op && $10 ~ "^" layer { print $6; exit }' plan
}
# both NAME DEBUG OPTION...: with masks and sums as they are, and as they were; leaves both plans, of which `plan` is the first.
both() {
	name=$1 more=$2
	shift 2
	for how in no yes; do
		[ $how = yes ] && words=skip=nothing || words=skip=masks+in_place
		export DLX_DEBUG="$(debug "$words,$more")"
		expect 0 small --plan "$@"
		cp out plan
		[ $how = yes ] || cp out plan-no
		expect 0 small --quiet --set run.dir="runs/$name-$how" "$@"
	done
	[ "$(newest_state "runs/$name-yes")" = "$(newest_state "runs/$name-no")" ] || fail "$name: other bits"
}

# A kernel of dlx's adds 32 channels to where they are.
network narrow 3 '    - conv2d: {filters: 16, kernel: 3, padding: same, name: c0}
    - concat: {inputs: [stem, c0], name: one}
    - conv2d: {filters: 16, kernel: 3, padding: same, name: c1}
    - concat: {inputs: [one, c1]}'
for t in bf16 fp16; do
	both narrow-$t way=ours --set precision.compute=$t narrow.yaml
	[ "$(sum c1)" = 'slice, narrow' ] || { cat plan; fail "c1 in $t: $(sum c1)"; }
done

# A kernel after cuDNN's convolution does, whole, for a sample at a time, and for some rows of it.
for kernel in 3 5; do
	network of-$kernel $kernel
	[ $kernel = 3 ] && types='f32 bf16' || types=bf16
	for t in $types; do
		for pixels in 1000 320 80; do
			name=$t-$kernel-$pixels
			both $name "way=parts,band_pixels=$pixels" --set precision.compute=$t of-$kernel.yaml
			case $(sum c3) in
			"slice, cudnn:"*" in bands, then a kernel") bands=yes ;;
			"slice, cudnn:"*", then a kernel") bands=no ;;
			*) bands=$(sum c3) ;;
			esac
			[ $pixels = 1000 ] && expected=no || expected=yes
			[ "$bands" = $expected ] || { cat plan; fail "$name: bands $bands, expected $expected"; }
			[ "$(newest_state "runs/$name-yes")" = "$(newest_state "runs/$t-$kernel-1000-yes")" ] || fail "$name: other bits than the whole"
		done
	done
	# What ReLU has made is not kept for the gradient to its input, but for that to the weights of c2, a node before.
	last=$(lives_until relu relu_1)
	cp plan-no plan
	[ "$last" -lt "$(lives_until relu relu_1)" ] || fail "the mask of kernel $kernel: $last"
done
# Sums in place keep what could be computed again: a memory limit is met without them where it is too low with them.
limited() {
	"$train" --plan --gpu=h100 --set precision.compute=bf16 --set train.batch_size=2 --set train.memory.limit="$1" \
		"$DLX_SOURCE/configs/tiramisu-sc18.yaml" >out 2>err
}
least() {
	limited 1KiB
	sed -n "s/.*'train.memory: {limit: \([0-9]*\)MiB}' is the least .*/\1/p" err
}
either=$(least)
apart=$(DLX_DEBUG=$(debug skip=in_place) && export DLX_DEBUG && least)
[ "$either" ] && [ "$apart" ] && [ "$either" -le "$apart" ] || fail "the least is $either MiB, without sums in place $apart"
limited "$either"MiB || { cat err; fail "the least limit is too low"; }
pass
