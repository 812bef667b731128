/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list `data.target_transforms`: how targets that are quantities are scaled for the loss. Its
 * entries are named as those of `data.transforms`, and use the statistics of the training set's
 * targets. The samples themselves are not changed: the network's plans scale the targets that the
 * loss reads, and scale outputs back to the original units for metrics and predictions
 * (scaled_target.h). NaN stays NaN. */
#ifndef DLX_DATA_TARGET_TRANSFORMS_H
#define DLX_DATA_TARGET_TRANSFORMS_H

#include "data/loader.h"

extern const struct variant data_target_transforms[];

/* One step, applied to all channels: x = (x - centre) * scale, or a logarithm if log1p is not
 * NULL. */
struct target_step {
	const float *centre, *scale;     /* by channel */
	const bool *log1p;               /* by channel: log(1 + x), else x */
};

struct target_scaling {
	int64_t channels;
	int n;
	const struct target_step *step;
	const char *const *names;        /* names of the channels; "" if unnamed */
};

/* Checks the syntax of the list's entries (may be NULL), without data; reports every mistake. *n:
 * the number of entries. */
int target_transforms_check(struct arena *a, const struct ynode *list, int *n);

/* Whose statistics the steps use. */
struct target_source {
	const struct dataset *set;       /* NULL: no set is known, */
	int64_t channels;                /* and this is the number of the targets' channels */
	bool imagined;                   /* placeholder constants replace the statistics, because
	                                  * nothing will be computed */
};
/* *out: allocated in a; NULL for an empty list. E_CONFIG with the location. */
int target_scaling_new(const struct target_scaling **out, struct arena *a,
                       const struct ynode *list, const struct target_source *from);
/* Checks that all targets of the set can be scaled. E_DATA. */
int target_scaling_fit(const struct target_scaling *s, const struct dataset *d);
/* The inverse of an affine step in channel c: x * *factor + *shift. */
void target_step_inverse(const struct target_step *s, int64_t c, float *factor, float *shift);
/* Appends the inverse as JSON: the steps in the order in which they are applied. An affine step has
 * a number for each channel in "multiply" and "add"; a function has its name in "function" and its
 * channels in "channels". */
void target_scaling_inverse_json(const struct target_scaling *s, struct buf *out);
/* Appends the scaling of channel c as a formula: "(log1p(x) - 2.5) / 0.75". */
void target_scaling_text(const struct target_scaling *s, int64_t c, struct buf *out);

#endif
