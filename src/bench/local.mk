# SPDX-License-Identifier: BSD-3-Clause
#
# The part of src/bench in the one Makefile (Makefile.am).

# What dlx-bench has in common with the programs that test/bench/metg compares it with.
taskbench_sources = src/bench/siphash.c src/bench/siphash.h src/bench/tb_app.c src/bench/tb_app.h \
	src/bench/tb_graph.c src/bench/tb_graph.h src/bench/tb_kernel.c src/bench/tb_kernel.h src/bench/tb_report.c \
	src/bench/tb_task.c src/bench/tb_task.h
# With fused multiply-adds, which ISO C leaves out, as in the original's kernels.
taskbench_cflags = $(AM_CFLAGS) -ffp-contract=fast
