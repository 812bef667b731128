/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list `data.target_transforms`: how targets that are quantities are scaled for the loss. The
 * words are those of `data.transforms`, and statistics those of the training set's targets. Samples
 * stay as they are: the network's plans scale the targets that the loss reads, and bring outputs
 * back to the target's own units for metrics and predictions (scaled_target.h). A value that
 * is no number stays one. */
#ifndef DLX_DATA_TARGET_TRANSFORMS_H
#define DLX_DATA_TARGET_TRANSFORMS_H

#include "data/loader.h"

extern const struct variant data_target_transforms[];

/* One step on all channels: x = (x - centre) * scale, or a logarithm where log1p is not NULL. */
struct target_step {
	const float *centre, *scale;     /* of each channel */
	const bool *log1p;               /* of each channel: log(1 + x), else x */
};

struct target_scaling {
	int64_t channels;
	int n;
	const struct target_step *step;
	const char *const *names;        /* of the channels; "" where unnamed */
};

/* Whether the entries of the list (may be NULL) are written as their tables say, found without
 * data; reports every mistake. *n: how many there are. */
int target_transforms_check(struct arena *a, const struct ynode *list, int *n);

/* Whose statistics the steps use. */
struct target_source {
	const struct dataset *set;       /* NULL: nothing is known, */
	int64_t channels;                /* and targets have this many channels */
	bool imagined;                   /* nothing is computed: constants stand in for statistics */
};
/* *out: in a, NULL for an empty list. E_CONFIG with the place. */
int target_scaling_new(const struct target_scaling **out, struct arena *a,
                       const struct ynode *list, const struct target_source *from);
/* That all targets of the set can be scaled. E_DATA. */
int target_scaling_fit(const struct target_scaling *s, const struct dataset *d);
/* What brings scaled values back: x * *factor + *shift undoes an affine step in channel c. */
void target_step_inverse(const struct target_step *s, int64_t c, float *factor, float *shift);
/* That as JSON: for each step in the order in which they are taken, the number of each channel in
 * "multiply" and "add", or what is done to all of "channels" as "function". */
void target_scaling_inverse_json(const struct target_scaling *s, struct buf *out);
/* What is done to channel c, as in "(log1p(x) - 2.5) / 0.75". */
void target_scaling_text(const struct target_scaling *s, int64_t c, struct buf *out);

#endif
