/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of MPI, from a library that is opened when several processes were started:
 * mpi.Test is MPI_Test. MPI's constants are numbers in MPICH and its kin; in Open MPI they are
 * addresses inside the library, hence a table of those that are used. */
#ifndef DLX_COMM_MPI_LIBRARY_H
#define DLX_COMM_MPI_LIBRARY_H

#include <mpi.h>

#define MPI_FUNCTIONS(X)                                                                           \
	X(Init_thread) X(Finalize) X(Abort) X(Get_library_version) X(Error_string)                     \
	X(Comm_rank) X(Comm_size) X(Comm_split) X(Comm_split_type) X(Comm_dup) X(Comm_free)            \
	X(Comm_set_errhandler) X(Ibcast) X(Iallgather) X(Ibarrier) X(Iallreduce) X(Ialltoall) X(Test)  \
	X(Isend) X(Irecv) X(Cancel) X(Send_init) X(Recv_init) X(Start) X(Request_free)                 \
	X(Win_allocate_shared) X(Win_shared_query) X(Win_free)

struct mpi_functions {
#define X(f) __typeof__(MPI_##f) *f;
	MPI_FUNCTIONS(X)
#undef X
	MPI_Comm world, none;
	MPI_Datatype byte, f32, f64;
	MPI_Op sum;
	MPI_Info no_info;
	MPI_Errhandler errors_return;
};
extern struct mpi_functions mpi;

/* Once a process. E_UNAVAILABLE with the reason. */
int mpi_library_open(void);
/* Valid programs do not make MPI functions fail, so a failure is printed and ends all ranks. */
void mpi_must(int rc, const char *function);
#define MPI_MUST(f, ...) mpi_must(mpi.f(__VA_ARGS__), "MPI_" #f)

#endif
