/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Three teams are measured one after the other: all ranks of each host, which gives the curve of
 * sums in shared memory, and the first ranks of two hosts, whose sum is one message each way. */
#include "bench/links.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/option.h"
#include "comm/linkmodel.h"

#define TIMEOUT 60               /* seconds that a wait may take */

static void put_list(struct buf *out, const char *key, const double *v, int n)
{
	buf_printf(out, "    %s: [", key);
	for (int i = 0; i < n; i++)
		buf_printf(out, "%s%.4g", i ? ", " : "", v[i]);
	buf_puts(out, "]\n");
}

/* A slower small message than a larger one is a disturbance. */
static void put_curve(struct buf *out, const char *tier, struct link_curve *c)
{
	for (int i = c->n - 2; i >= 0; i--)
		if (c->seconds[i] >= 0.99 * c->seconds[i + 1])
			c->seconds[i] = 0.99 * c->seconds[i + 1];
	buf_printf(out, "  %s:\n", tier);
	put_list(out, "bytes", c->bytes, c->n);
	put_list(out, "seconds", c->seconds, c->n);
}

/* The curve of the ranks of c that have this colour; of others it is meaningless. */
static int measure_team(struct link_curve *out, struct comm *c, int colour)
{
	struct comm *team;
	comm_subgroup(&team, c, colour);
	int rc = team->size > 1 ? linkmodel_curve(out, team) : 0;
	comm_subgroup_close(team);
	return rc;
}

static int measure(struct comm *c, struct buf *out)
{
	struct link_curve inside = { 0 }, across = { 0 };
	const bool pair = c->local_rank == 0 && c->host < 2;
	buf_printf(out, "# Measured by dlx-bench links: sums over the ranks of a host%s.\n"
	           "name: %s\nhosts: %d\nranks: %d\nprocessors: %ld\nsums: mpi\n",
	           c->hosts > 1 ? ", and messages between two hosts" : "", c->host_name, c->hosts,
	           c->local_size, sysconf(_SC_NPROCESSORS_ONLN));
	TRY(measure_team(&inside, c, c->host));
	if (c->hosts > 1)
		TRY(measure_team(&across, c, pair ? 0 : 1));
	buf_puts(out, "links:\n");
	if (inside.n)
		put_curve(out, "inside", &inside);
	if (across.n)
		put_curve(out, "across", &across);
	return 0;
}

/* --- the command --- */

struct links_options {
	const char *output;
	bool help;
};

static const struct option_row rows[] = {
	{ "output", 'o', OPTION_TEXT, offsetof(struct links_options, output), "FILE",
	  .writes = ".yaml .yml", .doc = "the file to write" },
	{ "help", 'h', OPTION_FLAG, offsetof(struct links_options, help), .doc = "this text" },
	{ 0 }
};

void links_help(FILE *out)
{
	fprintf(out, "usage: mpiexec -n N dlx-bench links -o FILE.yaml\n\n"
	        "Measures sums and messages between the ranks, and writes the description of their\n"
	        "cluster, for dlx-simulate. Options:\n\n");
	option_help(out, rows);
}

static int read_command(struct links_options *o, int argc, char **argv)
{
	TRY(option_read(rows, o, NULL, &argc, argv));
	if (argc > 1)
		return ERR(E_USAGE, NULL, "'%s' is no option of 'links'", argv[1]);
	if (!o->help && !o->output)
		return ERR(E_USAGE, NULL, "'links' needs '-o FILE.yaml'");
	return 0;
}

static int check(const struct comm *c, const char *path)
{
	if (c->size < 2)
		return ERR(E_USAGE, NULL, "one rank has no links; start as many as will train: mpiexec -n "
		           "N dlx-bench links -o FILE.yaml");
	return c->rank == 0 ? io_check_output(path) : 0;
}

static int measure_to(const char *path, struct comm *c)
{
	struct buf out = BUF_INIT;
	int rc = comm_agree(c, check(c, path), "the command line");
	if (rc == 0)
		rc = measure(c, &out);
	if (rc == 0)
		rc = comm_agree(c, c->rank == 0 ? io_write_file(path, out.data, out.len) : 0,
		                "writing the file");
	buf_release(&out);
	return rc;
}

int links_main(int argc, char **argv)
{
	struct links_options o = { 0 };
	struct comm *c = NULL;
	int rc = read_command(&o, argc, argv);
	if (rc == 0 && o.help)
		links_help(stdout);
	if (rc == 0 && !o.help)
		rc = comm_open(&c, TIMEOUT);
	if (c)
		log_init("dlx-bench", c->rank, c->size);
	if (rc == 0 && c)
		rc = measure_to(o.output, c);
	if (rc < 0 && (!c || comm_prints(c)))
		err_print(stderr, "dlx-bench");
	err_clear();
	comm_close(c);
	return err_exit_status(rc);
}
