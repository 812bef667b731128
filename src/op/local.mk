# SPDX-License-Identifier: BSD-3-Clause
#
# The part of src/op in the one Makefile (Makefile.am).

# One op family a file. Adding an op = its file + one word here; table.inc is made from this list.
OPS = src/op/activation.c src/op/exchange_nodes.c src/op/update/all_reduce.c src/op/average_pool.c src/op/norm/batch_norm.c \
	src/op/norm/batch_norm_apply.c src/op/norm/batch_norm_parts.c src/op/binary.c \
	src/op/loss/channel_sums.c src/op/update/clip.c src/op/concat.c src/op/conv/conv.c src/op/conv/conv_fused.c \
	src/op/conv/conv_norm_grad.c src/op/conv/conv_statistics.c src/op/dense.c \
	src/op/update/descent.c src/op/loss/dice.c src/op/dropout.c src/op/loss/element.c \
	src/op/global_average.c src/op/norm/group_norm.c src/op/loss/loss.c \
	src/op/update/loss_scale.c src/op/max_pool.c src/op/loss/mean.c src/op/loss/metric.c \
	src/op/conv/norm_conv.c src/op/noise.c src/op/normalize_input.c src/op/pad.c src/op/place_sum.c \
	src/op/pow.c src/op/reduce.c src/op/loss/regression.c \
	src/op/reorder.c src/op/resize.c src/op/scale.c src/op/shape.c src/op/slope.c src/op/softmax.c \
	src/op/taylor.c \
	src/op/update/step_guard.c src/op/update/trust.c \
	src/op/unary.c src/op/update/update.c src/op/update/weight_average.c \
	src/op/update/weight_copy.c
libdlx_a_SOURCES += src/op/conv/conv.h src/op/conv/conv_algorithm.h src/op/conv/conv_args.c \
	src/op/conv/conv_args.h src/op/conv/conv_bands.c src/op/conv/conv_bands.h \
	src/op/conv/conv_cpu.c src/op/conv/conv_cpu.h src/op/conv/conv_cuda.c \
	src/op/conv/conv_cuda.h src/op/conv/conv_depthwise.c src/op/conv/conv_depthwise_cuda.c \
	src/op/conv/conv_few_cuda.c src/op/conv/conv_narrow_cuda.c src/op/conv/conv_own.h src/op/conv/conv_own_cuda.c \
	src/op/conv/conv_direct.h src/op/conv/conv_direct_sums.c src/op/conv/conv_direct_weights.c src/op/conv/conv_dnn.c \
	src/op/conv/conv_expect.c src/op/conv/conv_samples.c \
	src/op/conv/conv_frame.c src/op/conv/conv_frame.h src/op/conv/conv_fused.h src/op/conv/conv_fused_cuda.c \
	src/op/conv/conv_narrow_weights_cuda.c \
	src/op/conv/conv_normed.c src/op/conv/conv_normed.h src/op/conv/conv_point.c \
	src/op/conv/conv_point_tile.c src/op/conv/conv_point_tile.h src/op/conv/conv_reference.h \
	src/op/conv/conv_shape.c src/op/conv/conv_shape.h src/op/conv/conv_split.c src/op/conv/conv_split.h \
	src/op/conv/conv_sum.c src/op/conv/conv_sum.h src/op/conv/conv_tile.c src/op/conv/conv_tile.h \
	src/op/conv/conv_tile_bf16.c src/op/conv/conv_tile_simd.h src/op/conv/conv_weights.c \
	src/op/conv/conv_way.h src/op/conv/conv_way_cuda.c src/op/conv/conv_weights.h src/op/conv/conv_winograd.c src/op/exchange.h src/op/lib/check.c \
	src/op/lib/check.h src/op/lib/copy_cuda.c src/op/lib/copy_cuda.h src/op/lib/cuda.h \
	src/op/lib/elementwise.h src/op/lib/emit.c src/op/lib/emit.h src/op/lib/fork.h src/op/lib/grid.c \
	src/op/lib/grid.h src/op/lib/nest.c src/op/lib/nest.h src/op/lib/random.c src/op/lib/random.h \
	src/op/lib/regroup.c src/op/lib/regroup.h src/op/lib/row.c src/op/lib/row.h src/op/lib/sample.c \
	src/op/lib/reads.c src/op/lib/reads.h src/op/lib/sample.h src/op/lib/simd.h src/op/lib/slice.h \
	src/op/lib/stage.c src/op/lib/stage.h src/op/lib/walk.c src/op/lib/walk.h src/op/lib/walk_cuda.c \
	src/op/lib/window.c src/op/lib/window.h src/op/lib/simd_double.h src/op/lib/walk_double.c \
	src/op/lib/walk_double.h \
	src/op/lib/window_cuda.c src/op/lib/window_cuda.h \
	src/op/loss/dice.h src/op/loss/dice_cuda.c src/op/loss/dice_row.c src/op/loss/element.h \
	src/op/loss/element_cuda.c src/op/loss/labels.c src/op/loss/labels.h \
	src/op/loss/labels_cuda.c src/op/loss/labels_cuda.h src/op/loss/loss.h src/op/loss/loss_row.c \
	src/op/loss/loss_row.h src/op/loss/mean.h src/op/loss/mean_body.h src/op/loss/pointwise_error.c src/op/loss/pointwise_error.h \
	src/op/loss/shifted_exp.h \
	src/op/norm/group_norm.h src/op/norm/group_norm_cpu.c src/op/norm/norm.c src/op/norm/norm.h \
	src/op/norm/norm_cpu.c src/op/norm/norm_cpu.h src/op/norm/norm_cpu_grad.c src/op/norm/norm_cuda.c \
	src/op/norm/norm_sync.c src/op/norm/norm_sync.h src/op/normalize_input.h src/op/reduce.h \
	src/op/reduce_body.h src/op/noise.h src/op/reduce_cuda.c src/op/reorder.h src/op/resize.h \
	src/op/slope.h src/op/slope_body.h src/op/taylor.h src/op/taylor_body.h src/op/update/all_reduce.h src/op/update/bundle.c \
	src/op/resize_axis.c src/op/dense_double.c src/op/dense_double.h src/op/shape_body.h \
	src/op/update/bundle.h src/op/update/bundle_cuda.c src/op/update/bundle_cuda.h src/op/update/copier.c \
	src/op/update/copier.h src/op/update/copier_block.c src/op/update/copier_block.h src/op/update/descent.h \
	src/op/update/descent_body.h \
	src/op/update/descent_cuda.c src/op/update/loss_scale.h src/op/update/loss_scale_body.h \
	src/op/update/step_guard.h src/op/update/trust.h src/op/update/trust_body.h src/op/update/update.h src/op/update/update_body.h \
	src/op/update/weight_average_body.h \
	src/op/winograd/winograd.c src/op/winograd/winograd.h src/op/winograd/winograd_few.c \
	src/op/winograd/winograd_gemm.c src/op/winograd/winograd_load.c src/op/winograd/winograd_run.c \
	src/op/winograd/winograd_simd.h src/op/winograd/winograd_tile.c src/op/winograd/winograd_weights.c
libdlx_a_SOURCES += $(OPS)
nodist_libdlx_a_SOURCES = src/op/table.inc
libdlx_a_SOURCES += src/op/table.c
BUILT_SOURCES += src/op/table.inc
CLEANFILES += src/op/table.inc
src/op/table.$(OBJEXT): src/op/table.inc
src/op/table.inc: Makefile
	@$(MKDIR_P) src/op
	$(AM_V_GEN)for f in $(OPS); do f=$${f##*/}; echo "OP($${f%.c})"; done > $@.tmp && mv $@.tmp $@
