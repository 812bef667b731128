/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plan of a conversion by dlx-convert. convert.c and convert_split.c make it from the command
 * line; convert_run.c carries it out, with the threads of convert_pipe.c and the output files of
 * convert_files.c; convert_each.c does this file by file for --separate. */
#ifndef DLX_DATA_TOOLS_CONVERT_H
#define DLX_DATA_TOOLS_CONVERT_H

#include "data-tools/convert/convert_split.h"
#include "data/record.h"
#include "data-tools/convert/side/side.h"

struct conversion {
	/* as given */
	struct texts inputs, targets;
	const char *output, *format, *samples, *missing, *classes, *class_names, *channel_names;
	const char *dtype, *target_dtype, *input_layout, *target_layout, *like_file, *match;
	double fill;
	int64_t ignore, level, threads;  /* ignore: RECORD_NO_IGNORE if not given */
	struct split_options split_options;
	const char *shard;
	bool resume;
	bool validity_mask, concatenate, labels, separate, quiet, help, version;
	const char *ignore_text;
	/* as planned */
	const char *command;
	struct like like;                /* the record described by like_file */
	struct side *input, *target;
	struct buf pairing;              /* text on how input and target samples were paired, which is
	                                  * stored in the record */
	struct side_options input_options, target_options;
	long double *missing_values;
	double *edges;
	int nedges;
	int64_t *sample, nsamples;
	struct split split;
	double shard_bytes;              /* 0: no shards */
	struct record_info info;
};

/* Opens the sources and determines all types and shapes of c; texts are in arena a. Release with
 * convert_release. */
int convert_plan(struct conversion *c, struct arena *a);
void convert_release(struct conversion *c);
/* Writes c->output. convert_plan has already made all possible checks. */
int convert_run(struct conversion *c);
/* For --separate: plans and converts one file after the other, to records OUT-000000.dlx and so on.
 * A new record begins when the size of samples changes. */
int convert_each(const struct conversion *c);

/* --- for several plans of samples of one kind --- */

struct run;
/* Begins a record for the samples of c, which is borrowed; path replaces c->output. */
struct run *run_new(const struct conversion *c, const char *path);
/* Adds c's samples. */
int run_add(struct run *r, const struct conversion *c);
/* Makes the record visible if rc is 0, and prints a summary if `tell` is set. Frees r, which may be
 * NULL. Returns rc, or the error of this call. */
int run_close(struct run *r, int rc, bool tell);

#endif
