/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The switches are apart from the code that reads them, which needs memory and errors: these
 * have switches of their own. */
#include "base/debug.h"

#include <string.h>

struct debug debug;

bool debug_skips(const char *what)
{
	const size_t n = strlen(what);
	for (const char *at = debug.skip; at; at = strchr(at, '+')) {
		at += *at == '+';
		if (strncmp(at, what, n) == 0 && (at[n] == '\0' || at[n] == '+'))
			return true;
	}
	return false;
}
