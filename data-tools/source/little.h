/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers in files of other programs. */
#ifndef DLX_DATA_TOOLS_LITTLE_H
#define DLX_DATA_TOOLS_LITTLE_H

#include <stdint.h>

/* The number of n bytes, up to 8, whose least significant byte comes first. */
static inline uint64_t little(const uint8_t *p, int n)
{
	uint64_t v = 0;
	while (n-- > 0)
		v = v << 8 | p[n];
	return v;
}

#endif
