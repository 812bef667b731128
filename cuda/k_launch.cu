/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the kernels of a process are launched. */
#include "cuda/device.cuh"

bool k_overlapped;

void k_overlap(void)
{
	k_overlapped = true;
}
