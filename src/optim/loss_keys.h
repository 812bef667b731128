/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the tables of keys in losses.c read, and the losses over values (loss_values.c). */
#ifndef DLX_OPTIM_LOSS_KEYS_H
#define DLX_OPTIM_LOSS_KEYS_H

#include "optim/optim.h"

/* Of losses over labels; each has the keys of its own table. */
struct label_loss {
	struct ynode *class_weights;
	bool normalize;
	int64_t ignore;
	int reduction; /* enum loss_reduction */
	double scale, label_smoothing;
	double gamma, alpha; /* focal alone */
	bool squared, background, per_batch; /* Dice, and with cross-entropy */
	double smooth_numerator, smooth_denominator, dice_weight, cross_entropy_weight;
};
/* Of losses over values. */
struct value_loss {
	struct ynode *mask;
	struct floats output_weights;
	double delta; /* huber alone */
};
struct flag_loss {
	struct floats positive_weight;
	int64_t ignore;
};

/* As loss_check. */
int value_loss_check(const struct variant_value *loss);
/* mse, l1, huber. */
int value_loss_emit(struct graph *g, const struct variant_value *loss, tid output, tid target,
                    struct loss_out *out);
/* binary_cross_entropy. ignore: the flag that does not count, or INT64_MIN. */
int flag_loss_emit(struct graph *g, const struct variant_value *loss, tid output, tid target,
                   int64_t ignore, struct loss_out *out);

#endif
