/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How files of Python's world name the type of an array's elements: by NumPy's codes ("<f4") or by
 * NumPy's names ("float32"). */
#ifndef DLX_DATA_TOOLS_ELEMENT_H
#define DLX_DATA_TOOLS_ELEMENT_H

#include "base/types.h"

struct element {
	enum dtype dtype;            /* as read */
	size_t size;                 /* bytes in the file */
	bool big_endian;
	bool wide;                   /* unsigned of 32 bits, widened to i64, the next that holds it */
	bool unsigned64;             /* as i64 */
};

/* Makes an integer without a sign one with it, or the other way round; false, and nothing done, if
 * it is one, and for all others. */
bool element_take_sign(struct element *e, bool sign);

/* False for any other text. */
bool element_find(struct element *out, const char *text);

#endif
