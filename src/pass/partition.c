/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two traversals. The first, of the whole graph, records which rows each node reads for each part,
 * and changes attributes. The second changes shapes and inserts messages. Messages along an axis
 * follow those along the axes inside it and include the rows just received, so that corners need no
 * messages of their own. Rows of the outermost axis are joined last: of one sample these follow
 * each other in memory, so that the others are computed where they are joined (pass/views.c). */
#include "pass/partition.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/fault.h"
#include "graph/attr.h"
#include "op/exchange.h"
#include "op/lib/emit.h"
#include "op/reorder.h"
#include "pass/rewrite.h"

/* The rows of a tensor that each part of an axis needs; NULL: the rows that it has. */
struct wants {
	const struct cut_rows *rows[CUT_AXES];
	bool piece;                  /* every subdomain has the whole tensor, and takes its rows from
	                              * that */
};

/* A tensor together with rows received from other subdomains; several nodes may read it. */
struct joined {
	struct joined *next;
	struct wants wants;
	tid t;
};

struct cutting {
	struct graph *g;
	const struct partition *p;
	struct cut *c;
	int place[CUT_AXES];
	struct wants **wants;        /* by node, by input */
	struct joined **joined;      /* by tensor */
	struct rewrite r;
	bool gathers;                /* the exchanges emitted now are for a node that reads a whole
	                              * tensor */
};

static bool divided(const struct cutting *x, int k)
{
	return x->c->grid.parts[k] > 1;
}

/* --- the first walk --- */

static struct cut_rows *all_needs(const struct cutting *x, const struct node *n, int i, int k)
{
	struct cut_rows *r = ARENA_ARRAY(x->g->arena, struct cut_rows, x->c->grid.parts[k]);
	for (int j = 0; j < x->c->grid.parts[k]; j++)
		r[j] = cut_needs(x->c, n, i, k, j);
	return r;
}

/* An axis of one element, which is broadcast, is read by all parts. */
static bool repeated(const struct cutting *x, tid t, int k)
{
	return x->c->tensor[t].extent[k] == 1;
}

static void note_wants(const struct cutting *x, const struct node *n, int i, struct wants *w)
{
	const struct cut_tensor *t = &x->c->tensor[n->in[i]];
	struct cut_rows r;
	for (int k = 0; k < x->c->grid.axes; k++) {
		if (!divided(x, k))
			continue;
		if (t->rows && (x->c->way[n->id] == CUT_WHOLE || !cut_has_needs(x->c, n, i, k)))
			w->rows[k] = all_needs(x, n, i, k);
		if (!t->rows && x->c->way[n->id] == CUT_ROWS && !repeated(x, n->in[i], k) &&
		    cut_reads(x->c, n, i, k, x->place[k], &r)) {
			w->rows[k] = all_needs(x, n, i, k);
			w->piece = true;
		}
	}
}

static struct op_part part_of(const struct cutting *x, const struct node *n, int k)
{
	const tid in = n->in[0], out = n->out[0];
	const struct cut_tensor *t = &x->c->tensor[out];
	const int64_t all = x->c->tensor[in].extent[k];
	const struct cut_rows y = cut_rows(x->c, out, k, x->place[k]);
	struct cut_rows r = y;
	const bool rows = cut_reads(x->c, n, 0, k, x->place[k], &r);
	const struct cut_rows has = rows ? cut_needs(x->c, n, 0, k, x->place[k]) :
	                            (struct cut_rows){ 0, all };
	return (struct op_part){ t->first + k, has.lo, has.hi, all, rows ? has.lo - r.lo : 0,
		rows ? r.hi - has.hi : 0, y.lo, y.hi, t->extent[k] };
}

/* The rows that a node reads depend on its attributes, so these are changed only when all rows are
 * known. */
static int set_parts(const struct cutting *x, struct node *n)
{
	struct op_part part[CUT_AXES];
	if (!n->op->part || n->in[0] == NONE || x->c->way[n->id] != CUT_ROWS)
		return 0;
	for (int k = 0; k < x->c->grid.axes; k++)
		part[k] = part_of(x, n, k);
	for (int k = 0; k < x->c->grid.axes; k++)
		if (divided(x, k) && !n->op->part(x->g, n, &part[k]))
			return ERR(E_UNSUPPORTED, &n->loc,
			           "layer '%s': '%s' cannot be cut along spatial axis %d", n->name,
			           n->op->name, k);
	return 0;
}

static bool is_summed(const struct cutting *x, tid t)
{
	const nid from = graph_t(x->g, t)->producer;
	return from != NONE && x->c->way[from] == CUT_REDUCED;
}

/* Lists a node that reads a whole tensor of which the parts were computed. */
static void note_whole(const struct cutting *x, const struct node *n)
{
	struct cut *c = x->c;
	for (int i = 0; i < n->nin && c->way[n->id] == CUT_WHOLE; i++) {
		const struct cut_tensor *t = n->in[i] == NONE ? NULL : &c->tensor[n->in[i]];
		if (!t || (!t->rows && !is_summed(x, n->in[i])))
			continue;
		struct cut_whole *w = &c->whole[c->wholes++];
		*w = (struct cut_whole){ n->name, n->op->name, !t->rows };
		for (int k = 0; k < c->grid.axes && t->rows; k++)
			w->extent[k] = t->extent[k];
		return;
	}
}

static int note(const struct cutting *x, struct node *n)
{
	x->wants[n->id] = ARENA_ARRAY(x->g->arena, struct wants, n->nin + 1);
	note_whole(x, n);
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] != NONE)
			note_wants(x, n, i, &x->wants[n->id][i]);
	return set_parts(x, n);
}

/* --- messages --- */

static struct cut_rows common(struct cut_rows a, struct cut_rows b)
{
	return (struct cut_rows){ a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi };
}

/* The rank with part j of axis k and with this subdomain's parts of the other axes. */
static int rank_of(const struct cutting *x, int k, int j)
{
	int rank = 0;
	for (int a = 0; a < CUT_AXES; a++)
		rank = rank * x->c->grid.parts[a] + (a == k ? j : x->place[a]);
	return x->p->first + rank;
}

/* One direction of the messages of a tensor along an axis. */
struct letters {
	int n;
	int64_t *rank, *id, *shape;
	int nshape;
	const char **name;
	tid *t;
};

static struct letters letters_new(struct arena *a, int most)
{
	return (struct letters){ 0, ARENA_ARRAY(a, int64_t, most), ARENA_ARRAY(a, int64_t, most),
		ARENA_ARRAY(a, int64_t, most * (MAXD + 1)), 0, ARENA_ARRAY(a, const char *, most),
		ARENA_ARRAY(a, tid, most + 1) };
}

static void add_letter(const struct cutting *x, struct letters *l, int rank, struct cut_rows r,
                       const struct shape *s, const char *name)
{
	l->rank[l->n] = rank;
	l->id[l->n] = x->c->exchanges;
	l->name[l->n++] = r.hi - r.lo == 1 ?
		arena_printf(x->g->arena, "%s: row %" PRId64, name, r.lo) :
		arena_printf(x->g->arena, "%s: rows %" PRId64 " to %" PRId64, name, r.lo, r.hi - 1);
	l->shape[l->nshape++] = s->nd;
	for (int i = 0; i < s->nd; i++)
		l->shape[l->nshape++] = s->d[i];
}

static int emit_rows(struct graph *g, tid t, int axis, struct cut_rows r, int64_t from, tid *out)
{
	const struct slice at = { axis, r.lo - from, r.hi - r.lo };
	if (at.begin == 0 && at.size == graph_t(g, t)->shape.d[axis]) {
		*out = t;
		return 0;
	}
	return graph_emit1(g, "slice", &at, 1, &t, out);
}

/* Lists the rows to exchange along axis k, which is `axis` of t. has[], want[]: rows of each part.
 * Received are the rows of other parts that this part wants, in their order; sent are the rows of
 * this part that others want. */
static int write_letters(const struct cutting *x, tid t, int k, int axis,
                         const struct cut_rows *has, const struct cut_rows *want,
                         struct letters *to, struct letters *from)
{
	const int me = x->place[k];
	const char *name = x->g->cur_name;
	struct shape s = graph_t(x->g, t)->shape;
	for (int j = 0; j < x->c->grid.parts[k]; j++) {
		const struct cut_rows in = common(has[j], want[me]), out = common(has[me], want[j]);
		if (j == me)
			continue;
		s.d[axis] = in.hi - in.lo;
		if (in.lo < in.hi)
			add_letter(x, from, rank_of(x, k, j), in, &s, name);
		s.d[axis] = out.hi - out.lo;
		if (out.lo >= out.hi)
			continue;
		TRY(emit_rows(x->g, t, axis, out, has[me].lo, &to->t[to->n]));
		add_letter(x, to, rank_of(x, k, j), out, &s, name);
	}
	return 0;
}

static int emit_cast(struct graph *g, tid t, enum dtype type, tid *out)
{
	const struct cast_attr to = { (int)type };
	*out = t;
	return graph_t(g, t)->dtype == type ? 0 : graph_emit1(g, "cast", &to, 1, &t, out);
}

static struct strings names_of(const struct letters *l)
{
	return (struct strings){ l->n, l->name, NULL };
}

/* Emits the two nodes; the received rows take the places of from->t. */
static int emit_exchange(struct cutting *x, tid t, struct letters *to, struct letters *from)
{
	struct graph *g = x->g;
	const struct exchange_attr at = {
		.to = ints_make(g, to->n, to->rank), .to_id = ints_make(g, to->n, to->id),
		.to_name = names_of(to), .to_shape = ints_make(g, to->nshape, to->shape),
		.from = ints_make(g, from->n, from->rank), .from_id = ints_make(g, from->n, from->id),
		.from_name = names_of(from), .from_shape = ints_make(g, from->nshape, from->shape),
		.wire = 0, .depth = 1 };
	tid ticket;
	to->t[to->n] = t;
	TRY(graph_emit1(g, "exchange_send", &at, to->n + 1, to->t, &ticket));
	return graph_emit(g, "exchange_wait", &at, 1, &ticket, from->n, from->t);
}

/* Concatenates the rows that this part needs: those of lower parts, its own, those of higher
 * parts. */
static int emit_join(struct cutting *x, tid t, int k, int axis, const struct cut_rows *has,
                     const struct cut_rows *want, const struct letters *from, tid *out)
{
	const int me = x->place[k];
	const struct cut_rows own = common(has[me], want[me]);
	tid *piece = ARENA_ARRAY(x->g->arena, tid, from->n + 1);
	int n = 0, i = 0;
	for (int j = 0; j < x->c->grid.parts[k]; j++) {
		const struct cut_rows r = common(has[j], want[me]);
		if (j != me && r.lo < r.hi)
			piece[n++] = from->t[i++];
		if (j == me && own.lo < own.hi)
			TRY(emit_rows(x->g, t, axis, own, has[me].lo, &piece[n++]));
	}
	return emit_concat(x->g, axis, n, piece, out);
}

/* Messages have float values. Classes and their ignored label, integers below 2^24, are exact. */
static int emit_messages(struct cutting *x, tid of, tid t, int k, const struct cut_rows *want,
                         tid *out)
{
	const int parts = x->c->grid.parts[k], axis = x->c->tensor[of].first + k;
	struct arena *a = x->g->arena;
	const enum dtype type = graph_t(x->g, t)->dtype;
	struct letters to = letters_new(a, parts), from = letters_new(a, parts);
	struct cut_rows *has = ARENA_ARRAY(a, struct cut_rows, parts);
	for (int j = 0; j < parts; j++)
		has[j] = cut_rows(x->c, of, k, j);
	TRY(emit_cast(x->g, t, dtype_is_float(type) ? type : DTYPE_F32, &t));
	TRY(write_letters(x, t, k, axis, has, want, &to, &from));
	x->c->exchange[x->c->exchanges++] = (struct cut_exchange){ x->g->cur_name, k, x->gathers };
	TRY(emit_exchange(x, t, &to, &from));
	if (from.n && fault_hits("exchange", (uint64_t)x->c->exchanges))
		TRY(emit_scale(x->g, from.t[0], 1.001, 0, &from.t[0]));
	TRY(emit_join(x, t, k, axis, has, want, &from, out));
	return emit_cast(x->g, *out, type, out);
}

/* --- the second walk --- */

static bool same_rows(const struct cutting *x, const struct wants *a, const struct wants *b)
{
	for (int k = 0; k < CUT_AXES; k++) {
		if (!a->rows[k] != !b->rows[k])
			return false;
		for (int j = 0; a->rows[k] && j < x->c->grid.parts[k]; j++)
			if (a->rows[k][j].lo != b->rows[k][j].lo || a->rows[k][j].hi != b->rows[k][j].hi)
				return false;
	}
	return a->piece == b->piece;
}

static int emit_wants(struct cutting *x, tid of, const struct wants *w, tid *out)
{
	const int first = x->c->tensor[of].first;
	*out = of;
	for (int k = x->c->grid.axes - 1; k >= 0; k--) {
		if (!w->rows[k])
			continue;
		if (w->piece)
			TRY(emit_rows(x->g, *out, first + k, w->rows[k][x->place[k]], 0, out));
		else
			TRY(emit_messages(x, of, *out, k, w->rows[k], out));
	}
	return 0;
}

static void follow_view(const struct cutting *x, const struct node *n, tid from, tid to)
{
	for (int o = 0; o < n->nout; o++)
		if (n->out[o] != NONE && graph_t(x->g, n->out[o])->alias == from)
			graph_t(x->g, n->out[o])->alias = to;
}

static int give_wants(struct cutting *x, struct node *n, int i)
{
	const struct wants *w = &x->wants[n->id][i];
	struct joined *j = x->joined[n->in[i]];
	if (!w->rows[0] && !w->rows[1] && !w->rows[2])
		return 0;
	while (j && !same_rows(x, &j->wants, w))
		j = j->next;
	if (!j) {
		j = ARENA_NEW(x->g->arena, struct joined);
		*j = (struct joined){ x->joined[n->in[i]], *w, NONE };
		rewrite_before(&x->r, n, n);
		x->gathers = x->c->way[n->id] == CUT_WHOLE;
		TRY(emit_wants(x, n->in[i], w, &j->t));
		x->joined[n->in[i]] = j;
	}
	follow_view(x, n, n->in[i], j->t);
	n->in[i] = j->t;
	return 0;
}

static void set_shape(const struct cutting *x, tid t)
{
	const struct cut_tensor *at = &x->c->tensor[t];
	for (int k = 0; k < x->c->grid.axes && at->rows; k++) {
		const struct cut_rows r = cut_rows(x->c, t, k, x->place[k]);
		graph_t(x->g, t)->shape.d[at->first + k] = r.hi - r.lo;
	}
}

static int64_t points_of(const struct cutting *x, tid t, bool whole)
{
	int64_t points = 1;
	for (int k = 0; k < x->c->grid.axes; k++) {
		const struct cut_rows r = cut_rows(x->c, t, k, x->place[k]);
		points *= whole ? x->c->tensor[t].extent[k] : r.hi - r.lo;
	}
	return points;
}

static double sample_variance(double n)
{
	return n > 1 ? n / (n - 1) : 1;
}

/* The node after the variance multiplies it by n / (n - 1), with n of the whole sample; but the
 * node assumes the n of its own positions (norm_sync.h). */
static void follow_part(const struct cutting *x, const struct node *norm)
{
	const struct shape *s = node_in_shape(x->g, norm, 0);
	const double own = (double)(s->d[0] * points_of(x, norm->out[0], false)),
	             all = (double)(s->d[0] * points_of(x, norm->out[0], true));
	for (int i = 0; norm->out[3] != NONE && i < readers_count(&x->c->readers, norm->out[3]); i++) {
		const struct node *n = readers_of(&x->c->readers, norm->out[3])[i].n;
		double *factor = attr_find(n->op, n->attr, "factor", FT_FLOAT);
		if (factor)
			*factor *= sample_variance(own) / sample_variance(all);
	}
}

/* Makes a node's sums over positions sums over a group of ranks; the pass `statistics` numbers the
 * group. */
static void mark(const struct cutting *x, struct node *n)
{
	bool *cut = attr_find(n->op, n->attr, "cut", FT_BOOL);
	int64_t *group = attr_find(n->op, n->attr, "group", FT_INT);
	if (cut) {
		*cut = true;
		follow_part(x, n);
	} else if (group) {
		*group = 0;
	}
}

/* Computes the mean of all parts from the parts' means, weighted by their numbers of positions. */
static int emit_mean(struct cutting *x, struct node *n)
{
	const double share = (double)points_of(x, n->in[0], false) /
	                     (double)points_of(x, n->in[0], true);
	tid t;
	rewrite_before(&x->r, n, n);
	TRY(graph_emit1(x->g, n->op->name, n->attr, 1, n->in, &t));
	TRY(emit_scale(x->g, t, share, 0, &t));
	TRY(graph_emit1(x->g, "place_sum", NULL, 1, &t, &t));
	struct node *sum = x->g->node[x->g->nnode - 1];
	mark(x, sum);
	rewrite_take(x->g, sum, 0, n->out[0]);
	rewrite_drop(&x->r, n);
	return 0;
}

/* The outputs' shapes by the rule of the op; those that are cut have the subdomain's rows. */
static int reshape(const struct cutting *x, const struct node *n)
{
	char text[SHAPE_TEXT], other[SHAPE_TEXT];
	x->g->cur_name = n->name;
	x->g->cur_loc = n->loc;
	TRY(graph_reshape(x->g, n));
	for (int o = 0; o < n->nout; o++) {
		struct shape s, *is = n->out[o] == NONE ? NULL : &graph_t(x->g, n->out[o])->shape;
		if (!is || !x->c->tensor[n->out[o]].rows)
			continue;
		s = *is;
		set_shape(x, n->out[o]);
		if (!shape_equal(&s, is))
			return ERR(E_BUG, &n->loc, "layer '%s': '%s' makes %s of its rows, not %s", n->name,
			           n->op->name, shape_text(&s, text), shape_text(is, other));
	}
	return 0;
}

static int change(struct cutting *x, struct node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] != NONE)
			TRY(give_wants(x, n, i));
	if (x->c->way[n->id] == CUT_NORM)
		mark(x, n);
	if (x->c->way[n->id] != CUT_WHOLE)
		TRY(reshape(x, n));
	return x->c->way[n->id] == CUT_REDUCED ? emit_mean(x, n) : 0;
}

static int rewrite(struct cutting *x)
{
	int rc = 0;
	set_shape(x, x->p->input);
	if (x->p->target != NONE)
		set_shape(x, x->p->target);
	rewrite_begin(&x->r, x->g);
	for (int i = 0; rc == 0 && i < x->r.nnode; i++)
		rc = change(x, x->g->node[i]);
	return rewrite_commit(&x->r, rc);
}

/* Reserves room for the exchanges of each input, and of an output that is gathered. */
static void reserve_lists(const struct graph *g, struct cut *c)
{
	int inputs = 1;
	for (int i = 0; i < g->nnode; i++)
		inputs += g->node[i]->nin;
	c->exchange = ARENA_ARRAY(g->arena, struct cut_exchange, inputs * CUT_AXES);
	c->whole = ARENA_ARRAY(g->arena, struct cut_whole, g->nnode);
}

int partition_graph(struct graph *g, const struct partition *p, struct cut *c)
{
	struct cutting x = { .g = g, .p = p, .c = c };
	TRY(cut_find(c, g->arena, g, p->input, p->target, p->output, &p->grid));
	reserve_lists(g, c);
	cut_place(&p->grid, p->subdomain, x.place);
	x.wants = ARENA_ARRAY(g->arena, struct wants *, g->nnode);
	x.joined = ARENA_ARRAY(g->arena, struct joined *, g->ntensor);
	for (int i = 0; i < g->nnode; i++)
		TRY(note(&x, g->node[i]));
	return rewrite(&x);
}

int partition_gather(struct graph *g, const struct partition *p, struct cut *c, tid t, tid *whole)
{
	struct cutting x = { .g = g, .p = p, .c = c, .gathers = true };
	struct wants w = { .piece = false };
	*whole = t;
	if (!c->tensor[t].rows)
		return 0;
	cut_place(&p->grid, p->subdomain, x.place);
	for (int k = 0; k < c->grid.axes; k++) {
		const int parts = c->grid.parts[k];
		struct cut_rows *all = ARENA_ARRAY(g->arena, struct cut_rows, parts);
		for (int j = 0; j < parts; j++)
			all[j] = (struct cut_rows){ 0, c->tensor[t].extent[k] };
		w.rows[k] = divided(&x, k) ? all : NULL;
	}
	g->cur_name = graph_t(g, t)->name;
	return emit_wants(&x, t, &w, whole);
}
