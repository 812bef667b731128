/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Class labels and logits, shared by the segmentation loss and the confusion matrix. Logits are (N,
 * C, ...); labels have the same shape without C and are I32: a class 0..C-1, or the ignored value.
 * Any other label is an error, which is reported with its place. */
#ifndef DLX_OP_LOSS_LABELS_H
#define DLX_OP_LOSS_LABELS_H

#include "graph/op.h"

/* An attribute `ignore` of struct s. */
#define LABELS_IGNORE_FIELD(s)                                                                    \
	FIELD(s, ignore, FT_INT, .dflt = "null", .min = INT32_MIN, .max = INT32_MAX,                  \
	      .flags = FIELD_NULLABLE, .doc = "label that marks elements without one; null: none")

/* Checks that the shapes of inputs 0 (logits) and 1 (labels) agree. */
int labels_check(struct graph *g, const struct node *n);
/* KL_CHOOSE: logits and an output of their shape become native; labels keep their layout if it is
 * strided; all other tensors become row-major. */
int labels_choose(struct kplan *k, struct layout *in, struct layout *out);

/* Labels as rows along their last axis. If the logits are channels-last, those of row r begin at r
 * * w * classes. */
struct labels {
	int64_t rows, w;
	int64_t classes;
	int64_t ignore; /* the label that is left out; INT64_MIN: none */
	int64_t step;   /* elements between the labels of a row */
	struct shape shape;
	struct layout layout;
};

void labels_init(struct labels *l, const struct kplan *k, int64_t ignore);
int64_t labels_row(const struct labels *l, int64_t row); /* offset of a row's first label, in
                                                          * elements */

/* The bad labels of a part of the tensor: their number, and the row-major index of the first
 * one. */
struct bad_labels {
	int64_t count, at; /* at: row-major index of the first */
	int32_t value;
};

/* Whether y is a class. If it is neither a class nor ignored it is added to `bad`. */
static inline bool labels_valid(const struct labels *l, int32_t y, int64_t at,
                                struct bad_labels *bad)
{
	if (y >= 0 && y < l->classes && y != l->ignore)
		return true;
	if (y != l->ignore && bad->count++ == 0) {
		bad->at = at;
		bad->value = y;
	}
	return false;
}

/* Adds `more`, from a later part of the tensor, to `sum`. */
void bad_labels_add(struct bad_labels *sum, const struct bad_labels *more);
/* Returns 0 if there is none; else E_DATA with the layer, the first bad label and its place. */
int bad_labels_report(const struct bad_labels *bad, const struct kplan *k, const struct labels *l);

#endif
