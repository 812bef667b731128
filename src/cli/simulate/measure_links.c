/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Three teams are measured one after the other: all ranks of each host, which gives the curve of
 * sums in shared memory, and the first ranks of two hosts, whose sum is one message each way. */
#include "cli/simulate/measure_links.h"

#include <inttypes.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
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
	buf_printf(out, "# Measured by dlx-simulate --measure-links: sums over the ranks of a host%s.\n"
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

static int check(const struct comm *c, const char *path)
{
	if (!path)
		return ERR(E_USAGE, NULL, "'--measure-links' needs '-o FILE.yaml'");
	if (c->size < 2)
		return ERR(E_USAGE, NULL, "one rank has no links; start as many as will train: mpiexec -n "
		           "N dlx-simulate --measure-links -o FILE.yaml");
	return c->rank == 0 ? io_check_output(path) : 0;
}

int measure_links(const char *path)
{
	struct buf out = BUF_INIT;
	struct comm *c;
	TRY(comm_open(&c, TIMEOUT));
	int rc = comm_agree(c, check(c, path), "the command line");
	if (rc == 0)
		rc = measure(c, &out);
	if (rc == 0)
		rc = comm_agree(c, c->rank == 0 ? io_write_file(path, out.data, out.len) : 0,
		                "writing the file");
	if (rc < 0 && !comm_prints(c))
		err_clear();
	buf_release(&out);
	comm_close(c);
	return rc;
}
