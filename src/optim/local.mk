# SPDX-License-Identifier: BSD-3-Clause
#
# The part of src/optim in the one Makefile (Makefile.am).

libdlx_a_SOURCES += src/optim/bundles.c src/optim/class_weights.c src/optim/class_weights.h \
	src/optim/clip_norm.c src/optim/lbfgs.c src/optim/lbfgs.h src/optim/loss_keys.h \
	src/optim/loss_scaling.c src/optim/loss_values.c \
	src/optim/losses.c src/optim/metric_table.c src/optim/metric_table.h \
	src/optim/metric_values.c src/optim/metrics.c src/optim/optim.h src/optim/optimizers.c \
	src/optim/schedule.c src/optim/schedule.h src/optim/settings.c src/optim/settings.h \
	src/optim/wolfe.c src/optim/wolfe.h
