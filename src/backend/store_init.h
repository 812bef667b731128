/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Initial values of params and states. */
#ifndef DLX_BACKEND_STORE_INIT_H
#define DLX_BACKEND_STORE_INIT_H

#include "backend/store.h"

/* Sets the values of n zeroed entries by their `init`, their name and the seed, using all
 * threads. */
int store_initialise(struct store_entry *const *entry, int n, uint64_t seed);

#endif
