/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line as a table: "--help", the parser and the man page's check read the same rows. */
#ifndef DLX_CLI_OPTIONS_H
#define DLX_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum command {
	COMMAND_TRAIN, COMMAND_CHECK, COMMAND_PLAN, COMMAND_EVALUATE, COMMAND_PREDICT, COMMAND_EXPORT,
	COMMAND_DUMP_STEP, COMMAND_BENCH, COMMAND_BENCH_OP, COMMAND_HELP, COMMAND_HELP_CONFIG, COMMAND_LIST_OPS, COMMAND_MAN_CONFIG,
	COMMAND_VERSION
};

#define OPTIONS_MAX_SET 64

struct options {
	enum command command;
	const char *config;              /* the file; the sample of --bench-op */
	const char *set[OPTIONS_MAX_SET];
	int nset;
	const char *device;
	const char *resume;              /* NULL: not asked */
	const char *plan_format;         /* text, json, dot, svg */
	const char *file;                /* of --predict, --export, --dump-step; key of --help-config; op of --bench-op */
	const char *output;              /* -o */
	const char *tile;                /* --tile */
	const char *compute;             /* of --bench-op */
	const char *gpu;                 /* --gpu=NAME */
	const char *dump;                /* --dump=PASS */
	const char *wisdom;              /* --wisdom=FILE */
	const char *trace;               /* --trace=FILE */
	int64_t trace_steps;             /* 0: not given */
	int64_t bench_steps;
	int64_t ranks, hosts;            /* of --ranks; 0: not asked, not said */
	bool synthetic, profile, quiet;
	bool last_weights;               /* --weights=last */
};

/* Fills o. E_USAGE with a text that names the option. */
int options_parse(struct options *o, int argc, char **argv);
/* Whether the command concerns one process alone, also
 * under a launcher: help, tables, the time of one op. */
bool options_standalone(const struct options *o);
/* The command and those options that decide what its ranks do together, "--bench=20 --synthetic",
 * into text; returns it. What else may differ between ranks the config, the data and the device
 * say. */
#define OPTIONS_TEXT 256
const char *options_text(const struct options *o, char text[OPTIONS_TEXT]);
void options_help(FILE *out, const char *program);

#endif
