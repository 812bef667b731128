/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line as a table: "--help", the parser and the man page's check read the same rows. */
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
	COMMAND_HELP, COMMAND_HELP_CONFIG, COMMAND_HELP_DEBUG, COMMAND_LIST_OPS, COMMAND_MAN_CONFIG,
	COMMAND_VERSION
};

struct options {
	int command;                     /* enum command */
	const char *config;              /* the file; the sample of --bench-op */
	struct texts set;
	const char *device;
	const char *resume;              /* NULL: not asked */
	const char *plan_format;         /* text, json, dot, svg */
	const char *file;                /* of --export, --dump-step; range of --replay; key of
	                                  * --help-config; op of --bench-op */
	struct texts predict;            /* the files of --predict */
	struct texts suggest;            /* of --suggest: a record to train with and, if there are
	                                  * two, to validate with; or inputs and targets */
	const char *match;               /* index, coordinates; NULL: not asked */
	const char *layout;              /* --input-layout */
	const char *output;              /* -o */
	const char *tile;                /* --tile */
	const char *confusion;           /* --confusion=FILE */
	const char *compute;             /* of --bench-op */
	const char *gpu;                 /* --gpu=NAME */
	const char *dump;                /* --dump=PASS */
	const char *wisdom;              /* --wisdom=FILE */
	const char *trace;               /* --trace=FILE */
	int64_t trace_steps;             /* 0: not given */
	int64_t bench_steps;
	const char *ranks_text;          /* of --ranks */
	int64_t ranks, hosts;            /* the same; 0: not asked, not said */
	bool synthetic, profile, quiet, first, json;
	const char *weights;             /* average, last; NULL: not asked */
	const char *network;             /* of several, to export alone; NULL: all */
	const char *as;                  /* logits, probabilities, classes; NULL: not asked */
};

/* Fills o, which borrows from argv and reorders it. E_USAGE with a text that names the option. */
int options_parse(struct options *o, int argc, char **argv);
void options_release(struct options *o);
/* --weights=last */
bool options_last_weights(const struct options *o);
/* --as; PREDICT_DEFAULT if it is not given. */
enum predict_as options_as(const struct options *o);
/* Whether the command concerns one process alone, also
 * under a launcher: help, tables, the time of one op. */
bool options_standalone(const struct options *o);
/* Writes the command and the options in which ranks must agree ("--bench=20 --synthetic") to text
 * and returns it. Differences in config, data and device are compared elsewhere. */
#define OPTIONS_TEXT 256
const char *options_text(const struct options *o, char text[OPTIONS_TEXT]);
void options_help(FILE *out, const char *program);

#endif
