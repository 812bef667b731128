/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The environment is read at every call: the calls that ask are rare or followed by a system call,
 * and a test may so change the fault between two cases. */
#include "base/fault.h"

#include <stdlib.h>
#include <string.h>

bool fault_hits(const char *kind, uint64_t n)
{
	const char *s = getenv("DLX_FAULT");
	size_t len = strlen(kind);

	while (s && *s) {
		if (!strncmp(s, kind, len) && s[len] == ':') {
			char *end;
			uint64_t at = strtoull(s + len + 1, &end, 10);
			if (n == at || (n > at && *end == '+'))
				return true;
		}
		s = strchr(s, ',');
		if (s)
			s++;
	}
	return false;
}
