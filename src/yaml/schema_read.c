/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A map of the tree into a C struct, driven by a field table: every key is looked up in the table,
 * every row is read from its key or from its default. Each mistake is an entry in the error
 * record, placed on the word that is wrong, and reading goes on: a value that cannot be read
 * leaves the row's default. The values themselves are read in schema_value.c. */
#include "yaml/schema.h"

#include <string.h>

#include "base/err.h"
#include "base/suggest.h"
#include "yaml/schema_mistake.h"
#include "yaml/schema_value.h"
#include "yaml/ytree_parse.h"

static const struct field *find_shorthand(const struct field *f)
{
	for (; f && f->type != FT_END; f++)
		if (f->flags & FIELD_SHORTHAND)
			return f;
	return NULL;
}

static int check_keys(struct scope *s, const struct ynode *map)
{
	int rc = 0;
	for (int i = 0; i < map->n; i++) {
		const struct ypair *p = &map->pair[i];
		if (!scope_find(s->fields, p->key) && !scope_in_list(s->ignore, p->key))
			rc = first_code(rc, unknown_key(s, p));
	}
	return rc;
}

/* The tree of a row's default, with the position loc. A default that is not valid YAML is a bug in
 * dlx. */
static struct ynode *default_node(struct arena *a, const struct field *f, const struct loc *loc)
{
	struct loc at = loc ? *loc : (struct loc){ 0 };
	struct ynode *n;
	if (yscalar_plain(f->dflt) && strcmp(f->dflt, "null") != 0) {
		n = ynode_plain(a, f->dflt);
		n->loc = at;
	} else if (ytree_parse_at(a, &at, true, f->dflt, &n) < 0) {
		BUG("default '%s' of '%s' is not YAML", f->dflt, f->name);
	}
	return n;
}

/* Types whose defaults are constants: one that does not fit its row is a mistake in the table. */
static bool constant_type(enum field_type t)
{
	return t != FT_PATH && t != FT_PATHS && t != FT_SECTION && t != FT_VARIANT && t != FT_NODE &&
	       t != FT_SECTIONS;
}

/* Reads a list of maps. If one of the row's keys has a short form, items may be its values, and a
 * single value may stand for a list. */
static int read_sections(struct arena *a, const struct field *f, const struct ynode *node,
                         void *out)
{
	const struct variant *row = f->variants;
	const bool list = node->kind == Y_SEQ, brief = find_shorthand(row->fields) != NULL;
	const int n = list ? node->n : 1;
	struct sections *s = out;
	int rc = 0;
	*s = (struct sections){ 0 };
	if (y_is_null(node) && !(f->dflt && !*f->dflt))
		return 0;
	if (!list && (!brief || y_is_null(node)))
		return ERR(E_CONFIG, &node->loc, "'%s' must be a list of maps%s, not %s", f->name,
		           brief ? " or values" : "", value_describe(a, node));
	char *v = arena_alloc(a, row->size * ((size_t)n + 1));
	struct loc *loc = ARENA_ARRAY(a, struct loc, n + 1);
	for (int i = 0; i < n; i++) {
		const struct ynode *item = list ? node->item[i] : node;
		const char *what = arena_printf(a, "an entry of '%s'", f->name);
		loc[i] = item->loc;
		rc = first_code(rc, schema_read(a, item, row->fields, what, &item->loc,
		                                v + (size_t)i * row->size));
	}
	*s = (struct sections){ n, v, loc };
	return rc;
}

/* key_loc: where the key is, for what is missing below it. */
static int read_field(const struct scope *s, const struct field *f, const struct ynode *node,
                      const struct loc *key_loc, void *out)
{
	switch (f->type) {
	case FT_SECTION:
		return schema_read(s->a, node, f->sub, arena_printf(s->a, "'%s'", f->name), key_loc, out);
	case FT_VARIANT:
		if (y_is_null(node) && f->flags & FIELD_NULLABLE) {
			memset(out, 0, sizeof(struct variant_value));
			return 0;
		}
		return schema_read_variant(s->a, node, f->variants, arena_printf(s->a, "'%s'", f->name),
		                           out);
	case FT_SECTIONS:
		return read_sections(s->a, f, node, out);
	case FT_NODE:
		*(const struct ynode **)out = node;
		return 0;
	default:
		return value_read(s->a, f, node, out);
	}
}

/* A row whose key is absent: its default, nothing, or a mistake at loc. */
static int read_absent(const struct scope *s, const struct field *f, const struct loc *loc,
                       void *out)
{
	struct ynode *n;
	int rc;
	value_zero(f, out);
	if (f->type == FT_SECTION && !f->dflt)
		return schema_read(s->a, NULL, f->sub, arena_printf(s->a, "'%s'", f->name), loc, out);
	if (!f->dflt)
		return 0;
	if (!*f->dflt) {
		if (f->type == FT_SECTION)   /* without a word: one mistake, one message */
			schema_defaults(s->a, f->sub, out);
		for (int i = 0; i < s->nmeant; i++)
			if (!strcmp(s->meant[i], f->name))
				return E_CONFIG;   /* it is there under another name, which was reported */
		return missing_key(s, f, loc);
	}
	n = default_node(s->a, f, loc);
	rc = read_field(s, f, n, loc, out);
	BUG_IF(rc < 0 && constant_type(f->type), "default '%s' of '%s': %s", f->dflt, f->name,
	       err_get(err_count() - 1)->text);
	return rc;
}

/* Replaces a value that could not be read by the default, without further messages, which would
 * only confuse and might displace others. A section has filled its own rows already. */
static void replace_by_default(const struct scope *s, const struct field *f, void *out)
{
	struct err_record kept;
	if (f->type == FT_SECTION)
		return;
	err_take(&kept);
	read_absent(s, f, NULL, out);
	err_clear();
	err_give(&kept);
}

static int read_rows(const struct scope *s, const struct ynode *map, const struct loc *loc,
                     char *out)
{
	int rc = 0;
	for (const struct field *f = s->fields; f && f->type != FT_END; f++) {
		const struct ypair *p = ytree_pair(map, f->name);
		void *at = out + f->offset;
		int r = p ? read_field(s, f, p->value, &p->key_loc, at) : read_absent(s, f, loc, at);
		if (r < 0 && p)
			replace_by_default(s, f, at);
		rc = first_code(rc, r);
	}
	return rc;
}

/* Reads node into out. node may be absent, a map, or the value of the row with FIELD_SHORTHAND. */
static int read_scope(struct scope *s, const struct ynode *node, const struct loc *loc,
                      void *out)
{
	const struct field *brief = find_shorthand(s->fields);
	struct ypair pair;
	struct ynode map = { .kind = Y_MAP, .text = "", .n = 1, .pair = &pair };
	int rc;
	if (!node || y_is_null(node))
		return read_rows(s, NULL, loc, out);
	if (node->kind == Y_MAP) {
		rc = check_keys(s, node);
		return first_code(rc, read_rows(s, node, loc ? loc : &node->loc, out));
	}
	if (brief) {
		pair = (struct ypair){ brief->name, node->loc, (struct ynode *)(uintptr_t)node };
		map.loc = node->loc;
		return read_rows(s, &map, &node->loc, out);
	}
	rc = not_a_map(s, node);
	schema_defaults(s->a, s->fields, out);
	return rc;
}

int schema_read(struct arena *a, const struct ynode *map, const struct field *fields,
                const char *what, const struct loc *loc, void *out)
{
	struct scope s = { .a = a, .fields = fields, .what = what };
	return read_scope(&s, map, loc, out);
}

void schema_defaults(struct arena *a, const struct field *fields, void *out)
{
	struct scope s = { .a = a, .fields = fields, .what = "" };
	struct err_record kept;
	err_take(&kept);
	read_rows(&s, NULL, NULL, out);
	err_clear();
	err_give(&kept);
}

/* --- presets --- */

static int find_preset(const struct preset *list, const struct ynode *name,
                       const struct preset **out)
{
	struct suggest near = { .word = name->text };
	struct buf names = BUF_INIT;
	int rc;
	for (const struct preset *p = list; p->name; p++) {
		if (name->kind == Y_SCALAR && strcmp(p->name, name->text) == 0) {
			*out = p;
			buf_release(&names);
			return 0;
		}
		suggest_offer(&near, p->name);
		buf_printf(&names, "%s%s", p == list ? "" : ", ", p->name);
	}
	if (name->kind != Y_SCALAR)
		rc = ERR(E_CONFIG, &name->loc, "'variant' must be one of: %s", names.data);
	else if (near.best)
		rc = ERR(E_CONFIG, &name->loc, "unknown variant '%s'; did you mean '%s'?", name->text,
		         near.best);
	else
		rc = ERR(E_CONFIG, &name->loc, "unknown variant '%s', which is one of: %s", name->text,
		         names.data);
	buf_release(&names);
	return rc;
}

/* Adds to *body the preset's values for keys that it lacks. */
static int apply_preset(struct arena *a, const struct variant *v, const struct ynode **body,
                        const char **name)
{
	const struct ypair *chosen = *body && (*body)->kind == Y_MAP ? ytree_pair(*body, "variant") :
	                             NULL;
	const struct preset *p = NULL;
	struct ynode *values, *all;
	if (!chosen || y_is_null(chosen->value))
		return 0;
	TRY(find_preset(v->presets, chosen->value, &p));
	*name = p->name;
	BUG_IF(ytree_parse(a, p->name, arena_printf(a, "{%s}", p->yaml), &values) < 0,
	       "preset '%s' of '%s' is not YAML", p->name, v->name);
	all = arena_copy(a, *body, sizeof **body);
	all->pair = ARENA_ARRAY(a, struct ypair, (*body)->n + values->n);
	memcpy(all->pair, (*body)->pair, sizeof *all->pair * (size_t)all->n);
	for (int i = 0; i < values->n; i++)
		if (!ytree_pair(*body, values->pair[i].key)) {
			all->pair[all->n] = values->pair[i];
			all->pair[all->n++].key_loc = chosen->value->loc;
		}
	*body = all;
	return 0;
}

/* The variant called name into out; body may be NULL. */
static int read_variant(struct arena *a, const struct variant *list, const char *what,
                        const char *name, const struct loc *name_loc, const struct ynode *body,
                        const char *const *ignore, struct variant_value *out)
{
	const char *ignored[8] = { 0 };
	struct scope s = { .a = a, .siblings = list, .ignore = ignored };
	const struct variant *v = list;
	void *data;
	int n = 0;
	for (; ignore && ignore[n]; n++)
		ignored[n] = ignore[n];
	out->loc = *name_loc;
	while (v->name && strcmp(v->name, name) != 0)
		v++;
	if (!v->name)
		return unknown_variant(a, list, what, name, name_loc);
	if (v->presets) {
		ignored[n] = "variant";
		TRY(apply_preset(a, v, &body, &out->preset));
	}
	s.fields = v->fields;
	s.what = arena_printf(a, "'%s'", v->name);
	data = arena_alloc(a, v->size);
	out->v = v;
	out->data = data;
	return read_scope(&s, body, name_loc, data);
}

const struct variant *field_variants(const struct field *f, struct arena *a)
{
	return f->entries ? f->entries(a) : f->variants;
}

const char *variant_key(const struct variant *variants)
{
	return variants->key ? variants->key : "type";
}

int schema_read_variant(struct arena *a, const struct ynode *node, const struct variant *variants,
                        const char *what, struct variant_value *out)
{
	const char *key = variant_key(variants), *const key_list[] = { key, NULL };
	const struct ypair *type;
	memset(out, 0, sizeof *out);
	out->loc = node->loc;
	if (node->kind == Y_SCALAR)
		return read_variant(a, variants, what, node->text, &node->loc, NULL, NULL, out);
	if (node->kind != Y_MAP)
		return ERR(E_CONFIG, &node->loc,
		           "%s must be a map with the key '%s', or a name that it may have, not %s", what,
		           key, value_describe(a, node));
	type = ytree_pair(node, key);
	if (!type)
		return missing_type(variants, node, what);
	if (type->value->kind != Y_SCALAR)
		return ERR(E_CONFIG, &type->value->loc, "'%s' of %s must be a name, not %s", key, what,
		           value_describe(a, type->value));
	return read_variant(a, variants, what, type->value->text, &type->value->loc, node, key_list,
	                    out);
}

static bool find_variant(const struct variant *v, const char *name)
{
	while (v->name && strcmp(v->name, name) != 0)
		v++;
	return v->name != NULL;
}

int schema_read_tagged(struct arena *a, const struct ynode *node, const struct variant *variants,
                       const char *what, const char *const *ignore, struct variant_value *out)
{
	memset(out, 0, sizeof *out);
	out->loc = node->loc;
	if (node->kind == Y_SCALAR)
		return read_variant(a, variants, what, node->text, &node->loc, NULL, ignore, out);
	if (node->kind != Y_MAP || node->n == 0)
		return ERR(E_CONFIG, &node->loc, "%s must be a type's name or a map of one key, not %s",
		           what, value_describe(a, node));
	if (node->n > 1 && ytree_pair(node, "type"))
		return ERR(E_CONFIG, &ytree_pair(node, "type")->key_loc,
		           "%s must be a map of one key, its type, as in {TYPE: {KEY: "
		           "VALUE}}, not a map with "
		           "'type'", what);
	if (node->n > 1 && find_variant(variants, node->pair[1].key))
		return ERR(E_CONFIG, &node->pair[1].key_loc, "%s must be a map of one key, its type: '%s' "
		           "is a second one, which has an entry of its own, after another '- '", what,
		           node->pair[1].key);
	if (node->n > 1)
		return ERR(E_CONFIG, &node->pair[1].key_loc,
		           "%s must be a map of one key, its type: '%s' is a second one (keys of '%s' go "
		           "into its own map, indented below it)",
		           what, node->pair[1].key, node->pair[0].key);
	return read_variant(a, variants, what, node->pair[0].key, &node->pair[0].key_loc,
	                    node->pair[0].value, ignore, out);
}
