/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Libraries that are opened when they are first needed:
 * hundreds of megabytes that most runs on a CPU never touch. */
#ifndef DLX_BASE_LIBRARY_H
#define DLX_BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct library_function {
	const char *name;
	void **pointer;              /* filled */
};

/* Opens `file` and looks up its n functions. what: its name to users ("cuDNN 9"). E_UNAVAILABLE
 * names the missing file or function. The library stays open for the life of the process. */
int library_open(const char *file, const char *what, const struct library_function *f, size_t n);
/* Opens a library, if it is there, and keeps it open, for callers that would open and close it
 * again and again. */
void library_keep(const char *file);
/* The address of a function in an open library or its dependencies; file NULL: in the libraries
 * that the program was linked with. NULL: not found. */
void *library_find(const char *file, const char *name);

/* For a file that speaks to one library: `lib`, pointers to the functions that FUNCTIONS(X) lists
 * as X(name), of the types their header gives them, and load(), which opens it the first time. */
#define LIBRARY_LATE(FUNCTIONS, file, what)                                                 \
	static struct {                                                                         \
		FUNCTIONS(LIBRARY_POINTER_)                                                         \
		bool loaded;                                                                        \
	} lib;                                                                                  \
	static int load(void)                                                                   \
	{                                                                                       \
		static const struct library_function functions[] = { FUNCTIONS(LIBRARY_ROW_) };     \
		if (!lib.loaded)                                                                    \
			TRY(library_open(file, what, functions, sizeof functions / sizeof *functions)); \
		lib.loaded = true;                                                                  \
		return 0;                                                                           \
	}
#define LIBRARY_POINTER_(name) __typeof__(name) *name;
#define LIBRARY_ROW_(name) { #name, (void **)&lib.name },

#endif
