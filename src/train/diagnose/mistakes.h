/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Warnings about common mistakes in a training, each with its remedy. --check and runs print
 * them. */
#ifndef DLX_TRAIN_MISTAKES_H
#define DLX_TRAIN_MISTAKES_H

#include "plan/session.h"

/* Warns of mistakes in the data; s has opened its data. */
void mistakes_warn_data(const struct session *s);
/* Warns of mistakes in the network; s has made its plans. */
void mistakes_warn_network(const struct session *s);

#endif
