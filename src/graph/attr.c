/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Generic access to op attributes by the rows of their table. A default is compared as text: the
 * value printed the way the table writes it, which is enough to keep dumps short. */
#include "graph/attr.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>


void *attr_find(const struct op *op, void *attr, const char *key, enum field_type type)
{
	if (!op->attrs || !attr)
		return NULL;
	for (const struct field *f = op->attrs; f->type != FT_END; f++)
		if (f->type == type && !strcmp(f->name, key))
			return (char *)attr + f->offset;
	return NULL;
}

static size_t member_size(enum field_type t)
{
	switch (t) {
	case FT_BOOL: return sizeof(bool);
	case FT_INT:
	case FT_BYTES: return sizeof(int64_t);
	case FT_FLOAT:
	case FT_SECONDS: return sizeof(double);
	case FT_ENUM: return sizeof(int);
	case FT_INTS: return sizeof(struct ints);
	case FT_FLOATS: return sizeof(struct floats);
	case FT_STRINGS: return sizeof(struct strings);
	default: return sizeof(const char *);     /* FT_STRING, FT_PATH: the rest is no attribute */
	}
}

bool attr_carry(const struct op *to, void *to_attr, const struct op *from, const void *from_attr)
{
	bool all = true;
	for (const struct field *f = from->attrs; f && f->type != FT_END; f++) {
		void *p = attr_find(to, to_attr, f->name, f->type);
		all &= p != NULL;
		if (p)
			memcpy(p, (const char *)from_attr + f->offset, member_size(f->type));
	}
	return all;
}

static bool member_equal(enum field_type t, const void *a, const void *b)
{
	const struct ints *p = a, *q = b;
	if (t == FT_INTS)
		return p->n == q->n && !(p->n && memcmp(p->v, q->v, (size_t)p->n * sizeof *p->v));
	return !memcmp(a, b, member_size(t));
}

bool attr_agree(const struct op *a, void *a_attr, const struct op *b, void *b_attr)
{
	for (const struct field *f = a->attrs; f && f->type != FT_END; f++) {
		const void *p = attr_find(b, b_attr, f->name, f->type);
		if (p && !member_equal(f->type, (const char *)a_attr + f->offset, p))
			return false;
	}
	return true;
}

bool node_meets(const struct node *n)
{
	const int64_t *group = attr_find(n->op, n->attr, "group", FT_INT);
	return (n->op->flags & OP_MEET) && group && *group >= 0;
}

static const char *string_copy(struct arena *a, const char *s)
{
	return s ? arena_strdup(a, s) : NULL;
}

static void strings_copy(struct arena *a, struct strings *s)
{
	const char **v = ARENA_ARRAY(a, const char *, s->n);
	for (int i = 0; i < s->n; i++)
		v[i] = string_copy(a, s->v[i]);
	s->v = v;
	if (s->loc)
		s->loc = arena_copy(a, s->loc, (size_t)s->n * sizeof *s->loc);
}

static void member_copy(struct arena *a, const struct field *f, void *p)
{
	struct ints *ints = p;
	struct floats *floats = p;
	switch (f->type) {
	case FT_INTS:
		ints->v =
			ints->n ? arena_copy(a, ints->v, (size_t)ints->n * sizeof *ints->v) : NULL;
		break;
	case FT_FLOATS:
		floats->v =
			floats->n ? arena_copy(a, floats->v, (size_t)floats->n * sizeof *floats->v)
				  : NULL;
		break;
	case FT_STRING:
	case FT_PATH:
		*(const char **)p = string_copy(a, *(const char **)p);
		break;
	case FT_STRINGS:
		strings_copy(a, p);
		break;
	default:
		break;               /* plain values; sections and variants are not op attributes */
	}
}

void *attr_copy(struct arena *a, const struct op *op, const void *attr)
{
	char *copy = arena_copy(a, attr, op->attr_size);
	for (const struct field *f = op->attrs; f && f->type != FT_END; f++)
		member_copy(a, f, copy + f->offset);
	return copy;
}

/* The shortest decimal that reads back equal, and words for what JSON lacks. */
static void float_text(struct buf *out, double v)
{
	if (v != v)
		buf_puts(out, ".nan");
	else if (v - v != 0)
		buf_puts(out, v > 0 ? ".inf" : "-.inf");
	else
		buf_json_double(out, v);
}

static void ints_text(struct buf *out, const struct ints *v)
{
	buf_putc(out, '[');
	for (int i = 0; i < v->n; i++)
		buf_printf(out, "%s%" PRId64, i ? ", " : "", v->v[i]);
	buf_putc(out, ']');
}

static void floats_text(struct buf *out, const struct floats *v)
{
	buf_putc(out, '[');
	for (int i = 0; i < v->n; i++) {
		buf_puts(out, i ? ", " : "");
		float_text(out, v->v[i]);
	}
	buf_putc(out, ']');
}

static void strings_text(struct buf *out, const struct strings *v)
{
	buf_putc(out, '[');
	for (int i = 0; i < v->n; i++)
		buf_printf(out, "%s%s", i ? ", " : "", v->v[i]);
	buf_putc(out, ']');
}

static void member_text(struct buf *out, const struct field *f, const void *p)
{
	const char *s;
	switch (f->type) {
	case FT_BOOL: buf_puts(out, *(const bool *)p ? "true" : "false"); break;
	case FT_INT:
	case FT_BYTES: buf_printf(out, "%" PRId64, *(const int64_t *)p); break;
	case FT_FLOAT:
	case FT_SECONDS: float_text(out, *(const double *)p); break;
	case FT_STRING:
	case FT_PATH:
		s = *(const char *const *)p;
		buf_puts(out, s ? s : "null");
		break;
	case FT_ENUM: buf_puts(out, f->choices[*(const int *)p]); break;
	case FT_INTS: ints_text(out, p); break;
	case FT_FLOATS: floats_text(out, p); break;
	case FT_STRINGS: strings_text(out, p); break;
	default: buf_puts(out, "..."); break;
	}
}

/* Whether a value printed as `text` is the row's default. */
static bool is_default(const struct field *f, const char *text)
{
	const char *d = f->dflt;
	size_t n;
	if (!d)
		return !strcmp(text, "null") || !strcmp(text, "[]") || !strcmp(text, "0") ||
		       !strcmp(text, "false");
	if (!*d)
		return false;
	if (f->type == FT_FLOAT || f->type == FT_INT)
		return strtod(d, NULL) == strtod(text, NULL);
	n = strlen(d);
	if (text[0] == '[' && d[0] != '[')
		return !strncmp(text + 1, d, n) && !strcmp(text + 1 + n, "]");
	return !strcmp(text, d);
}

void attr_text(struct buf *out, const struct op *op, const void *attr, bool changed)
{
	struct buf one = BUF_INIT;
	bool first = true;
	if (!attr)
		return;
	for (const struct field *f = op->attrs; f && f->type != FT_END; f++) {
		buf_clear(&one);
		member_text(&one, f, (const char *)attr + f->offset);
		if (changed && is_default(f, one.data))
			continue;
		buf_printf(out, "%s%s: %s", first ? "" : ", ", f->name, one.data);
		first = false;
	}
	buf_release(&one);
}
