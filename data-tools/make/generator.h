/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes numbered items of data on several threads, one thread per item, and writes them in the
 * order of their numbers, so the output does not depend on the number of threads. Items are written
 * while later ones are made. */
#ifndef DLX_DATA_TOOLS_GENERATOR_H
#define DLX_DATA_TOOLS_GENERATOR_H

#include <stdint.h>

struct generator {
	void *user;
	int64_t first, n;             /* numbers first .. first + n - 1 */
	int threads;
	/* A slot has the memory for making and writing one item. Each thread has two slots, of which
	 * one is in use by `make` at a time. peer: the thread's first slot, whose scratch memory may be
	 * shared, or NULL when the first is opened. */
	int (*open)(void *user, void *peer, void **slot);
	void (*close)(void *slot);    /* called for a peer after the slots that share its memory */
	int (*make)(void *slot, int64_t number);         /* on any thread */
	int (*write)(void *user, void *slot);            /* in order */
};

/* Makes all items. Returns the error of the item with the lowest number that failed. */
int generator_run(const struct generator *g);

#endif
