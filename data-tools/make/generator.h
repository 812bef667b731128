/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What programs that make data have in common: things with numbers, each made by one thread of
 * several and written in the order of their numbers, so that the outcome does not depend on
 * threads. While some are made, those before them are written. */
#ifndef DLX_DATA_TOOLS_GENERATOR_H
#define DLX_DATA_TOOLS_GENERATOR_H

#include <stdint.h>

struct generator {
	void *user;
	int64_t first, n;             /* numbers first .. first + n - 1 */
	int threads;
	/* A slot has all that one thing needs while it is made and written. Two slots of a thread are
	 * never made at once: peer is the thread's other slot, whose scratch memory may be shared, or
	 * NULL for its first. */
	int (*open)(void *user, void *peer, void **slot);
	void (*close)(void *slot);    /* peers after those that share with them */
	int (*make)(void *slot, int64_t number);         /* on any thread */
	int (*write)(void *user, void *slot);            /* in order */
};

/* The error of the first number that failed. */
int generator_run(const struct generator *g);

#endif
