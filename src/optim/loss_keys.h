/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The structs that the tables of keys in losses.c fill, and the losses over values
 * (loss_values.c). */
#ifndef DLX_OPTIM_LOSS_KEYS_H
#define DLX_OPTIM_LOSS_KEYS_H

#include "optim/optim.h"

/* Keys of losses over labels; each loss has those in its own table. */
struct label_loss {
	struct ynode *class_weights;
	bool normalize;
	int64_t ignore;
	int reduction; /* enum loss_reduction */
	double scale, label_smoothing;
	double gamma, alpha; /* only focal */
	bool squared, background, per_batch; /* dice and dice_cross_entropy */
	double smooth_numerator, smooth_denominator, dice_weight, cross_entropy_weight;
};
/* Keys of losses over values. */
struct value_loss {
	struct ynode *mask;
	struct floats output_weights;
	double delta; /* only huber */
};
struct flag_loss {
	struct floats positive_weight;
	int64_t ignore;
};

/* See loss_check. */
int value_loss_check(const struct variant_value *loss);
/* Emits mse, l1 or huber. */
int value_loss_emit(struct graph *g, const struct variant_value *loss, tid output, tid target,
                    struct loss_out *out);
/* Emits binary_cross_entropy. ignore: the target value that does not count, or INT64_MIN. */
int flag_loss_emit(struct graph *g, const struct variant_value *loss, tid output, tid target,
                   int64_t ignore, struct loss_out *out);

#endif
