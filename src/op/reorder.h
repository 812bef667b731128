/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of cast, for code that emits it, and reorder's own transposition loop, which does not
 * use oneDNN. */
#ifndef DLX_OP_REORDER_H
#define DLX_OP_REORDER_H

#include <stdbool.h>
#include <stdint.h>

struct cast_attr {
	int dtype;           /* enum dtype of the result */
};

/* Transposes n samples of 4-byte elements from (c, s) to (s, c), or back. Public for tests. */
void reorder_transpose(const void *src, void *dst, int64_t n, int64_t c, int64_t s, bool back);

#endif
