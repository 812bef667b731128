/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI handles; for world*.c only. */
#ifndef DLX_COMM_WORLD_MPI_H
#define DLX_COMM_WORLD_MPI_H

#include "comm/mpi_library.h"
#include "comm/world.h"

struct world {
	MPI_Comm all;                /* for set-up collectives */
	MPI_Comm host;               /* the ranks of this host (real, or simulated by
	                              * DLX_DEBUG=ranks_per_host) */
	char library[64];
};

/* Polls a request until it completes: 0, or nonzero as in world.h. Sleeps between polls, for
 * increasing times, to leave the processors to the other ranks. */
int world_finish(struct comm *c, MPI_Request *request);

#endif
