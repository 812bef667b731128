/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An attribute struct is filled through the op's field table: first every row's default, then
 * single keys at their offsets. */
#include <string.h>

#include "base/err.h"
#include "model/op_attr.h"
#include "yaml/schema_value.h"

static const struct field *find(const struct op_attr *t, const char *key)
{
	for (const struct field *f = t->op->attrs; f && f->name; f++)
		if (strcmp(f->name, key) == 0)
			return f;
	return NULL;
}

static const struct field *get(const struct op_attr *t, const char *key)
{
	const struct field *f = find(t, key);
	BUG_IF(!f, "op '%s' has no attribute '%s'", t->op->name, key);
	return f;
}

bool op_attr_has(const struct op_attr *t, const char *key)
{
	return find(t, key) != NULL;
}

struct op_attr op_attr_new(struct arena *a, const char *op)
{
	struct op_attr t = { op_find(op), a, NULL };
	BUG_IF(!t.op, "there is no op '%s'", op);
	if (t.op->attr_size == 0)
		return t;
	t.data = arena_alloc(a, t.op->attr_size);
	schema_defaults(a, t.op->attrs, t.data);
	return t;
}

void op_attr_int(struct op_attr *t, const char *key, int64_t v)
{
	const struct field *f = get(t, key);
	void *p = (char *)t->data + f->offset;
	if (f->type == FT_INT)
		*(int64_t *)p = v;
	else if (f->type == FT_BOOL)
		*(bool *)p = v != 0;
	else if (f->type == FT_ENUM)
		*(int *)p = (int)v;
	else
		BUG("attribute '%s' of op '%s' is not an integer", key, t->op->name);
}

void op_attr_float(struct op_attr *t, const char *key, double v)
{
	const struct field *f = get(t, key);
	BUG_IF(f->type != FT_FLOAT, "attribute '%s' of op '%s' is not a number", key, t->op->name);
	*(double *)((char *)t->data + f->offset) = v;
}

void op_attr_ints(struct op_attr *t, const char *key, int n, const int64_t *v)
{
	const struct field *f = get(t, key);
	BUG_IF(f->type != FT_INTS, "attribute '%s' of op '%s' is no list", key, t->op->name);
	struct ints *p = (struct ints *)((char *)t->data + f->offset);
	p->n = n;
	p->v = arena_copy(t->arena, v, sizeof *v * (size_t)n);
}
