/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The commands log and search: print versions as lines, with or without their graph. */
#include "base/err.h"
#include "data-tools/ckpt/ckpt.h"
#include "data-tools/ckpt/ckpt_graph.h"
#include "data-tools/ckpt/ckpt_where.h"

/* What versions are shown, in which order. */
struct listing {
	int n;
	int *version;
};

/* Marked versions of the graph's order, t->count at most. */
static struct listing list_marked(struct ckpt_tool *t, const int *order, const bool *mark)
{
	const int most = t->count > 0 && t->count < t->history.n ? (int)t->count : t->history.n;
	struct listing l = { 0, ARENA_ARRAY(t->a, int, t->history.n) };
	for (int i = 0; i < t->history.n && l.n < most; i++)
		if (mark[order[i]])
			l.version[l.n++] = order[i];
	return l;
}

/* Newest first, whatever comes from what. */
static const int *by_age(struct ckpt_tool *t)
{
	int *order = ARENA_ARRAY(t->a, int, t->history.n);
	for (int i = 0; i < t->history.n; i++)
		order[i] = t->history.n - 1 - i;
	return order;
}

static void print_json(const struct ckpt_tool *t, const struct listing *l)
{
	struct buf b = BUF_INIT;
	buf_puts(&b, "{\"store\": ");
	buf_json_string(&b, t->root);
	put_json_text(&b, "run", t->run);
	buf_puts(&b, ", \"versions\": [");
	for (int i = 0; i < l->n; i++) {
		buf_puts(&b, i ? ", {" : "{");
		put_version_json(t, l->version[i], &b);
		buf_puts(&b, "}");
	}
	buf_puts(&b, "]}\n");
	print_buf(&b);
	buf_release(&b);
}

/* --- log --- */

/* Edges to versions that are not shown end there. */
static int edges_of(const struct ckpt_tool *t, const bool *shown, int i, struct graph_edge *out)
{
	const struct history_version *v = &t->history.v[i];
	for (int k = 0; k < v->m.nparents; k++) {
		const int from = v->edge[k].from;
		out[k].to = from >= 0 && shown[from] ? from : -1;
		out[k].gone = v->edge[k].gone || (from >= 0 && !shown[from]);
	}
	return v->m.nparents;
}

static void print_graph(struct ckpt_tool *t, const struct listing *l)
{
	struct version_graph *g = version_graph_new();
	struct buf b = BUF_INIT;
	bool *shown = ARENA_ARRAY(t->a, bool, t->history.n);
	for (int i = 0; i < l->n; i++)
		shown[l->version[i]] = true;
	for (int i = 0; i < l->n; i++) {
		const struct history_version *v = &t->history.v[l->version[i]];
		struct graph_edge *edge = ARENA_ARRAY(t->a, struct graph_edge, v->m.nparents);
		version_graph_node(g, l->version[i], v->damage ? 'x' : '*', &b);
		put_version(t, l->version[i], &b);
		buf_putc(&b, '\n');
		version_graph_edges(g, edge, edges_of(t, shown, l->version[i], edge), &b);
		print_buf(&b);
	}
	buf_release(&b);
	version_graph_free(g);
}

/* A run's folder shows what the run comes from and what comes from it, and what is damaged. */
int ckpt_log(struct ckpt_tool *t)
{
	const struct history *h = &t->history;
	bool *mark = ARENA_ARRAY(t->a, bool, h->n);
	struct listing l;
	if (t->run && !t->all)
		history_mark_run(h, t->run, mark);
	for (int i = 0; i < h->n; i++)
		mark[i] |= !t->run || t->all || h->v[i].damage;
	l = list_marked(t, history_order(h), mark);
	if (t->json)
		print_json(t, &l);
	else
		print_graph(t, &l);
	return 0;
}

/* --- search --- */

int ckpt_search(struct ckpt_tool *t)
{
	const struct history *h = &t->history;
	bool *mark = ARENA_ARRAY(t->a, bool, h->n);
	struct buf b = BUF_INIT;
	struct where *w;
	struct listing l;
	TRY(where_parse(&w, t->a, t->arg[0]));
	if (h->n)
		TRY(where_check(w, h));
	for (int i = 0; i < h->n; i++)
		mark[i] = where_holds(w, h, i);
	l = list_marked(t, by_age(t), mark);
	if (t->json)
		print_json(t, &l);
	for (int i = 0; i < l.n && !t->json; i++) {
		put_version(t, l.version[i], &b);
		buf_putc(&b, '\n');
	}
	print_buf(&b);
	buf_release(&b);
	t->status = l.n ? 0 : 1;
	return 0;
}
