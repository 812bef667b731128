# SPDX-License-Identifier: BSD-3-Clause
#
# The part of src/bench in the one Makefile (Makefile.am).

# What dlx-bench has in common with the programs that test/bench/metg compares it with.
taskbench_sources = src/bench/siphash.c src/bench/siphash.h src/bench/tb_app.c src/bench/tb_app.h \
	src/bench/tb_graph.c src/bench/tb_graph.h src/bench/tb_kernel.c src/bench/tb_kernel.h src/bench/tb_report.c \
	src/bench/tb_task.c src/bench/tb_task.h
# With fused multiply-adds, which ISO C leaves out, as in the original's kernels.
taskbench_cflags = $(AM_CFLAGS) -ffp-contract=fast

bin_PROGRAMS += dlx-bench
dlx_bench_SOURCES = src/bench/bench_main.c src/bench/links.c src/bench/links.h src/bench/metg.c src/bench/metg.h src/bench/metg_find.c src/bench/metg_find.h \
	src/bench/metg_run.c src/bench/metg_run.h src/bench/task_nodes.c src/bench/task_nodes.h src/bench/tb_lane.h src/bench/tb_messages.c \
	src/bench/tb_plan.c src/bench/tb_plan.h src/bench/tb_steal.c src/bench/tb_steal.h src/bench/tb_weave.c src/bench/tb_weave.h $(taskbench_sources)
dlx_bench_CFLAGS = $(taskbench_cflags)
dlx_bench_LDADD = $(LIBS_ALL)
dist_man_MANS += man/dlx-bench.1
