# SPDX-License-Identifier: BSD-3-Clause
#
# The part of src/cli in the one Makefile (Makefile.am).

bin_PROGRAMS += dlx-simulate dlx-train
dlx_train_SOURCES = src/cli/commands.c src/cli/commands.h src/cli/commands_help.c src/cli/commands_help.h src/cli/foreign.c \
	src/cli/foreign.h src/cli/main.c src/cli/options.c src/cli/options.h \
	src/cli/first_config.c src/cli/first_config.h src/cli/first_config_run.c src/cli/pretrained.c src/cli/pretrained.h \
	src/cli/sweep/sweep.c src/cli/sweep/sweep.h src/cli/sweep/sweep_data.c src/cli/sweep/sweep_data.h \
	src/cli/sweep/sweep_desk.c src/cli/sweep/sweep_desk.h src/cli/sweep/sweep_file.c src/cli/sweep/sweep_file.h \
	src/cli/sweep/sweep_journal.c src/cli/sweep/sweep_journal.h src/cli/sweep/sweep_live.c src/cli/sweep/sweep_live.h \
	src/cli/sweep/sweep_median.c src/cli/sweep/sweep_median.h src/cli/sweep/sweep_name.c src/cli/sweep/sweep_name.h \
	src/cli/result.c src/cli/result.h src/cli/run_folder.c src/cli/run_folder.h
dlx_train_LDFLAGS = $(AM_LDFLAGS) $(DEBUG_LDFLAGS)
dlx_train_LDADD = $(LIBS_ALL)
dlx_simulate_SOURCES = src/cli/simulate/sim_advice.c \
	src/cli/simulate/sim_advice.h src/cli/simulate/sim_cut.c src/cli/simulate/sim_cut.h \
	src/cli/simulate/sim_print.c src/cli/simulate/sim_print.h \
	src/cli/simulate/sim_row.c src/cli/simulate/sim_row.h src/cli/simulate/simulate.c
dlx_simulate_LDFLAGS = $(AM_LDFLAGS) $(DEBUG_LDFLAGS)
dlx_simulate_LDADD = $(LIBS_ALL)
