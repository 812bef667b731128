/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The batches of a loader, one of which may be on its way to the device while the step before it runs. */
#ifndef DLX_TRAIN_AHEAD_H
#define DLX_TRAIN_AHEAD_H

#include "train/session.h"

struct ahead {
	struct loader *loader;
	const struct batch *batch;       /* taken from the loader already; NULL: none */
};

/* The next one, until either is called again. */
int ahead_next(struct ahead *a, const struct batch **out);
/* On a device with a memory of its own, once what it has been given runs: takes the next training
 * batch and sends it. Elsewhere nothing. */
int ahead_send(struct ahead *a, struct session *s);

#endif
