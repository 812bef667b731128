/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values of several components, whole and in parts, and operators on them. */
#include "model/expr_value.h"

#include "base/err.h"
#include "op/lib/emit.h"

/* Component `index` of the tensor `of`. */
struct column {
	struct column *next;
	tid of;
	int index;
	tid part;
};

static void keep(struct values *m, tid of, int index, tid part)
{
	struct column *c = ARENA_NEW(m->arena, struct column);
	*c = (struct column){ m->columns, of, index, part };
	m->columns = c;
}

struct value value_number(double number)
{
	return (struct value){ .extent = EXPR_OF_NUMBER, .number = number, .set = EXPR_NOWHERE,
		                   .components = 1, .whole = NONE };
}

struct value value_of(const struct graph *g, tid t, int set)
{
	const struct shape *s = &graph_t(g, t)->shape;
	struct value v = { .extent = EXPR_OF_SCALAR, .set = set, .components = 1, .whole = t };
	if (s->nd == 0)
		return v;
	v.extent = EXPR_OF_POINTS;
	v.rows = s->d[0];
	v.components = (int)s->d[1];
	return v;
}

struct value value_parts(struct values *m, int n, const tid *part, int set)
{
	struct value v = value_of(m->g, part[0], set);
	if (n == 1)
		return v;
	v.components = n;
	v.whole = NONE;
	v.part = arena_copy(m->arena, part, (size_t)n * sizeof *part);
	return v;
}

/* Repeats t, () or (rows, 1), to (rows, components). */
static int repeat(struct values *m, tid t, int64_t rows, int components, tid *out)
{
	const struct shape s = { 2, { rows, components } };
	return emit_broadcast(m->g, t, &s, out);
}

/* A number as a tensor; rows 0: (). */
static int constant(struct values *m, double number, int64_t rows, int components, tid *out)
{
	const struct shape one = { 1, { 1 } }, scalar = { 0 }, s = { 2, { rows, components } };
	if (rows)
		return emit_fill(m->g, number, &s, out);
	TRY(emit_fill(m->g, number, &one, out));
	return emit_reshape(m->g, *out, &scalar, out);
}

int value_whole(struct values *m, struct value *v, int64_t rows, tid *out)
{
	if (v->extent == EXPR_OF_NUMBER)
		return constant(m, v->number, rows, 1, out);
	if (v->whole == NONE) {
		TRY(emit_concat(m->g, 1, v->components, v->part, &v->whole));
		for (int k = 0; k < v->components; k++)
			keep(m, v->whole, k, v->part[k]);
	}
	*out = v->whole;
	return v->extent == EXPR_OF_SCALAR && rows ? repeat(m, v->whole, rows, 1, out) : 0;
}

int value_part(struct values *m, const struct value *v, int k, tid *out)
{
	const struct slice range = { 1, k, 1 };
	*out = v->part ? v->part[k] : v->whole;
	if (v->part || v->components == 1)
		return 0;
	for (const struct column *c = m->columns; c; c = c->next)
		if (c->of == v->whole && c->index == k) {
			*out = c->part;
			return 0;
		}
	TRY(emit_slice(m->g, v->whole, &range, out));
	keep(m, v->whole, k, *out);
	return 0;
}

/* Emits operand v with this many rows and components, which an operator needs of both operands. */
static int operand(struct values *m, struct value *v, int64_t rows, int components, tid *out)
{
	if (v->extent == EXPR_OF_NUMBER)
		return constant(m, v->number, rows, components, out);
	TRY(value_whole(m, v, 0, out));
	if (!rows || (v->rows && v->components == components))
		return 0;
	return repeat(m, *out, rows, components, out);
}

/* The same of component k alone. */
static int operand_part(struct values *m, struct value *v, int64_t rows, int k, tid *out)
{
	if (!v->rows)
		return operand(m, v, rows, 1, out);
	return value_part(m, v, v->components == 1 ? 0 : k, out);
}

int value_map(struct values *m, value_operator *f, const void *of, int n, struct value *v,
              struct value *out)
{
	struct value y = { .extent = EXPR_OF_SCALAR, .set = EXPR_NOWHERE, .components = 1,
		               .whole = NONE };
	bool apart = false;
	tid in[EXPR_ARGUMENTS];
	for (int i = 0; i < n; i++) {
		if (v[i].rows && !y.rows)
			y.set = v[i].set;
		y.extent = v[i].extent > y.extent ? v[i].extent : y.extent;
		y.rows = v[i].rows ? v[i].rows : y.rows;
		y.components = v[i].components > y.components ? v[i].components : y.components;
		y.located |= v[i].located;
		apart |= v[i].part != NULL;
	}
	*out = y;
	if (!apart) {
		for (int i = 0; i < n; i++)
			TRY(operand(m, &v[i], y.rows, y.components, &in[i]));
		return f(m->g, of, in, &out->whole);
	}
	out->part = ARENA_ARRAY(m->arena, tid, y.components);
	for (int k = 0; k < y.components; k++) {
		for (int i = 0; i < n; i++)
			TRY(operand_part(m, &v[i], y.rows, k, &in[i]));
		TRY(f(m->g, of, in, &out->part[k]));
	}
	return 0;
}
