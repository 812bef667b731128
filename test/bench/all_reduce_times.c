/* SPDX-License-Identifier: BSD-3-Clause
 *
 * all_reduce_times [--busy] [--seconds S]: an all-reduce by a reducer and by MPI_Allreduce,
 * in turn, for sizes from 64 KiB to 64 MiB; the medians over turns, from rank 0. --busy has a
 * process next to them that computes all the time. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "config.h"

#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/library.h"
#include "base/log.h"
#include "comm/mpi_library.h"
#include "comm/reducer.h"

#define TURNS 9
#define LARGEST (64 << 20)

static struct comm *c;
static struct reducer *r;
static int (*all_reduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
static float *plain;

static void must(int rc)
{
	if (rc < 0) {
		err_print(stderr, "all_reduce_times");
		exit(1);
	}
}

static void by_reducer(int k, int n)
{
	reducer_start(r, k);
	must(reducer_wait(r, k));
}

static void by_mpi(int k, int n)
{
	all_reduce(MPI_IN_PLACE, plain, n, mpi.f32, mpi.sum, mpi.world);
}

/* Seconds for one, over as many as take `seconds`. */
static double turn(void (*f)(int k, int n), int k, int n, double seconds)
{
	double begin, took = 0;
	int times = 1;
	f(k, n);
	for (;; times *= 2) {
		comm_barrier(c, "a turn");
		begin = io_seconds();
		for (int i = 0; i < times; i++)
			f(k, n);
		took = io_seconds() - begin;
		comm_broadcast(c, &took, sizeof took, 0, "the time of a turn");
		if (took > seconds / 2)
			return took / times;
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void compare(int k, int64_t bytes, double seconds)
{
	double ours[TURNS], theirs[TURNS];
	int n = (int)(bytes / 4);
	for (int i = 0; i < TURNS; i++) {
		ours[i] = turn(by_reducer, k, n, seconds);
		theirs[i] = turn(by_mpi, k, n, seconds);
	}
	qsort(ours, TURNS, sizeof *ours, by_value);
	qsort(theirs, TURNS, sizeof *theirs, by_value);
	double a = ours[TURNS / 2], b = theirs[TURNS / 2];
	if (c->rank == 0)
		printf("%8lld KiB  %9.1f us %6.2f GB/s  %9.1f us %6.2f GB/s  %6.2f\n",
		       (long long)(bytes >> 10), a * 1e6, (double)bytes / a * 1e-9, b * 1e6,
		       (double)bytes / b * 1e-9, b / a);
	fflush(stdout);
}

static pid_t start_busy(void)
{
	pid_t p = fork();
	if (p == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (volatile unsigned i = 0;; i++)
			;
	}
	return p;
}

int main(int argc, char **argv)
{
	struct library_function f = { "MPI_Allreduce", (void **)&all_reduce };
	struct reducer_bucket group[8];
	int sizes = 0;
	bool busy = false, background = false;
	double seconds = 0.02;
	pid_t spinner = 0;
	for (int i = 1; i < argc; i++) {
		busy |= strcmp(argv[i], "--busy") == 0;
		background |= strcmp(argv[i], "--background") == 0;
		if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
			seconds = atof(argv[++i]);
	}
	log_init("all_reduce_times", 0, 1);
	must(debug_read());
	must(comm_open(&c, 0));
	if (c->size == 1) {
		fprintf(stderr, "all_reduce_times: start it by mpiexec -n 2\n");
		return 64;
	}
	must(library_open(DLX_MPI_LIBRARY, "MPI", &f, 1));
	if (busy && c->rank == 0)
		spinner = start_busy();
	for (int64_t b = 64 << 10; b <= LARGEST; b *= 4)
		group[sizes++] = (struct reducer_bucket){ 0, b / 4, DTYPE_F32, "all_reduce" };
	must(reducer_new(&r, c, LARGEST, group, sizes, background));
	plain = calloc(1, LARGEST);
	memset(plain, 0, LARGEST);
	if (c->rank == 0)
		printf("%d ranks, %s%s\n%12s  %9s    %16s %9s    %9s %6s\n", c->size,
		       busy ? "beside a busy process" : "idle", background ? ", with threads" : "", "",
		       "dlx", c->library, "", "", "ratio");
	for (int k = 0; k < sizes; k++)
		compare(k, group[k].n * 4, seconds);
	reducer_free(r);
	free(plain);
	if (spinner > 0)
		kill(spinner, SIGKILL);
	comm_close(c);
	return 0;
}
