/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/time/op_times.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"

/* --- a profile --- */

static int wrong(const char *path, const char *why)
{
	return ERR(E_DATA, NULL, "'%s': %s; expected what 'dlx-train --bench --profile CONFIG' prints "
	           "on its standard output", path, why);
}

static bool number(const struct json *in, const char *key, double *out)
{
	const struct json *v = json_find(in, key);
	return v && json_double(v, out) && *out > 0;
}

static const char *text(const struct json *in, const char *key)
{
	const struct json *v = json_find(in, key);
	return v && v->kind == JSON_STRING ? v->text : NULL;
}

static int read_nodes(struct op_times *t, struct arena *a, const char *path,
                      const struct json *nodes)
{
	t->node = ARENA_ARRAY(a, struct op_time, nodes->n);
	for (int i = 0; i < nodes->n; i++) {
		const struct json *n = nodes->item[i], *seconds = json_find(n, "seconds");
		struct op_time *o = &t->node[t->n++];
		o->op = text(n, "op");
		o->name = text(n, "name");
		if (!o->op || !o->name || !seconds || !json_double(seconds, &o->seconds) ||
		    o->seconds < 0)
			return wrong(path, "a node of the profile lacks 'op', 'name' or 'seconds'");
	}
	return 0;
}

static double total(const struct op_times *t)
{
	double sum = 0;
	for (int i = 0; i < t->n; i++)
		sum += t->node[i].seconds;
	return sum;
}

static int read_line(struct op_times *t, struct arena *a, const char *path, const struct json *line)
{
	const struct json *profile = json_find(line, "profile"), *batch = json_find(line, "batch"),
	                  *nodes = profile ? json_find(profile, "nodes") : NULL;
	double step, sum;
	if (json_find(line, "ranks"))
		return wrong(path, "it is of several ranks; one is needed, without 'mpiexec'");
	if (!nodes || nodes->kind != JSON_ARRAY)
		return wrong(path, "it has no profile");
	if (!number(line, "step_median", &step) || !batch || !json_int(batch, &t->batch))
		return wrong(path, "it has no 'step_median' or no 'batch'");
	TRY(read_nodes(t, a, path, nodes));
	if ((sum = total(t)) <= 0)
		return wrong(path, "its nodes took no time");
	for (int i = 0; i < t->n; i++)
		t->node[i].seconds *= step / sum;
	return 0;
}

int op_times_read(const struct op_times **out, struct arena *a, const char *path)
{
	struct op_times *t = ARENA_ARRAY(a, struct op_times, 1);
	struct buf b = BUF_INIT;
	struct json *line;
	TRY(io_read_text(path, &b));
	int rc = json_parse(&line, a, path, 0, b.data, b.len);
	if (rc == 0)
		rc = read_line(t, a, path, line);
	buf_release(&b);
	t->source = arena_printf(a, "the profile %s", path);
	*out = t;
	return rc;
}

/* --- plans --- */

/* Sums over ranks, and their like: their time is no kernel's. */
static bool is_sum(const struct node *n)
{
	return (n->op->flags & (OP_BEGINS | OP_AWAITS)) != 0;
}

static const char *name_of(const struct node *n)
{
	return n->name ? n->name : "";
}

const struct op_times *op_times_take(struct arena *a, const struct plan *p, const double *seconds,
                                     const char *source)
{
	struct op_times *t = ARENA_ARRAY(a, struct op_times, 1);
	t->node = ARENA_ARRAY(a, struct op_time, p->g->nnode);
	t->source = arena_strdup(a, source);
	t->batch = p->batch;
	for (int i = 0; i < p->g->nnode; i++) {
		const struct node *n = p->g->node[i];
		if (!is_sum(n))
			t->node[t->n++] = (struct op_time){ n->op->name, arena_strdup(a, name_of(n)),
				seconds[i] };
	}
	return t;
}

/* The first node of t, from `from` on and around to it, that is like n and was not taken yet; t->n:
 * there is none. Plans have nearly the same order, so the search is short. */
static int find(const struct op_times *t, const bool *taken, int from, const struct node *n)
{
	for (int k = 0; k < t->n; k++) {
		const int i = (from + k) % t->n;
		if (!taken[i] && !strcmp(t->node[i].op, n->op->name) &&
		    !strcmp(t->node[i].name, name_of(n)))
			return i;
	}
	return t->n;
}

/* Nodes at sums read and write gradients as the update does, which ranks that share a host's memory
 * do slower than one: scales their estimates as the update's times differ from its estimates. */
static void scale_sums(const struct plan *p, double update, double estimated, double *seconds)
{
	for (int i = 0; i < p->g->nnode && update > 0 && estimated > 0; i++)
		if (is_sum(p->g->node[i]))
			seconds[i] *= update / estimated;
}

int op_times_apply(const struct op_times *t, const struct plan *p, double *seconds)
{
	bool *taken = mem_calloc((size_t)t->n + 1, sizeof *taken);
	double found = 0, update = 0, estimated = 0;
	if (t->batch != p->batch) {
		mem_free(taken);
		return ERR(E_DATA, NULL, "%s has batches of %" PRId64 " samples, the plan has %" PRId64
		           "; measure again", t->source, t->batch, p->batch);
	}
	for (int i = 0, at = 0; i < p->g->nnode; i++) {
		if (is_sum(p->g->node[i]))
			continue;
		const int k = find(t, taken, at, p->g->node[i]);
		if (k < t->n && p->g->node[i]->phase == PHASE_UPDATE) {
			update += t->node[k].seconds;
			estimated += seconds[i];
		}
		seconds[i] = k < t->n ? t->node[k].seconds : 0;
		found += seconds[i];
		taken[k] = true;
		at = k < t->n ? k + 1 : at;
	}
	mem_free(taken);
	scale_sums(p, update, estimated, seconds);
	if (found >= 0.9 * total(t))
		return 0;
	return ERR(E_DATA, NULL, "%s is of another network: nodes with %.0f %% of its time are not in "
	           "the plan", t->source, 100 * (1 - found / total(t)));
}
