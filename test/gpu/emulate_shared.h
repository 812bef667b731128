/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared memory of emulated kernels, which is made of
 * static variables: what a block finds there. */
#ifndef DLX_TEST_GPU_EMULATE_SHARED_H
#define DLX_TEST_GPU_EMULATE_SHARED_H

namespace emulate {
/* The content of unwritten memory: as floats NaN, as integers -1. */
constexpr int POISON = 0xff;
/* Overwrites the shared memory of the kernels with this name, or of all and of the functions that
 * they call. All of it are megabytes, which is as much as most blocks compute. */
void poison_shared(const char *kernel);
}

#endif
