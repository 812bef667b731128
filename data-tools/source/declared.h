/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the command line says of a variable whose file holds only its bytes: NAME[TYPE,EXTENT,...]
 * with a type as --dtype has it, '>' before it if the most significant byte comes first. */
#ifndef DLX_DATA_TOOLS_DECLARED_H
#define DLX_DATA_TOOLS_DECLARED_H

#include <stdint.h>

#include "base/types.h"

struct declared {
	char *name;                  /* owned; NULL: none */
	int dtype;                   /* -1: not said */
	bool big_endian;
	bool shaped;                 /* extents were given */
	struct shape shape;
};

/* variable may be NULL. E_USAGE. */
int declared_read(struct declared *d, const char *variable);
void declared_release(struct declared *d);       /* a zeroed one is fine */
/* The shape of a value of this many bytes; without extents one axis, but none for one element.
 * E_USAGE if the type was not said, E_DATA if it does not fit; both say what would fit. */
int declared_shape(const struct declared *d, const char *path, const char *name, uint64_t bytes,
                   struct shape *out);

#endif
