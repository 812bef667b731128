/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Column i stands at character 2i of a line; between two lines of nodes it moves by one column at
 * most, but for the last step of one that joins another far to its left, which is drawn as a row of
 * underlines. */
#include "data-tools/ckpt/ckpt_graph.h"

#include <string.h>

#include "base/mem.h"

struct version_graph {
	struct graph_edge *open;       /* of each column: where it leads */
	int n, cap;
	int at;                        /* the column of the last node */
};

struct version_graph *version_graph_new(void)
{
	return mem_calloc(1, sizeof(struct version_graph));
}

void version_graph_free(struct version_graph *g)
{
	if (!g)
		return;
	mem_free(g->open);
	mem_free(g);
}

static void insert(struct version_graph *g, int at, struct graph_edge edge)
{
	if (g->n == g->cap) {
		g->cap = g->cap ? 2 * g->cap : 8;
		g->open = mem_realloc(g->open, sizeof *g->open * (size_t)g->cap);
	}
	memmove(&g->open[at + 1], &g->open[at], sizeof *g->open * (size_t)(g->n - at));
	g->open[at] = edge;
	g->n++;
}

static void take_out(struct version_graph *g, int at)
{
	g->n--;
	memmove(&g->open[at], &g->open[at + 1], sizeof *g->open * (size_t)(g->n - at));
}

/* --- a line --- */

/* All columns before `from` as '|', each at its place, in a line of blanks. */
static char *line_new(const struct version_graph *g, int from)
{
	const size_t n = 2 * (size_t)g->n + 4;
	char *line = mem_alloc(n);
	memset(line, ' ', n);
	for (int i = 0; i < from; i++)
		line[2 * i] = '|';
	return line;
}

static void put_line(const struct version_graph *g, char *line, struct buf *out)
{
	size_t n = 2 * (size_t)g->n + 4;
	while (n > 0 && line[n - 1] == ' ')
		n--;
	buf_add(out, line, n);
	buf_putc(out, '\n');
	mem_free(line);
}

void version_graph_node(struct version_graph *g, int node, char mark, struct buf *out)
{
	int at = 0;
	while (at < g->n && g->open[at].to != node)
		at++;
	if (at == g->n)
		insert(g, at, (struct graph_edge){ node, false });
	for (int i = 0; i < g->n; i++)
		buf_printf(out, "%c ", i == at ? mark : '|');
	g->at = at;
}

/* --- between nodes --- */

/* Column `at` is there no longer; those to its right move by one. */
static void close_column(struct version_graph *g, int at, struct buf *out)
{
	char *line = line_new(g, at);
	for (int i = at + 1; i < g->n; i++)
		line[2 * i - 1] = '/';
	if (at + 1 < g->n)
		put_line(g, line, out);
	else
		mem_free(line);
	take_out(g, at);
}

static void open_column(struct version_graph *g, int at, struct graph_edge edge, struct buf *out)
{
	char *line = line_new(g, at);
	for (int i = at; i <= g->n; i++)
		line[2 * i - 1] = '\\';
	put_line(g, line, out);
	insert(g, at, edge);
}

/* Column `from` joins column `to`, left of it. */
static void join(struct version_graph *g, int from, int to, struct buf *out)
{
	if (from > to + 1) {
		char *line = line_new(g, g->n);
		line[2 * from] = ' ';
		for (int i = to + 1; i < from - 1; i++)
			line[2 * i + 1] = '_';
		line[2 * from - 1] = '/';
		put_line(g, line, out);
	}
	char *line = line_new(g, from);
	line[2 * to + 1] = '/';
	for (int i = from + 1; i < g->n; i++)
		line[2 * i - 1] = '/';
	put_line(g, line, out);
	take_out(g, from);
}

static void mark_gone(struct version_graph *g, struct buf *out)
{
	char *line = line_new(g, g->n);
	bool any = false;
	for (int i = 0; i < g->n; i++)
		if (g->open[i].gone) {
			line[2 * i] = ':';
			g->open[i].gone = false;
			any = true;
		}
	if (any)
		put_line(g, line, out);
	else
		mem_free(line);
}

static void join_alike(struct version_graph *g, struct buf *out)
{
	for (int i = g->n - 1; i > 0; i--)
		for (int k = 0; k < i; k++)
			if (g->open[k].to == g->open[i].to) {
				join(g, i, k, out);
				break;
			}
}

void version_graph_edges(struct version_graph *g, const struct graph_edge *edge, int n,
                         struct buf *out)
{
	g->open[g->at] = n ? edge[0] : (struct graph_edge){ -1, false };
	for (int i = 1; i < n; i++)
		open_column(g, g->at + i, edge[i], out);
	mark_gone(g, out);
	for (int i = g->n - 1; i >= 0; i--)
		if (g->open[i].to < 0)
			close_column(g, i, out);
	join_alike(g, out);
}
