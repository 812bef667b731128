/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Classic mistakes that a training can be made with: each is a warning with its remedy, by --check
 * and by the run. */
#ifndef DLX_TRAIN_MISTAKES_H
#define DLX_TRAIN_MISTAKES_H

#include "plan/session.h"

/* Of a session whose data is open. */
void mistakes_warn_data(const struct session *s);
/* Of one that is planned. */
void mistakes_warn_network(const struct session *s);

#endif
