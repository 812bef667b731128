# SPDX-License-Identifier: BSD-3-Clause
#
# The part of src/comm in the one Makefile (Makefile.am).

# One process needs nothing of MPI, and a build without it has world_none.c for all of world*.c.
MPI_WORLD = src/comm/across.c src/comm/exchange_mpi.c src/comm/mpi_library.c src/comm/world.c src/comm/world_collect.c \
	src/comm/world_fetch.c
NO_MPI_WORLD = src/comm/world_none.c
libdlx_a_SOURCES += src/comm/across.h src/comm/board.c src/comm/board.h src/comm/comm.c src/comm/comm.h \
	src/comm/exchange.c src/comm/exchange.h src/comm/exchange_gpu.c src/comm/exchange_host.c src/comm/exchange_mpi.h \
	src/comm/exchange_state.h src/comm/fetch.h src/comm/futex.h src/comm/host_reducer.c src/comm/host_reducer.h src/comm/launched.c \
	src/comm/launched.h src/comm/link_delay.h src/comm/linkmodel.c src/comm/linkmodel.h \
	src/comm/linkmodel_measure.c src/comm/liveness.c src/comm/liveness.h \
	src/comm/meet.h src/comm/mpi_library.h src/comm/nccl.h src/comm/nccl_library.h \
	src/comm/order.c src/comm/order.h src/comm/rank_threads.c src/comm/rank_threads.h src/comm/ranks_text.c \
	src/comm/ranks_text.h src/comm/reducer.c src/comm/reducer.h src/comm/reducer_nccl.h \
	src/comm/reducer_nccl_state.h src/comm/reducer_report.c src/comm/reducer_run.c \
	src/comm/reducer_state.h src/comm/siblings.c src/comm/siblings.h src/comm/subgroup.c \
	src/comm/sum.c src/comm/sum.h src/comm/watchdog.c src/comm/watchdog.h src/comm/world.h \
	src/comm/world_mpi.h
if HAVE_MPI
libdlx_a_SOURCES += $(MPI_WORLD)
EXTRA_DIST += $(NO_MPI_WORLD)
else
libdlx_a_SOURCES += $(NO_MPI_WORLD)
EXTRA_DIST += $(MPI_WORLD)
endif
