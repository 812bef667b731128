/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Division that rounds up, or down. */
#ifndef DLX_BASE_ROUND_H
#define DLX_BASE_ROUND_H

#include <stddef.h>
#include <stdint.h>

/* a / b, rounded up; a >= 0, b > 0. */
static inline int64_t ceil_div(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

/* a / b, rounded down; b > 0, and a of either sign. */
static inline int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* n rounded up to a multiple of unit. */
static inline size_t round_up(size_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

#endif
