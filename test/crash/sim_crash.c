/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a crash leaves of the calls to a disk in memory; see sim_disk.h. */
#include "sim_disk.h"

int sim_pending(const struct sim *s, int calls, int *out, int max)
{
	int n = 0;
	for (int i = 0; i < s->nchanges && s->change[i].call < calls; i++)
		if (s->change[i].durable >= calls) {
			if (n < max)
				out[n] = i;
			n++;
		}
	return n;
}

/* Which pending change number i is, or -1. */
static int pending_index(const struct sim_crash *c, int i)
{
	for (int k = 0; k < c->npending; k++)
		if (c->pending[k] == i)
			return k;
	return -1;
}

static void apply(struct sim_image *m, const struct sim *s, const struct sim_crash *c, int i)
{
	const int k = pending_index(c, i);
	if (k >= 0 && !c->kept[k])
		return;
	sim_image_apply(m, &s->change[i], k >= 0 && k == c->torn ? &c->tear : NULL);
}

static bool is_data(const struct sim_change *c)
{
	return c->kind == SIM_WRITE || c->kind == SIM_CUT;
}

struct sim *sim_after(const struct sim *s, const struct sim_crash *c)
{
	struct sim *after = sim_new();
	struct sim_image *m = &after->base;
	int n = 0;
	sim_image_release(m);
	sim_image_release(&after->now);
	sim_image_copy(m, &s->base);
	while (n < s->nchanges && s->change[n].call < c->calls)
		n++;
	for (int i = 0; i < n; i++)
		if (!c->backwards || !is_data(&s->change[i]) || pending_index(c, i) < 0)
			apply(m, s, c, i);
	for (int k = c->npending - 1; k >= 0 && c->backwards; k--)
		if (is_data(&s->change[c->pending[k]]))
			apply(m, s, c, c->pending[k]);
	sim_image_sweep(m);
	sim_image_copy(&after->now, m);
	after->time = s->time + 60;
	after->tick = s->tick;
	after->lock_error = s->lock_error;
	after->lies = s->lies;
	return after;
}

/* The rarer of what was kept and what was lost. */
void sim_describe(struct buf *out, const struct sim *s, const struct sim_crash *c)
{
	static const char *const kinds[] = { "make", "unlink", "rename", "write", "cut" };
	static const char *const tails[] = { "the file's end", "the old bytes", "zeros", "garbage" };
	int kept = 0;
	for (int k = 0; k < c->npending; k++)
		kept += c->kept[k];
	const bool show = 2 * kept < c->npending;
	buf_printf(out, "after %d of %d calls", c->calls, s->ncalls);
	if (c->calls)
		buf_printf(out, " (the last on %s)", s->call[c->calls - 1].path);
	buf_printf(out, ", of %d changes without a sync all but these are %s:\n", c->npending,
	           show ? "lost" : "kept");
	for (int k = 0; k < c->npending; k++) {
		const struct sim_change *g = &s->change[c->pending[k]];
		if (c->kept[k] == show)
			buf_printf(out, "  %s %s file %d\n", kinds[g->kind], g->name, g->file);
		if (k == c->torn)
			buf_printf(out, "  torn: write file %d, %zu of %zu bytes, then %s\n", g->file,
			           c->tear.n, g->n, tails[c->tear.tail]);
	}
	if (c->backwards)
		buf_puts(out, "  writes in the opposite order\n");
}

struct list_args {
	struct buf *out;
	const struct sim *s;
};

static void list_one(void *arg, const char *path, int file)
{
	const struct list_args *l = arg;
	const struct sim_file *f = &l->s->now.file[file];
	buf_printf(l->out, "  %s%s %zu\n", path, f->folder ? "/" : "", f->size);
}

void sim_list(struct buf *out, const struct sim *s)
{
	struct list_args l = { out, s };
	sim_image_walk(&s->now, list_one, &l);
}
