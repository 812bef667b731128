/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-convert in two halves: convert.c turns the command line into this plan, convert_run.c
 * carries it out. */
#ifndef DLX_DATA_TOOLS_CONVERT_H
#define DLX_DATA_TOOLS_CONVERT_H

#include "data/record.h"
#include "side.h"

struct conversion {
	/* as given */
	struct texts inputs, targets;
	const char *output, *format, *samples, *missing, *classes, *class_names, *channel_names;
	const char *dtype, *target_dtype, *input_layout, *target_layout;
	double fill;
	int64_t ignore, level;           /* ignore: RECORD_NO_IGNORE if not given */
	bool validity_mask, concatenate, labels, quiet, help, version;
	const char *ignore_text;
	/* as planned */
	const char *command;
	struct side *input, *target;
	struct side_options input_options, target_options;
	double *missing_values, *edges;
	int nedges;
	int64_t *sample, nsamples;
	struct record_info info;
};

/* Writes c->output. All that can be checked before has been. */
int convert_run(struct conversion *c);

#endif
