/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NCCL's functions, from a library that is loaded when several ranks use GPUs. Internal to
 * src/comm/; other folders use nccl.h. */
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

/* E_UNAVAILABLE names the missing library and the places searched, or says that it is too old. */
int nccl_library_open(void);

#endif
