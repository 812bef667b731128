/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Initial values of params and states. */
#ifndef DLX_BACKEND_STORE_INIT_H
#define DLX_BACKEND_STORE_INIT_H

#include "backend/store.h"

/* Gives n entries, whose memory is zero, their values by
 * `init`, `seed` and name; by all threads. */
int store_initialise(struct store_entry *const *entry, int n, uint64_t seed);

#endif
