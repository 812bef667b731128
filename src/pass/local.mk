# SPDX-License-Identifier: BSD-3-Clause
#
# The part of src/pass in the one Makefile (Makefile.am).

libdlx_a_SOURCES += src/pass/recompute_nodes.c src/pass/recompute_nodes.h src/pass/autodiff.c \
	src/pass/autodiff.h src/pass/commute.c src/pass/copies.c src/pass/cse.c \
	src/pass/slice_adds.c src/pass/dce.c src/pass/fold.c src/pass/fuse.c \
	src/pass/fuse_rules.c src/pass/fuse_rules.h src/pass/in_place.c \
	src/pass/intake.c src/pass/second_stream.c \
	src/pass/layout_pass.c src/pass/masks.c \
	src/pass/conv_statistics_pass.c \
	src/pass/piece_statistics.c \
	src/pass/piece_statistics_grad.c src/pass/pass.c src/pass/pass.h src/pass/precision.c \
	src/pass/prologue.c src/pass/prologue.h src/pass/recompute.c \
	src/pass/running_statistics.c \
	src/pass/signs.c \
	src/pass/recompute.h src/pass/cut.c src/pass/cut.h src/pass/partition.c src/pass/partition.h \
	src/pass/receptive_field.c src/pass/receptive_field.h \
	src/pass/rewrite.c src/pass/rewrite.h src/pass/rounded_input.c \
	src/pass/rounded_input.h src/pass/sched.c src/pass/sync_batch_norm.c \
	src/pass/sync_batch_norm.h src/pass/views.c
