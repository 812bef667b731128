/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-convert: convert.c turns the command line into this plan, with convert_split.c, convert_run.c
 * carries it out, by the threads of convert_pipe.c and into the files of convert_files.c, and
 * convert_each.c does so file by file for --separate. */
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
	struct like like;                /* of like_file */
	struct side *input, *target;
	struct buf pairing;              /* how their samples were paired, for the record */
	struct side_options input_options, target_options;
	long double *missing_values;
	double *edges;
	int nedges;
	int64_t *sample, nsamples;
	struct split split;
	double shard_bytes;              /* 0: no shards */
	struct record_info info;
};

/* Decides all of c's types and shapes; texts live in a. convert_release releases what it opens. */
int convert_plan(struct conversion *c, struct arena *a);
void convert_release(struct conversion *c);
/* Writes c->output. All that can be checked before has been. */
int convert_run(struct conversion *c);
/* For --separate: plans and writes one file after the other, in records OUT-000000.dlx and so on, a
 * new one where samples have another size. */
int convert_each(const struct conversion *c);

/* --- for several plans of samples of one kind --- */

struct run;
/* Begins a record for what c is planned to write, and borrows c; path is in place of its output. */
struct run *run_new(const struct conversion *c, const char *path);
/* Adds c's samples. */
int run_add(struct run *r, const struct conversion *c);
/* Makes the record visible if rc is 0, and reports its contents; frees r, which may be NULL.
 * Returns rc or what went wrong. */
int run_close(struct run *r, int rc, bool tell);

#endif
