/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of matmul, for code that emits it. */
#ifndef DLX_OP_DENSE_H
#define DLX_OP_DENSE_H

#include <stdbool.h>

struct matmul_attr {
	bool transpose_a, transpose_b;
};

#endif
