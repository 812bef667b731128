# SPDX-License-Identifier: BSD-3-Clause
#
# The part of src/model in the one Makefile (Makefile.am).

libdlx_a_SOURCES += src/model/build.c src/model/cosmoflow.c src/model/cosmoflow.h \
	src/model/deepcam.c src/model/deepcam.h src/model/deeplab.c src/model/deeplab.h \
	src/model/expr.c src/model/expr.h src/model/expr_check.c src/model/expr_check.h \
	src/model/expr_check_names.c src/model/expr_collapse.c src/model/expr_collapse.h \
	src/model/expr_derive.c src/model/expr_derive.h src/model/expr_emit.c \
	src/model/expr_foresee.c src/model/expr_forward.c src/model/expr_forward.h \
	src/model/expr_scope.c src/model/expr_shares.c \
	src/model/expr_stack.c src/model/expr_stack.h src/model/expr_tree.h src/model/expr_value.c \
	src/model/expr_value.h \
	src/model/families.c src/model/families.h src/model/fcn.c src/model/fcn.h \
	src/model/init.c src/model/init.h src/model/layer.c src/model/layer.h \
	src/model/layer_block.c src/model/layer_block.h src/model/layer_list.c \
	src/model/layer_scope.h src/model/layer_substitute.c src/model/layers.c \
	src/model/layers.h src/model/model.h \
	src/model/network_layers.c src/model/networks.c src/model/networks.h src/model/nn.c src/model/nn.h \
	src/model/op_attr.c src/model/op_attr.h src/model/resnet.c src/model/resnet.h \
	src/model/streams.c src/model/streams.h src/model/tiramisu.c src/model/tiramisu.h \
	src/model/unet3d.c src/model/unet3d.h
