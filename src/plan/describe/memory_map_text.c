/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory map as a table and as JSON. Tensors have the same numbers as in dumps. */
#include <inttypes.h>
#include <stdio.h>

#include "plan/describe/memory_map.h"

static const char *const stored_name[] = {
	[ROLE_INPUT] = "input", [ROLE_CONSTANT] = "constant", [ROLE_PARAM] = "parameter",
	[ROLE_STATE] = "state"
};

static bool is_stored(const struct tensor *x)
{
	return x->role != ROLE_ACTIVATION && x->alias == NONE;
}

/* The node that makes it, or whose workspace it is; or NULL. */
static const struct node *maker(const struct graph *g, const struct memory_place *p)
{
	nid n = p->tensor == NONE ? p->first : graph_t(g, p->tensor)->producer;
	return n == NONE ? NULL : g->node[n];
}

/* --- the table --- */

/* A text is "-" where the row has no such entry. */
static void put_row(struct buf *out, const char *tensor, const char *offset, const char *end,
                    int64_t bytes, const char *first, const char *last, const char *kind)
{
	buf_printf(out, "%9s %14s %14s %14" PRId64 " %6s %6s  %-9s ", tensor, offset, end, bytes, first,
	           last, kind);
}

static const char *range_name(const struct memory_place *p)
{
	return p->view == 1 ? "channels" : "rows";
}

static void put_standing(const struct memory_place *p, struct buf *out)
{
	if (p->over != NONE)
		buf_printf(out, ", in place of %%%d", p->over);
	else if (p->view != NONE)
		buf_printf(out, ", %s %" PRId64 "..%" PRId64 " of %%%d", range_name(p), p->from, p->to - 1,
		           p->root);
	else if (p->root != p->tensor)
		buf_printf(out, ", a view of %%%d", p->root);
}

static void put_place(const struct graph *g, const struct memory_place *p, struct buf *out)
{
	char tensor[16] = "workspace", offset[24], end[24], first[16], last[16];
	const struct node *n = maker(g, p);
	if (p->tensor != NONE)
		snprintf(tensor, sizeof tensor, "%%%d", p->tensor);
	snprintf(offset, sizeof offset, "%" PRId64, p->offset);
	snprintf(end, sizeof end, "%" PRId64, p->end);
	snprintf(first, sizeof first, "%d", p->first);
	snprintf(last, sizeof last, "%d", p->last);
	put_row(out, tensor, offset, end, p->bytes, first, last, memory_kind_name[p->kind]);
	if (n)
		buf_printf(out, " %d %s '%s'", n->id, n->op->name, n->name);
	put_standing(p, out);
	buf_putc(out, '\n');
}

void memory_map_text(const struct plan *p, struct buf *out)
{
	const struct graph *g = p->g;
	struct memory_map m;
	memory_map_init(&m, p);
	buf_printf(out, "\nmemory map    an arena of %" PRId64 " bytes, fullest at node %d; nodes "
	           "first to last are those of the list above\n", g->arena_bytes, g->arena_peak_node);
	buf_printf(out, "%9s %14s %14s %14s %6s %6s  %-9s  %s\n", "tensor", "offset", "end", "bytes",
	           "first", "last", "use", "made by");
	for (int i = 0; i < m.n; i++)
		put_place(g, &m.place[i], out);
	for (tid t = 0; t < g->ntensor; t++) {
		const struct tensor *x = graph_t(g, t);
		char tensor[16];
		if (!is_stored(x))
			continue;
		snprintf(tensor, sizeof tensor, "%%%d", t);
		put_row(out, tensor, "-", "-", x->bytes, "-", "-", stored_name[x->role]);
		buf_printf(out, " %s\n", x->name ? x->name : "");
	}
	memory_map_release(&m);
}

/* --- JSON --- */

static void place_json(const struct graph *g, const struct memory_place *p, struct buf *out)
{
	const struct node *n = maker(g, p);
	buf_printf(out, "{\"use\": \"%s\", \"offset\": %" PRId64 ", \"end\": %" PRId64
	           ", \"bytes\": %" PRId64
	           ", \"first\": %d, \"last\": %d", memory_kind_name[p->kind], p->offset, p->end,
	           p->bytes, p->first, p->last);
	if (p->tensor != NONE)
		buf_printf(out, ", \"tensor\": %d", p->tensor);
	if (p->over != NONE)
		buf_printf(out, ", \"in_place_of\": %d", p->over);
	if (p->root != p->tensor)
		buf_printf(out, ", \"root\": %d", p->root);
	if (p->view != NONE)
		buf_printf(out, ", \"%s\": [%" PRId64 ", %" PRId64 "]", range_name(p), p->from, p->to);
	if (n) {
		buf_printf(out, ", \"made_by\": %d, \"op\": \"%s\", \"layer\": ", n->id, n->op->name);
		buf_json_string(out, n->name);
	}
	buf_puts(out, "}");
}

static void stored_json(const struct graph *g, struct buf *out)
{
	const char *between = "";
	for (tid t = 0; t < g->ntensor; t++) {
		const struct tensor *x = graph_t(g, t);
		if (!is_stored(x))
			continue;
		buf_printf(out, "%s\n  {\"use\": \"%s\", \"bytes\": %" PRId64 ", \"tensor\": %d", between,
		           stored_name[x->role], x->bytes, t);
		if (x->name) {
			buf_puts(out, ", \"of\": ");
			buf_json_string(out, x->name);
		}
		buf_puts(out, "}");
		between = ",";
	}
}

void memory_map_json(const struct plan *p, struct buf *out)
{
	const struct graph *g = p->g;
	struct memory_map m;
	memory_map_init(&m, p);
	buf_printf(out, "{\"bytes\": %" PRId64 ", \"peak\": %d, \"places\": [", g->arena_bytes,
	           g->arena_peak_node);
	for (int i = 0; i < m.n; i++) {
		buf_puts(out, i ? ",\n  " : "\n  ");
		place_json(g, &m.place[i], out);
	}
	buf_puts(out, "],\n  \"stored\": [");
	stored_json(g, out);
	buf_puts(out, "]}");
	memory_map_release(&m);
}
