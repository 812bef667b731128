/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a run reads, and how long its steps wait for it, since it was started. The first step is
 * left out: it waits for the first batch, which nothing could hide. */
#ifndef DLX_TRAIN_DATA_RATES_H
#define DLX_TRAIN_DATA_RATES_H

#include "plan/session.h"

struct data_rates {
	int64_t steps;                 /* of this rank; seconds and waited: of all but the first */
	double seconds, waited;
	/* As of the last gather; of all ranks. */
	struct data_bytes bytes;
	int64_t sent;                  /* stored bytes, from rank to rank */
	double share;                  /* of the steps' time that was waited, on the rank where it is
	                                * most; NaN: there was no second step */
};

void data_rates_step(struct data_rates *r, double seconds, double waited);
/* Of training and validation. Collective. */
void data_rates_gather(struct data_rates *r, const struct session *s);
/* "{"read": ..., "sent": ..., "decoded": ..., "waited": ...}" */
void data_rates_json(const struct data_rates *r, struct buf *out);
/* A line for the end of a run. */
void data_rates_text(const struct data_rates *r, struct buf *out);

#endif
