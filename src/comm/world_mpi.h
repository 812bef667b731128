/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI's handles, for world.c and its siblings. */
#ifndef DLX_COMM_WORLD_MPI_H
#define DLX_COMM_WORLD_MPI_H

#include "comm/mpi_library.h"
#include "comm/world.h"

struct world {
	MPI_Comm all;                /* for set-up collectives */
	MPI_Comm host;               /* the ranks of this host, or of what is taken for one */
	char library[64];
};

/* Polls a request to its end: 0, or nonzero as in world.h. Sleeps between looks, longer and
 * longer, so that the ranks it waits for have the processors. */
int world_finish(struct comm *c, MPI_Request *request);

#endif
