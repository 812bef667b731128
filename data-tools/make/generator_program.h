/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The common part of programs that make data by generator.h and write a record file: their common
 * options, and main. */
#ifndef DLX_DATA_TOOLS_GENERATOR_PROGRAM_H
#define DLX_DATA_TOOLS_GENERATOR_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/option.h"
#include "data/record.h"
#include "data-tools/make/generator.h"

/* The first member of a program's own struct of options. */
struct generator_options {
	const char *output;
	int64_t n, first, seed, threads, level;
	bool quiet, help, version;
};

/* A program's table of options begins with the rows GENERATOR_OUTPUT and GENERATOR_NUMBER, whose
 * name is that of the items made. Its own rows follow, and GENERATOR_END. A program that makes a
 * single item has no GENERATOR_NUMBER, and its table ends with GENERATOR_SEED (if it uses random
 * numbers) and GENERATOR_FILE. */
#define GENERATOR_AT(member) offsetof(struct generator_options, member)
#define GENERATOR_OUTPUT                                                                        \
	{ "output", 'o', OPTION_TEXT, GENERATOR_AT(output), "FILE", .writes = ".dlx",                \
	  .doc = "the record file to write" }
#define GENERATOR_NUMBER(name, letter)                                                          \
	{ name, letter, OPTION_INT, GENERATOR_AT(n), "N", .min = 1, .max = 1 << 24,                 \
	  .doc = "how many; default: 64" },                                                         \
	{ "first", 0, OPTION_INT, GENERATOR_AT(first), "N", .min = 0, .max = 1 << 24,               \
	  .doc = "the number of the first one; default: 0" }
#define GENERATOR_SEED                                                                          \
	{ "seed", 0, OPTION_INT, GENERATOR_AT(seed), "N", .min = 0, .max = INT64_MAX,               \
	  .doc = "default: 1" }
#define GENERATOR_FILE                                                                          \
	{ "level", 'l', OPTION_INT, GENERATOR_AT(level), "N", .min = 0, .max = 19,                  \
	  .doc = "zstd compression level; default: 3; 0: none" },                                   \
	{ "quiet", 'q', OPTION_FLAG, GENERATOR_AT(quiet), .doc = "no summary at the end" },         \
	{ "help", 'h', OPTION_FLAG, GENERATOR_AT(help), .doc = "this text" },                       \
	{ "version", 0, OPTION_FLAG, GENERATOR_AT(version), .doc = "the version" },                 \
	{ 0 }
#define GENERATOR_END                                                                           \
	GENERATOR_SEED,                                                                             \
	{ "threads", 'j', OPTION_INT, GENERATOR_AT(threads), "N", .min = 1, .max = 1024,            \
	  .doc = "made at a time; default: one for each processor" },                               \
	GENERATOR_FILE
#define GENERATOR_DEFAULTS { .n = 64, .seed = 1, .level = 3 }

struct generator_program {
	const char *name, *about;            /* about: a sentence for --help */
	const struct option_row *rows;       /* the program's own options, on which the file's content
	                                      * depends */
	/* Checks the options, the program's own struct, and sets those that were not given. E_USAGE. */
	int (*check)(void *options);
	/* The description of the file's content, without the command. */
	struct record_info (*describe)(const void *options);
	/* Makes all items and writes them to w. The common members of g are already set. */
	int (*make)(void *options, struct generator *g, struct record_writer *w);
	/* Prints the summary. */
	void (*tell)(const void *options);
};

/* Whether an option is the program's own, not a common one. */
bool generator_is_own(const struct option_row *row);
/* The main function: sets up signals, parses options and writes the record file, completely or not
 * at all. Returns the exit status. */
int generator_main(const struct generator_program *p, struct generator_options *options, int argc,
                   char **argv);

#endif
