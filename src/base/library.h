/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Libraries that are opened when they are first needed: hundreds of megabytes that most runs on a CPU never touch. */
#ifndef DLX_BASE_LIBRARY_H
#define DLX_BASE_LIBRARY_H

#include <stddef.h>

struct library_function {
	const char *name;
	void **pointer;              /* filled */
};

/* Opens `file` and looks up its n functions. what: its name to users ("cuDNN 9"). E_UNAVAILABLE says what is missing where.
 * The library stays open for the life of the process. */
int library_open(const char *file, const char *what, const struct library_function *f, size_t n);

#endif
