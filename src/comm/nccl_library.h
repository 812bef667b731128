/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NCCL's functions, from a library that is opened when several ranks use GPUs. Only for src/comm/;
 * nccl.h is what others see. */
#ifndef DLX_COMM_NCCL_LIBRARY_H
#define DLX_COMM_NCCL_LIBRARY_H

#include <nccl.h>

#define NCCL_FUNCTIONS(X)                                                                   \
	X(GetVersion) X(GetUniqueId) X(GetErrorString) X(GetLastError) X(CommInitRankConfig)    \
	X(CommDestroy) X(CommAbort)                                                             \
	X(CommGetAsyncError) X(AllReduce) X(GroupStart) X(GroupEnd) X(Send) X(Recv)

struct nccl_functions {
#define X(f) __typeof__(nccl##f) *f;
	NCCL_FUNCTIONS(X)
#undef X
};
extern struct nccl_functions nccl;

/* E_UNAVAILABLE says what was looked for where, or that it is too old. */
int nccl_library_open(void);

#endif
