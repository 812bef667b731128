/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws the memory map as a picture. The x axis is time, node by node; the y axis is the address.
 * Views of another tensor's buffer are not drawn. Sizes are in the largest unit that does not
 * exceed the arena. */
#include <inttypes.h>
#include <stdio.h>

#include "graph/graph.h"
#include "plan/describe/memory_map.h"
#include "plan/memory/plan_memory.h"
#include "plan/describe/sizes.h"
#include "report/svg.h"

enum { WIDTH = 1100, HEIGHT = 680, LEFT = 80, RIGHT = 24, TOP = 92, BOTTOM = 96, STRIP = 8 };

/* Apart in hue and in lightness too. */
static const char *const kind_colour[MEMORY_KINDS] = {
	[MEMORY_FORWARD] = "#7fb1de", [MEMORY_BACKWARD] = "#f2b36b", [MEMORY_GRADIENT] = "#c0504d",
	[MEMORY_UPDATE] = "#8064a2", [MEMORY_WORKSPACE] = "#a9c48b"
};
static const char *const kind_doc[MEMORY_KINDS] = {
	[MEMORY_FORWARD] = "made in forward", [MEMORY_BACKWARD] = "made in backward",
	[MEMORY_GRADIENT] = "gradients of parameters", [MEMORY_UPDATE] = "made in the update",
	[MEMORY_WORKSPACE] = "workspace of a node"
};
static const char *const phase_name[PHASE_COUNT] = { "forward", "backward", "update" };
static const char *const phase_colour[PHASE_COUNT] = { "#4a7fb5", "#d98b2b", "#5f4687" };

struct picture {
	const struct plan *p;
	struct buf *out;
	struct svg_frame frame;
	double unit;                 /* bytes of a unit of the vertical axis */
};

static struct svg_frame frame(const struct graph *g, double *unit)
{
	static const struct { double bytes; const char *label; } units[] = {
		{ 1 << 30, "offset in the arena (GiB)" }, { 1 << 20, "offset in the arena (MiB)" },
		{ 1 << 10, "offset in the arena (KiB)" }, { 1, "offset in the arena (bytes)" }
	};
	int u = 0;
	while (u < 3 && (double)g->arena_bytes < units[u].bytes)
		u++;
	*unit = units[u].bytes;
	struct svg_frame f = { LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM,
		{ 0, g->nnode, 0, "node of the schedule" },
		{ 0, (double)g->arena_bytes / *unit, 0, units[u].label } };
	svg_axis_step(&f.x);
	svg_axis_step(&f.y);
	return f;
}

static void title(const struct picture *c, const char *network)
{
	struct plan_memory m;
	struct buf text = BUF_INIT;
	char a[32], b[32], d[32], e[32];
	plan_memory(c->p, &m);
	buf_printf(&text, "%s, batch of %" PRId64, network, c->p->batch);
	buf_puts(c->out, "<g font-size=\"16\" font-weight=\"bold\">\n");
	svg_text(c->out, LEFT, 26, "start", text.data);
	buf_puts(c->out, "</g>\n");
	buf_clear(&text);
	buf_printf(&text, "arena %s for a lower bound of %s; beside it parameters %s, optimizer "
	           "and running statistics %s", bytes_text((double)c->p->g->arena_bytes, a),
	           bytes_text((double)c->p->g->arena_lower_bound, b),
	           bytes_text((double)m.parameters, d), bytes_text((double)m.optimizer, e));
	buf_printf(&text, ", inputs %s", bytes_text((double)m.inputs, a));
	svg_text(c->out, LEFT, 44, "start", text.data);
	buf_release(&text);
}

static void draw_place(const struct picture *c, const struct memory_place *p)
{
	const struct graph *g = c->p->g;
	const struct svg_frame *f = &c->frame;
	nid by = p->tensor == NONE ? p->first : graph_t(g, p->tensor)->producer;
	double left = svg_x(f, p->first), right = svg_x(f, p->last + 1);
	double top = svg_y(f, (double)p->end / c->unit), bottom = svg_y(f, (double)p->offset / c->unit);
	char size[32];
	buf_printf(c->out,
	           "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"><title>",
	           left, top, right - left, bottom - top, kind_colour[p->kind]);
	if (by != NONE) {
		buf_printf(c->out, "%d %s ", by, g->node[by]->op->name);
		svg_escaped(c->out, g->node[by]->name);
	}
	buf_printf(c->out, ": %s at %" PRId64 ", nodes %d to %d</title></rect>\n",
	           bytes_text((double)p->bytes, size), p->offset, p->first, p->last);
}

static void draw_places(const struct picture *c)
{
	struct memory_map m;
	memory_map_init(&m, c->p);
	buf_puts(c->out, "<g stroke=\"#fff\" stroke-width=\"0.3\">\n");
	for (int i = 0; i < m.n; i++)
		if (m.place[i].root == m.place[i].tensor)
			draw_place(c, &m.place[i]);
	buf_puts(c->out, "</g>\n");
	memory_map_release(&m);
}

/* Runs of nodes of one phase, above the arena. */
static void draw_phases(const struct picture *c)
{
	const struct graph *g = c->p->g;
	char style[40];
	for (int i = 0, from = 0; i < g->nnode; i++) {
		enum phase phase = g->node[from]->phase;
		if (i + 1 < g->nnode && g->node[i + 1]->phase == phase)
			continue;
		snprintf(style, sizeof style, "fill=\"%s\"", phase_colour[phase]);
		double left = svg_x(&c->frame, from), right = svg_x(&c->frame, i + 1);
		svg_rect(c->out, left, TOP - STRIP - 2, right - left, STRIP, style);
		from = i + 1;
	}
}

static void draw_peak(const struct picture *c)
{
	const struct graph *g = c->p->g;
	const struct node *n = g->arena_peak_node == NONE ? NULL : g->node[g->arena_peak_node];
	struct buf text = BUF_INIT;
	char size[32];
	if (!n)
		return;
	double x = svg_x(&c->frame, n->id + 0.5);
	svg_line(c->out, x, TOP - STRIP - 8, x, c->frame.bottom,
	         "stroke=\"#d00000\" stroke-width=\"1.5\" stroke-dasharray=\"6 3\"");
	buf_printf(&text, "fullest at node %d, %s '%s': %s", n->id, n->op->name, n->name,
	           bytes_text((double)g->arena_lower_bound, size));
	buf_puts(c->out, "<g fill=\"#d00000\">\n");
	svg_text(c->out, x, TOP - STRIP - 12, x > (LEFT + WIDTH) / 2 ? "end" : "start", text.data);
	buf_puts(c->out, "</g>\n");
	buf_release(&text);
}

/* One entry of the legend; returns where the next one begins. */
static double draw_key(const struct picture *c, double x, double y, const char *colour,
                       const char *text)
{
	char style[40];
	snprintf(style, sizeof style, "fill=\"%s\"", colour);
	svg_rect(c->out, x, y - 9, 14, 10, style);
	svg_text(c->out, x + 20, y, "start", text);
	return x + 170;
}

static void draw_legend(const struct picture *c)
{
	double x = LEFT, y = HEIGHT - 34;
	for (int k = 0; k < MEMORY_KINDS; k++)
		x = draw_key(c, x, y, kind_colour[k], kind_doc[k]);
	x = LEFT;
	for (int k = 0; k < PHASE_COUNT; k++)
		x = draw_key(c, x, y + 20, phase_colour[k], phase_name[k]);
	svg_text(c->out, x, y + 20, "start", "(the strip on top: phases of the nodes)");
}

void memory_map_svg(const struct plan *p, const char *network, struct buf *out)
{
	struct picture c = { .p = p, .out = out };
	c.frame = frame(p->g, &c.unit);
	svg_begin(out, WIDTH, HEIGHT);
	title(&c, network);
	svg_axes(out, &c.frame);
	draw_places(&c);
	draw_phases(&c);
	draw_peak(&c);
	draw_legend(&c);
	svg_end(out);
}
