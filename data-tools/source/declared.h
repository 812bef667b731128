/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The declaration, on the command line, of a variable whose file has only its bytes:
 * NAME[TYPE,EXTENT,...], with a type as in --dtype, after '>' if it is big endian. */
#ifndef DLX_DATA_TOOLS_DECLARED_H
#define DLX_DATA_TOOLS_DECLARED_H

#include <stdint.h>

#include "base/types.h"

struct declared {
	char *name;                  /* owned; NULL: none */
	int dtype;                   /* enum dtype; -1: not given */
	bool big_endian;
	bool shaped;                 /* extents were given */
	struct shape shape;
};

/* variable may be NULL. E_USAGE. */
int declared_read(struct declared *d, const char *variable);
void declared_release(struct declared *d);       /* a zeroed one is fine */
/* Gets the shape of a value of `bytes` bytes. Without declared extents it has one axis, or none for
 * a single element. E_USAGE if the type was not given, E_DATA if it does not fit; both messages
 * list what would fit. */
int declared_shape(const struct declared *d, const char *path, const char *name, uint64_t bytes,
                   struct shape *out);

#endif
