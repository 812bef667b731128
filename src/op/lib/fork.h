/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When a loop is worth several threads. */
#ifndef DLX_OP_LIB_FORK_H
#define DLX_OP_LIB_FORK_H

/* For fewer values, or bytes that are copied, a fork costs more than it gains. */
#define FORK_FLOATS 16384
#define FORK_DIFFERENCES (2 * FORK_FLOATS)  /* of two tensors: a few instructions of SIMD each */
#define FORK_VALUES (FORK_FLOATS / 4)      /* an exponential takes longer than a sum */
#define FORK_BYTES (FORK_FLOATS * (int)sizeof(float))

#endif
