/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element types as written in files: NumPy's codes ("<f4") or NumPy's names ("float32"). */
#ifndef DLX_DATA_TOOLS_ELEMENT_H
#define DLX_DATA_TOOLS_ELEMENT_H

#include "base/types.h"

struct element {
	enum dtype dtype;            /* type of the values after reading */
	size_t size;                 /* bytes in the file */
	bool big_endian;
	bool wide;                   /* unsigned 32-bit integers, which are widened to i64 */
	bool unsigned64;             /* unsigned 64-bit integers, which are read as i64 */
};

/* Changes an integer type to signed or unsigned, according to `sign`. Returns false and does
 * nothing if it is already so, or is no integer. */
bool element_take_sign(struct element *e, bool sign);

/* Finds a type by its code or name; false for any other text. */
bool element_find(struct element *out, const char *text);

#endif
