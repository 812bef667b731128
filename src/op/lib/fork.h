/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sizes from which a loop is worth several threads. */
#ifndef DLX_OP_LIB_FORK_H
#define DLX_OP_LIB_FORK_H

/* For fewer values, or fewer bytes to copy, starting threads costs more than it gains. */
#define FORK_FLOATS 16384
#define FORK_DIFFERENCES (2 * FORK_FLOATS)  /* differences of two tensors: each takes a few SIMD
                                             * instructions */
#define FORK_VALUES (FORK_FLOATS / 4)      /* exponentials, each of which takes longer than an
                                            * addition */
#define FORK_BYTES (FORK_FLOATS * (int)sizeof(float))

#endif
