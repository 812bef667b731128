/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of an exchange between hosts: one persistent MPI request for each buffer of an edge. A
 * message of more than a few kilobytes only arrives while its sender calls MPI, so every wait on
 * this rank, for anything, also makes progress here. Internal to src/comm/. */
#ifndef DLX_COMM_EXCHANGE_MPI_H
#define DLX_COMM_EXCHANGE_MPI_H

#include "comm/exchange_state.h"

/* Connects the ends whose peer is on another host; collective over all ranks. */
int exchange_mpi_new(struct exchange *x);
void exchange_mpi_free(struct exchange *x);

bool exchange_mpi_room(const struct exchange_end *e);
bool exchange_mpi_came(const struct exchange_end *e);
/* When the message that came may be read (link_delay.h). */
int64_t exchange_mpi_due(const struct exchange_end *e);
void *exchange_mpi_place(const struct exchange_end *e);
void exchange_mpi_send(struct exchange *x, struct exchange_end *e);
void exchange_mpi_taken(struct exchange_end *e);

/* Whether messages of this process are in flight; makes progress for them. Any thread may call
 * these. */
bool exchange_mpi_pending(void);
void exchange_mpi_progress(void);

#endif
