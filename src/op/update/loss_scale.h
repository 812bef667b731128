/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of the ops of loss scaling, and the layout of their state. */
#ifndef DLX_OP_UPDATE_LOSS_SCALE_H
#define DLX_OP_UPDATE_LOSS_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#define LOSS_SCALE_NAME "loss_scale"       /* name of the state */
/* The numbers in the state, all zero at first. */
#define LOSS_SCALE_STATE 8
/* Entries of the state: the scale of the next step; the number of steps left out so far. */
enum { LOSS_SCALE_NOW, LOSS_SCALE_SKIPPED = 2 };

enum { LOSS_SCALE_FIXED, LOSS_SCALE_DYNAMIC, LOSS_SCALE_LOGMAX };

struct loss_scale_attr {
	double start;
};
struct loss_scale_update_attr {
	int mode;
	double start, least, most, factor, log_max;
	int64_t every;
};

#endif
