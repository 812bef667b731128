/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line as a table, which "--help", the parser and the check of the man page all use. */
#ifndef DLX_CLI_OPTIONS_H
#define DLX_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/option.h"
#include "train/predict/predict_as.h"

enum command {
	COMMAND_TRAIN, COMMAND_CHECK, COMMAND_PLAN, COMMAND_EVALUATE, COMMAND_PREDICT, COMMAND_EXPORT,
	COMMAND_SUGGEST, COMMAND_REPLAY, COMMAND_DUMP_STEP, COMMAND_BENCH, COMMAND_BENCH_OP,
	COMMAND_VERIFY,
	COMMAND_HELP, COMMAND_HELP_CONFIG, COMMAND_HELP_SWEEP, COMMAND_HELP_DEBUG, COMMAND_LIST_OPS,
	COMMAND_MAN_CONFIG, COMMAND_VERSION
};

struct options {
	int command;                     /* enum command */
	const char *config;              /* path of the config; for --bench-op the sample */
	struct texts set;
	const char *device;
	const char *resume;              /* checkpoint to resume from; NULL: a new run */
	const char *plan_format;         /* text, json, dot, svg */
	const char *file;                /* file of --export, folder of --dump-step; range of --replay;
	                                  * key of --help-config; op of --bench-op; size of
	                                  * --verify-partition, or "" */
	struct texts predict;            /* the files of --predict */
	struct texts suggest;            /* arguments of --suggest: a record to train with and
	                                  * optionally one to validate with; or files of inputs and of
	                                  * targets */
	const char *match;               /* index, coordinates; NULL: not given */
	const char *layout;              /* --input-layout */
	const char *output;              /* -o */
	const char *tile;                /* --tile */
	const char *confusion;           /* --confusion=FILE */
	const char *compute;             /* of --bench-op */
	const char *gpu;                 /* --gpu=NAME */
	const char *cluster;             /* --cluster=FILE */
	const char *dump;                /* --dump=PASS */
	const char *wisdom;              /* --wisdom=FILE */
	const char *trace;               /* --trace=FILE */
	const char *sweep;               /* --sweep=FILE */
	const char *sweep_stop;          /* median; NULL: not given */
	int64_t trace_steps;             /* 0: not given */
	int64_t bench_steps;
	const char *ranks_text;          /* of --ranks */
	int64_t ranks, hosts;            /* the numbers in ranks_text; 0: not given */
	bool synthetic, profile, quiet, first, json;
	const char *weights;             /* average, last; NULL: not given */
	const char *network;             /* the one network of several to export; NULL: all */
	const char *as;                  /* logits, probabilities, classes; NULL: not given */
};

/* Fills o, which borrows from argv and reorders it. E_USAGE with a text that names the option. */
int options_parse(struct options *o, int argc, char **argv);
void options_release(struct options *o);
/* Whether --weights=last was given. */
bool options_last_weights(const struct options *o);
/* The value of --as; PREDICT_DEFAULT if it is not given. */
enum predict_as options_as(const struct options *o);
/* Whether the command runs in one process only, even under a launcher: help, tables, --bench-op. */
bool options_standalone(const struct options *o);
/* Writes the command and the options in which ranks must agree ("--bench=20 --synthetic") to text
 * and returns it. Differences in config, data and device are compared elsewhere. */
#define OPTIONS_TEXT 256
const char *options_text(const struct options *o, char text[OPTIONS_TEXT]);
void options_help(FILE *out, const char *program);

#endif
