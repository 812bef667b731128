/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What several ranks do together, run under mpiexec by the scripts beside it: `ranks SUBJECT [ARGUMENT...]`.
 * Rank 0 prints "ok" at the end; a mistake ends all with a line that names the rank and the place. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "comm/comm.h"

static struct comm *c;

#define CHECK(condition)                                                                            \
	do {                                                                                             \
		if (!(condition)) {                                                                          \
			fprintf(stderr, "rank %d: %s:%d: not so: %s\n", c->rank, __FILE__, __LINE__, #condition); \
			kill(getpid(), SIGKILL);                                                                 \
		}                                                                                            \
	} while (0)

/* --- set-up --- */

static void collectives(void)
{
	double v[3] = { c->rank, 1, -c->rank }, n = c->size;
	int64_t *all = calloc((size_t)c->size, sizeof *all), mine = 100 + c->rank;
	char text[1000] = "";
	comm_sum(c, v, 3, "a sum");
	CHECK(v[0] == n * (n - 1) / 2 && v[1] == n && v[2] == -n * (n - 1) / 2);
	v[0] = c->rank;
	v[1] = -c->rank;
	comm_max(c, v, 2, "a maximum");
	CHECK(v[0] == n - 1 && v[1] == 0);
	comm_all_gather(c, &mine, sizeof mine, all, "a number");
	for (int i = 0; i < c->size; i++)
		CHECK(all[i] == 100 + i);
	if (c->rank == c->size - 1)
		memset(text, 'x', sizeof text - 1);
	comm_broadcast(c, text, sizeof text, c->size - 1, "a text");
	CHECK(strlen(text) == sizeof text - 1 && text[500] == 'x');
	comm_barrier(c, "a barrier");
	free(all);
}

static void agreement(void)
{
	char expected[200];
	CHECK(comm_agree(c, 0, "all is well") == 0);
	int last = c->size - 1, rc = c->rank == last ? ERR(E_DATA, NULL, "'x' is bad") : 0;
	CHECK(comm_agree(c, rc, "a failure") == E_DATA);
	CHECK(err_count() == 1 && comm_prints(c) == (c->rank == last));
	snprintf(expected, sizeof expected, "rank %d (host ", last);
	if (c->rank != last)
		CHECK(strncmp(err_get(0)->text, expected, strlen(expected)) == 0 && strstr(err_get(0)->text, ") failed: 'x' is bad"));
	err_clear();
}

/* places HOSTS: how the ranks are dealt to hosts, such as "0,0,0,1". */
static void places(const char *hosts)
{
	int at = 0, before = 0;
	const char *p = hosts;
	for (int i = 0; i <= c->rank; i++, p += *p != '\0') {
		int host = (int)strtol(p, (char **)&p, 10);
		before = i > 0 && host == at ? before + 1 : 0;
		at = host;
	}
	CHECK(c->host == at && c->local_rank == before);
	CHECK(c->library && strlen(c->host_name) > 0);
}

static void setup(int argc, char **argv)
{
	if (argc > 0)
		places(argv[0]);
	for (int i = 0; i < 5; i++)
		collectives();
	agreement();
	CHECK(comm_counts(c).setup_collectives == 5 * 5 + 3);
}

/* One rank does not come: gone, stopped or elsewhere. The others say so and end. */
static void absent(int argc, char **argv)
{
	comm_set_timeout(c, 2);
	comm_barrier(c, "the start");
	if (c->rank == 1 && strcmp(argv[0], "stop") == 0)
		raise(SIGSTOP);
	if (c->rank == 1 && strcmp(argv[0], "kill") == 0)
		raise(SIGKILL);
	if (c->rank == 1)
		sleep(60);
	comm_barrier(c, "the size of the plan");
}

static const struct {
	const char *name;
	void (*run)(int argc, char **argv);
} subjects[] = {
	{ "setup", setup },
	{ "absent", absent },
};

int main(int argc, char **argv)
{
	log_init("ranks", 0, 1);
	if (comm_open(&c) < 0) {
		err_print(stderr, "ranks");
		return 1;
	}
	for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
		if (argc > 1 && strcmp(argv[1], subjects[i].name) == 0)
			subjects[i].run(argc - 2, argv + 2);
	if (c->rank == 0)
		printf("ok\n");
	fflush(stdout);
	comm_close(c);
	return 0;
}
