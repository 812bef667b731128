/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libgomp keeps a record of each thread on the starting thread's stack, so a large OMP_NUM_THREADS
 * crashes it by SIGSEGV; a small stack of a thread crashes a kernel. If a team had fewer threads
 * than the device assumes, kernels would wait for ever for the missing threads. */
#include "backend/openmp.h"

#ifdef _OPENMP
#include <ctype.h>
#include <errno.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/host.h"
#include "base/shown.h"

#define THREADS_MOST 1024              /* or the machine's processors, where these are more */
#define STACK_LEAST (256 << 10)        /* bytes; kernels need 64 KiB to 256 KiB */

static int refused(const char *name, const char *value, const char *expected)
{
	return ERR(E_USAGE, NULL, "the environment variable %s is '%s'; expected %s", name,
	           shown(value), expected);
}

static long threads_most(void)
{
	const long n = sysconf(_SC_NPROCESSORS_CONF);
	return n > THREADS_MOST ? n : THREADS_MOST;
}

/* A number, or a list of those of nested loops. */
static int check_threads(const char *text)
{
	char *end, expected[80];
	errno = 0;
	const long n = strtol(text, &end, 10);
	end += strspn(end, " \t");
	if (end != text && !errno && n >= 1 && n <= threads_most() && (!*end || *end == ','))
		return 0;
	snprintf(expected, sizeof expected, "the number of threads that compute, from 1 to %ld",
	         threads_most());
	return refused("OMP_NUM_THREADS", text, expected);
}

/* What is no size libgomp has ignored, and has said so. */
static int check_stack(const char *name)
{
	static const char units[] = "BKMG";
	const char *text = getenv(name), *unit;
	char *end;
	if (!text)
		return 0;
	double n = strtod(text, &end);
	end += strspn(end, " \t");
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : units + 1;
	if (end == text || !unit)
		return 0;
	for (; unit > units; unit--)
		n *= 1024;
	return n >= STACK_LEAST ? 0 : refused(name, text, "256K or more, what the stack of a thread "
	                                      "has to hold");
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

int openmp_threads(int *out)
{
	const char *asked = getenv("OMP_NUM_THREADS");
	const bool given = asked && *asked;
	TRY(given ? check_threads(asked) : 0);
	TRY(check_stack("OMP_STACKSIZE"));
	TRY(check_stack("GOMP_STACKSIZE"));
	*out = least(given ? omp_get_max_threads() : host_processors(), omp_get_thread_limit());
	if (omp_get_max_active_levels() < 1)
		*out = 1;
	omp_set_dynamic(0);                /* OMP_DYNAMIC: fewer threads on a busy machine */
	omp_set_num_threads(*out);
	return 0;
}

void openmp_divide(int parts)
{
	const int threads = omp_get_max_threads() / parts;
	omp_set_num_threads(threads > 1 ? threads : 1);
}

#else

int openmp_threads(int *out)
{
	*out = 1;
	return 0;
}

void openmp_divide(int parts)
{
}
#endif
