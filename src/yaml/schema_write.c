/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A struct back to a tree: the effective config. A row whose absence reads as the value it has is
 * left out; everything else is written, defaults included, in a form that reads back to the same
 * bits. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "yaml/schema_value.h"
#include "yaml/ytree_parse.h"

static struct ynode *write_int(struct arena *a, int64_t v)
{
	char text[24];
	if (v == INT64_MIN)
		return ynode_new(a, Y_NULL);
	snprintf(text, sizeof text, "%" PRId64, v);
	return ynode_plain(a, text);
}

static struct ynode *write_float(struct arena *a, double v)
{
	struct buf b = BUF_INIT;
	struct ynode *n;
	if (isnan(v))
		return ynode_new(a, Y_NULL);
	if (isinf(v))
		return ynode_plain(a, v > 0 ? ".inf" : "-.inf");
	buf_json_double(&b, v);
	n = ynode_plain(a, b.data);
	buf_release(&b);
	return n;
}

static struct ynode *write_string(struct arena *a, const char *s)
{
	return s ? ynode_string(a, s) : ynode_new(a, Y_NULL);
}

/* A '$' of an expanded path is doubled, or reading would take it for a variable. */
static struct ynode *write_path(struct arena *a, const char *s)
{
	struct buf b = BUF_INIT;
	struct ynode *n;
	if (!s)
		return ynode_new(a, Y_NULL);
	for (; *s; s++) {
		if (*s == '$')
			buf_putc(&b, '$');
		buf_putc(&b, *s);
	}
	n = ynode_string(a, b.data);
	buf_release(&b);
	return n;
}

static struct ynode *write_list(struct arena *a, const struct field *f, const void *in)
{
	const struct ints *i = in;
	const struct floats *d = in;
	const struct strings *s = in;
	struct ynode *seq = ynode_new(a, Y_SEQ);
	if (f->flags & FIELD_NULLABLE && value_is_zero(f, in))
		return ynode_new(a, Y_NULL);
	if (f->type == FT_INTS)
		for (int k = 0; k < i->n; k++)
			ynode_add_item(a, seq, write_int(a, i->v[k]));
	else if (f->type == FT_FLOATS)
		for (int k = 0; k < d->n; k++)
			ynode_add_item(a, seq, write_float(a, d->v[k]));
	else
		for (int k = 0; k < s->n; k++)
			ynode_add_item(a, seq, f->type == FT_PATHS ? write_path(a, s->v[k]) :
			                       write_string(a, s->v[k]));
	return seq;
}

static struct ynode *write_field(struct arena *a, const struct field *f, const void *in);

/* The value of the key with the short form, if all other keys of the section are null; else
 * NULL. */
static struct ynode *write_brief(struct arena *a, const struct field *fields, const char *in)
{
	struct ynode *brief = NULL;
	for (const struct field *f = fields; f->type != FT_END; f++) {
		struct ynode *v = write_field(a, f, in + f->offset);
		if (f->flags & FIELD_SHORTHAND)
			brief = v;
		else if (v && !y_is_null(v))
			return NULL;
	}
	return brief && brief->kind == Y_SEQ && brief->n == 1 ? brief->item[0] : brief;
}

static struct ynode *write_sections(struct arena *a, const struct field *f, const void *in)
{
	const struct sections *s = in;
	const struct variant *row = f->variants;
	struct ynode *seq = ynode_new(a, Y_SEQ);
	for (int i = 0; i < s->n; i++) {
		const char *at = (const char *)s->v + (size_t)i * row->size;
		struct ynode *brief = write_brief(a, row->fields, at);
		ynode_add_item(a, seq, brief ? brief : schema_write(a, row->fields, at));
	}
	return seq;
}

static struct ynode *write_field(struct arena *a, const struct field *f, const void *in)
{
	int choice;
	switch (f->type) {
	case FT_BOOL:
		return ynode_plain(a, *(const bool *)in ? "true" : "false");
	case FT_INT:
	case FT_BYTES:
		return write_int(a, *(const int64_t *)in);
	case FT_FLOAT:
	case FT_SECONDS:
		return write_float(a, *(const double *)in);
	case FT_STRING:
		return write_string(a, *(const char *const *)in);
	case FT_PATH:
		return write_path(a, *(const char *const *)in);
	case FT_ENUM:
		choice = *(const int *)in;
		return choice < 0 ? ynode_new(a, Y_NULL) : ynode_string(a, f->choices[choice]);
	case FT_INTS:
	case FT_FLOATS:
	case FT_STRINGS:
	case FT_PATHS:
		return write_list(a, f, in);
	case FT_SECTION:
		return schema_write(a, f->sub, in);
	case FT_SECTIONS:
		return write_sections(a, f, in);
	case FT_NODE:
		return *(struct ynode *const *)in;
	case FT_VARIANT:
		return schema_write_variant(a, in);
	case FT_END:
		break;
	}
	BUG("field '%s' has type %d", f->name, (int)f->type);
}

static void write_rows(struct arena *a, struct ynode *map, const struct field *fields,
                       const char *in)
{
	for (const struct field *f = fields; f && f->type != FT_END; f++) {
		struct ynode *v;
		if (!f->dflt && value_is_zero(f, in + f->offset))
			continue;
		v = write_field(a, f, in + f->offset);
		if (v)
			ynode_add_pair(a, map, f->name, v);
	}
}

struct ynode *schema_write(struct arena *a, const struct field *fields, const void *in)
{
	struct ynode *map = ynode_new(a, Y_MAP);
	write_rows(a, map, fields, in);
	return map;
}

struct ynode *schema_write_variant(struct arena *a, const struct variant_value *in)
{
	struct ynode *map;
	if (!in->v)
		return ynode_new(a, Y_NULL);
	map = ynode_new(a, Y_MAP);
	ynode_add_pair(a, map, variant_key(in->v), ynode_string(a, in->v->name));
	if (in->preset)
		ynode_add_pair(a, map, "variant", ynode_string(a, in->preset));
	write_rows(a, map, in->v->fields, in->data);
	return map;
}
