/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank reads its share of a step as one batch, which train/run/batches.c divides into leaves. The
 * loader divides samples among ranks as usual, except in the last step of an epoch: there the first
 * ranks have whole branches, and the last ranks have the remaining leaves. */
#include "plan/sums/micro_tree.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "comm/comm.h"
#include "plan/sums/sync_group.h"

#define MOST (1 << 24)

int micro_tree_check(const struct run_config *c)
{
	const struct train_section *t = &c->train;
	int64_t all = t->global_batch_size, size = t->batch_size;
	int group = 1, mark = err_count();
	if (c->parallel.sync_batch_norm)
		sync_group_parse(c->parallel.sync_batch_norm, &group);
	err_truncate(mark);              /* sync_group_size reports it */
	if (group != 1)
		return ERR(E_CONFIG, config_place(c, "parallel", "sync_batch_norm"),
		           "with 'parallel.reproducible' statistics are those of a micro-batch, which is "
		           "the same on any number of ranks; 'sync_batch_norm' depends on it");
	if (c->precision.wire)
		return ERR(E_CONFIG, config_place(c, "precision", "wire"),
		           "with 'parallel.reproducible' gradients travel in f32: in 16 bits their sum "
		           "depends on how many ranks round it");
	if (all > 0 && size <= 0)
		return ERR(E_CONFIG, config_place(c, "train", "global_batch_size"),
		           "with 'parallel.reproducible' a global batch is cut into micro-batches that are "
		           "the same on any number of ranks; give their 'batch_size' too");
	if (all > 0 && all % size)
		return ERR(E_CONFIG, config_place(c, "train", "global_batch_size"), "a global batch of %"
		           PRId64 " samples cannot be cut into micro-batches of %" PRId64, all, size);
	return 0;
}

/* How many ranks can share n leaves: one alone, or as many as leave each a power of two. */
static void list_counts(int64_t n, struct buf *out)
{
	int64_t least = n;
	while (least % 2 == 0)
		least /= 2;
	buf_puts(out, "1");
	for (int64_t k = least > 1 ? least : 2; k <= n; k *= 2)
		buf_printf(out, "%s%" PRId64, 2 * k > n ? " or " : ", ", k);
}

static bool is_power_of_two(int64_t n)
{
	return n > 0 && (n & (n - 1)) == 0;
}

static int refuse(const struct run_config *c, int64_t all, int ranks)
{
	struct buf counts = BUF_INIT;
	list_counts(all, &counts);
	int rc = ERR(E_CONFIG, config_place(c, "parallel", "reproducible"),
	             "a step of %" PRId64 " micro-batches of %" PRId64 " samples cannot be "
	             "summed in one order by %d ranks; expected %s", all, c->train.batch_size, ranks,
	             counts.data);
	buf_release(&counts);
	return rc;
}

int micro_tree_share(struct run_config *c, int ranks)
{
	const struct train_section *t = &c->train;
	int64_t all = t->accumulate * (t->global_batch_size ? t->global_batch_size / t->batch_size :
	                               ranks), each = all / ranks;
	if (!t->global_batch_size && ranks > 1 && !is_power_of_two(each))
		return ERR(E_CONFIG, config_place(c, "train", "accumulate"),
		           "with 'parallel.reproducible' each of several ranks has a power of two of "
		           "micro-batches in a step, not %" PRId64, each);
	if (ranks > 1 && (all % ranks || !is_power_of_two(each)))
		return refuse(c, all, ranks);
	if (each > MOST / t->batch_size)
		return ERR(E_CONFIG, config_place(c, "train", "global_batch_size"),
		           "a rank would have %" PRId64 " micro-batches of %" PRId64
		           " samples in a step; expected at most %d samples", each, t->batch_size, MOST);
	c->micros = (struct micro_counts){ all, each };
	return 0;
}

int micro_tree_check_ranks(const struct run_config *c, const struct device *dev,
                           const struct comm *comm)
{
	const struct loc *at = config_place(c, "parallel", "reproducible");
	if (!c->parallel.reproducible || !comm)
		return 0;
	if (comm->hosts > 1 && !dev->driver && (comm->local_size * comm->hosts != comm->size ||
	                                        !is_power_of_two(comm->local_size)))
		return ERR(E_CONFIG, at, "this host has %d of %d ranks on %d hosts; with 'reproducible' "
		           "each host must have the same number, a power of two", comm->local_size,
		           comm->size, comm->hosts);
	return 0;
}

int micro_tree_place(const struct run_config *c, const struct device *dev, const struct comm *comm)
{
	if (!comm)
		return 0;
	return c->micros.all && comm->hosts > 1 && !dev->driver ? comm->host * comm->local_size +
	       comm->local_rank : comm->rank;
}
