/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The graph as text, one line a node, and as DOT. The text is the debugger and the format of golden
 * tests: stable, and without anything that depends on the machine.
 *
 *   12 backward conv_grad_weight{stride: [2, 2]} (%3 x 4x8x9x9 f32 native, %20 ...)
 *      -> %21 8x8x3x3 f32 ABcd16b16a @64  stem/conv [c.yaml:12:5]               (on one line)
 *
 * A node of the second stream says "aside until" and which node waits for it. */
#include <inttypes.h>

#include "base/buf.h"
#include "graph/attr.h"
#include "graph/dump.h"

static const char *const phase_name[PHASE_COUNT] = { "forward", "backward", "update" };
static const char *const role_name[] = { "activation", "input", "constant", "param", "state" };

/* "%7 4x8x9x9 f32 native @1024", with '=%3' for what it aliases and '=%3[16]' for what it is a
 * view of, from that channel on; a named tensor shows its name. */
static void dump_tensor(const struct graph *g, tid id, struct buf *out)
{
	char shape[SHAPE_TEXT], layout[LAYOUT_TEXT];
	const struct tensor *t;
	if (id == NONE) {
		buf_puts(out, "-");
		return;
	}
	t = g->tensor[id];
	buf_printf(out, "%%%d", id);
	if (t->role != ROLE_ACTIVATION && t->role != ROLE_CONSTANT)
		buf_printf(out, " %s", t->name);
	if (t->alias != NONE)
		buf_printf(out, "=%%%d", t->alias);
	if (t->view != NONE)
		buf_printf(out, view_is_strided(t) ? "=%%%d[%" PRId64 "]" : "=%%%d[rows %" PRId64 "]",
		           t->view, t->view_at);
	buf_printf(out, " %s %s", shape_text(&t->shape, shape), dtype_name(t->dtype));
	if (t->layout.set)
		buf_printf(out, " %s", layout_text(&t->layout, &t->shape, layout));
	if (t->offset >= 0)
		buf_printf(out, " @%" PRId64, t->offset);
	if (t->output)
		buf_puts(out, " output");
}

static void dump_list(const struct graph *g, int n, const tid *t, struct buf *out)
{
	for (int i = 0; i < n; i++) {
		buf_puts(out, i ? ", " : "");
		dump_tensor(g, t[i], out);
	}
}

static void dump_node(const struct graph *g, const struct node *n, struct buf *out)
{
	buf_printf(out, "%d %s %s{", n->id, phase_name[n->phase], n->op->name);
	attr_text(out, n->op, n->attr, true);
	buf_puts(out, "} (");
	dump_list(g, n->nin, n->in, out);
	buf_puts(out, ") -> ");
	dump_list(g, n->nout, n->out, out);
	if (n->join != NONE)
		buf_printf(out, "  aside until %d", n->join);
	if (*n->name)
		buf_printf(out, "  %s", n->name);
	if (n->loc.file)
		buf_printf(out, " [%s:%d:%d]", n->loc.file, n->loc.line, n->loc.col);
	buf_putc(out, '\n');
}

/* One line for each input, constant, param and state, which exist before the first node. */
static void dump_given(const struct graph *g, struct buf *out)
{
	for (int t = 0; t < g->ntensor; t++) {
		const struct tensor *x = g->tensor[t];
		if (x->role == ROLE_ACTIVATION)
			continue;
		buf_printf(out, "%s ", role_name[x->role]);
		dump_tensor(g, t, out);
		if (x->role == ROLE_CONSTANT && shape_count(&x->shape) == 1)
			buf_printf(out, " = %g", dtype_get(x->dtype, x->value, 0));
		buf_putc(out, '\n');
	}
}

void graph_dump_text(const struct graph *g, struct buf *out)
{
	dump_given(g, out);
	for (int i = 0; i < g->nnode; i++)
		dump_node(g, g->node[i], out);
	if (g->arena_bytes)
		buf_printf(out,
		           "arena %" PRId64 " bytes, lower bound %" PRId64 ", peak at node %d\n",
		           g->arena_bytes, g->arena_lower_bound, g->arena_peak_node);
}

static void dot_edges(const struct graph *g, const struct node *n, struct buf *out)
{
	char shape[SHAPE_TEXT];
	for (int k = 0; k < n->nin; k++) {
		const struct tensor *t;
		if (n->in[k] == NONE)
			continue;
		t = g->tensor[n->in[k]];
		if (t->producer == NONE)
			buf_printf(out, "\tt%d -> n%d", t->id, n->id);
		else
			buf_printf(out, "\tn%d -> n%d", t->producer, n->id);
		buf_printf(out, " [label=\"%s\"];\n", shape_text(&t->shape, shape));
	}
}

void graph_dump_dot(const struct graph *g, struct buf *out)
{
	static const char *const color[PHASE_COUNT] = { "lightblue", "mistyrose", "palegreen" };
	buf_puts(out, "digraph plan {\n\tnode [shape=box, style=filled, fontname=monospace];\n");
	for (int t = 0; t < g->ntensor; t++) {
		const struct tensor *x = g->tensor[t];
		if (x->role == ROLE_ACTIVATION)
			continue;
		buf_printf(out, "\tt%d [shape=ellipse, fillcolor=white, label=", t);
		buf_json_string(out, x->name);
		buf_puts(out, "];\n");
	}
	for (int i = 0; i < g->nnode; i++) {
		struct buf label = BUF_INIT;
		const struct node *n = g->node[i];
		buf_printf(&label, "%d %s\n%s", i, n->op->name, n->name);
		buf_printf(out, "\tn%d [fillcolor=%s, label=", i, color[n->phase]);
		buf_json_string(out, label.data);
		buf_puts(out, "];\n");
		buf_release(&label);
		dot_edges(g, n, out);
	}
	buf_puts(out, "}\n");
}
