/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens the MPI library that configure found. */
#include "comm/mpi_library.h"

#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/library.h"
#include "base/log.h"
#include "base/shown.h"

struct mpi_functions mpi;

static const struct library_function functions[] = {
#define X(f) { "MPI_" #f, (void **)&mpi.f },
	MPI_FUNCTIONS(X)
#undef X
};

#ifdef OPEN_MPI
static char *world, *none, *byte, *f32, *f64, *sum, *no_info, *errors_return;

/* MPI's plugins look for symbols of the library among the global ones. */
static int open_constants(void)
{
	const struct library_function objects[] = {
		{ "ompi_mpi_comm_world", (void **)&world }, { "ompi_mpi_comm_null", (void **)&none },
		{ "ompi_mpi_byte", (void **)&byte }, { "ompi_mpi_float", (void **)&f32 },
		{ "ompi_mpi_double", (void **)&f64 }, { "ompi_mpi_op_sum", (void **)&sum },
		{ "ompi_mpi_info_null", (void **)&no_info },
		{ "ompi_mpi_errors_return", (void **)&errors_return },
	};
	TRY(library_open(DLX_MPI_LIBRARY, "MPI", objects, sizeof objects / sizeof *objects));
	dlopen(DLX_MPI_LIBRARY, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
	mpi.world = (MPI_Comm)world;
	mpi.none = (MPI_Comm)none;
	mpi.byte = (MPI_Datatype)byte;
	mpi.f32 = (MPI_Datatype)f32;
	mpi.f64 = (MPI_Datatype)f64;
	mpi.sum = (MPI_Op)sum;
	mpi.no_info = (MPI_Info)no_info;
	mpi.errors_return = (MPI_Errhandler)errors_return;
	return 0;
}
#else
static int open_constants(void)
{
	mpi.world = MPI_COMM_WORLD;
	mpi.none = MPI_COMM_NULL;
	mpi.byte = MPI_BYTE;
	mpi.f32 = MPI_FLOAT;
	mpi.f64 = MPI_DOUBLE;
	mpi.sum = MPI_SUM;
	mpi.no_info = MPI_INFO_NULL;
	mpi.errors_return = MPI_ERRORS_RETURN;
	return 0;
}
#endif

int mpi_library_open(void)
{
	TRY(library_open(DLX_MPI_LIBRARY, "MPI", functions, sizeof functions / sizeof *functions));
	return open_constants();
}

void mpi_must(int rc, const char *function)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int n;
	if (rc == MPI_SUCCESS)
		return;
	mpi.Error_string(rc, text, &n);
	fprintf(stderr, "%s: %s failed: %s\n", log_program(), function, shown(text));
	fflush(stderr);
	mpi.Abort(mpi.world, err_exit_status(E_UNAVAILABLE));
	abort();
}
