/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The common part of the programs that the scripts here run under mpiexec, as `PROGRAM SUBJECT
 * [ARGUMENT...]`. Rank 0 prints "ok" at the end; a mistake ends all ranks with a line that names
 * the rank and the place. */
#ifndef DLX_TEST_COMM_SUBJECTS_H
#define DLX_TEST_COMM_SUBJECTS_H

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/debug.h"
#include "base/err.h"
#include "base/log.h"
#include "comm/comm.h"

static struct comm *c;               /* all ranks */

#define CHECK(condition)                                                                    \
	do {                                                                                    \
		if (!(condition)) {                                                                 \
			fprintf(stderr, "rank %d: %s:%d: not so: %s\n", c->rank, __FILE__, __LINE__,    \
			        #condition);                                                            \
			kill(getpid(), SIGKILL);                                                        \
		}                                                                                   \
	} while (0)

/* Seconds after which a missing rank is reported: time enough for the others on a machine that is
 * very busy. */
#define SOON 2

/* For subjects that end by a signal from outside: writes the process id to a file. */
static inline void write_pid(void)
{
	char name[32];
	snprintf(name, sizeof name, "pid.%d", c->rank);
	FILE *f = fopen(name, "w");
	CHECK(f != NULL && fprintf(f, "%ld\n", (long)getpid()) > 0 && fclose(f) == 0);
}

/* The rank is lost: it stops, is killed or stays away. */
static inline void lose(const char *how)
{
	c->timeout = SOON;
	if (strcmp(how, "stop") == 0)
		raise(SIGSTOP);
	if (strcmp(how, "kill") == 0)
		raise(SIGKILL);
	pause();
}

struct subject {
	const char *name;
	void (*run)(int argc, char **argv);
};

/* main of PROGRAM: runs the subject that argv names, of a table that ends with a NULL name. */
static int run_subject(const char *program, const struct subject *s, int argc, char **argv)
{
	log_init(program, 0, 1);
	if (debug_read() < 0 || comm_open(&c, 0) < 0) {
		err_print(stderr, program);
		return 1;
	}
	for (; s->name; s++)
		if (argc > 1 && strcmp(argv[1], s->name) == 0)
			s->run(argc - 2, argv + 2);
	if (c->rank == 0)
		printf("ok\n");
	fflush(stdout);
	comm_close(c);
	return 0;
}

#endif
