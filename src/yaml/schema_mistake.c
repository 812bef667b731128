/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Error messages for wrong keys, each with a remedy: the name that was meant, the section that has
 * the key, or all allowed keys. */
#include "yaml/schema_mistake.h"

#include <string.h>

#include "base/err.h"
#include "yaml/schema_value.h"
#include "yaml/schema_where.h"
#include "yaml/synonym.h"

const struct field *scope_find(const struct field *f, const char *name)
{
	for (; f && f->type != FT_END; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

bool scope_in_list(const char *const *list, const char *s)
{
	for (; list && *list; list++)
		if (!strcmp(*list, s))
			return true;
	return false;
}

static void offer_keys(struct hint *h, const struct scope *s)
{
	for (const struct field *f = s->fields; f && f->type != FT_END; f++)
		hint_offer(h, f->name);
	for (const char *const *i = s->ignore; i && *i; i++)
		hint_offer(h, *i);
}

static void list_keys(struct buf *out, const struct scope *s)
{
	const char *comma = "; it takes: ";
	if (!s->fields || s->fields->type == FT_END) {
		buf_puts(out, ", which takes no keys");
		return;
	}
	for (const char *const *i = s->ignore; i && *i; i++, comma = ", ")
		buf_printf(out, "%s%s", comma, *i);
	for (const struct field *f = s->fields; f && f->type != FT_END; f++, comma = ", ")
		buf_printf(out, "%s%s", comma, f->name);
}

int unknown_key(struct scope *s, const struct ypair *p)
{
	struct buf text = BUF_INIT;
	const char *belongs = NULL;
	struct hint h;
	int rc;
	hint_begin(&h, p->key);
	offer_keys(&h, s);
	for (const struct variant *v = h.row || hint_advice(&h) ? NULL : s->siblings; v && v->name; v++)
		if (!belongs && scope_find(v->fields, p->key))
			belongs = v->name;
	s->meant[s->nmeant] = hint_name(&h);
	s->nmeant += s->meant[s->nmeant] && s->nmeant < MEANT - 1;
	/* A key of another section is meant, unless a key of this one is a letter away. */
	if (belongs) {
		buf_printf(&text, " (it belongs to '%s')", belongs);
		list_keys(&text, s);
	} else if (strchr(p->key, ')'))
		buf_puts(&text, "; a list has square brackets: [3, 3]");
	else if (*p->key && strspn(p->key, "0123456789") == strlen(p->key))
		buf_puts(&text, "; a number has a decimal point, not a comma");
	else if (hint_name(&h) && (h.near.distance <= 1 || h.row))
		hint_put(&text, &h);
	else if (hint_advice(&h) && !hint_name(&h))
		hint_put(&text, &h);
	else if (!schema_where_put(&text, p->key) && !hint_put(&text, &h) &&
	         !schema_where_put(&text, hint_elsewhere(&h)))
		list_keys(&text, s);
	rc = ERR(E_CONFIG, &p->key_loc, "unknown key '%s' in %s%s", p->key, s->what, text.data);
	buf_release(&text);
	return rc;
}

/* Says what belongs there: the choices, or the row's meaning. */
int missing_key(const struct scope *s, const struct field *f, const struct loc *loc)
{
	struct buf text = BUF_INIT;
	int rc;
	for (int i = 0; f->type == FT_ENUM && f->choices[i]; i++)
		buf_printf(&text, "%s%s", i ? ", " : ", one of ", f->choices[i]);
	if (f->type != FT_ENUM && f->doc)
		buf_printf(&text, " (%s)", f->doc);
	if (strcmp(s->what, "the config") == 0)
		buf_printf(&text, "; 'dlx-train --help-config=%s' says what it takes", f->name);
	rc = ERR(E_CONFIG, loc, "missing key '%s' in %s%s", f->name, s->what, text.data);
	buf_release(&text);
	return rc;
}

/* A value where a map belongs: the key that it may be meant for, or all keys. */
int not_a_map(const struct scope *s, const struct ynode *node)
{
	struct buf text = BUF_INIT;
	int64_t number;
	int rc;
	for (const struct field *f = s->fields; f && f->type != FT_END && !text.len; f++) {
		struct hint h;

		if (f->type != FT_ENUM || node->kind != Y_SCALAR)
			continue;
		hint_begin(&h, node->text);
		for (int i = 0; f->choices[i]; i++)
			hint_offer(&h, f->choices[i]);
		if (hint_name(&h))
			buf_printf(&text, "; did you mean {%s: %s}?", f->name, hint_name(&h));
	}
	if (node->kind == Y_SEQ && scope_in_list(s->ignore, "inputs") && node->n &&
	    !y_int(node->item[0], &number))
		buf_puts(&text, "; did you mean {inputs: [...]}?");
	else if (!text.len && s->fields && s->fields->type != FT_END)
		list_keys(&text, s);
	rc = ERR(E_CONFIG, &node->loc, "%s must be a map of keys, not %s%s", s->what,
	         value_describe(s->a, node), text.data);
	buf_release(&text);
	return rc;
}

/* Names written as calls, "Conv2d(3, 16)", or with the map's colon left out. A section's type
 * is among its keys, an entry's before them. */
static void put_call(struct buf *out, struct arena *a, const struct variant *list, const char *what,
                     const char *name)
{
	size_t n = strcspn(name, "({");
	struct hint h;
	while (n > 0 && name[n - 1] == ' ')
		n--;
	hint_begin(&h, arena_printf(a, "%.*s", (int)n, name));
	for (const struct variant *v = list; v->name; v++)
		hint_offer(&h, v->name);
	const char *meant = hint_name(&h) ? hint_name(&h) : "NAME";
	if (*what == '\'')
		buf_printf(out, "; its keys stand next to it: {%s: %s, KEY: VALUE}", variant_key(list),
		           meant);
	else
		buf_printf(out, "; its keys are a map after a colon: {%s: {KEY: VALUE}}", meant);
	for (const struct variant *v = list; v->name && hint_name(&h); v++)
		if (!strcmp(v->name, hint_name(&h)) && v->fields && v->fields->type != FT_END)
			list_keys(out, &(struct scope){ .a = a, .fields = v->fields });
}

int unknown_variant(struct arena *a, const struct variant *list, const char *what,
                    const char *name, const struct loc *loc)
{
	struct buf text = BUF_INIT;
	struct hint h;
	int rc;
	hint_begin(&h, name);
	for (const struct variant *v = list; v->name; v++)
		hint_offer(&h, v->name);
	if (strpbrk(name, "({"))
		put_call(&text, a, list, what, name);
	else if (!hint_put(&text, &h))
		for (const struct variant *v = list; v->name; v++)
			buf_printf(&text, "%s%s", v == list ? ", which is one of: " : ", ", v->name);
	rc = ERR(E_CONFIG, loc, "unknown type '%s' for %s%s", value_excerpt(a, name), what, text.data);
	buf_release(&text);
	return rc;
}

/* A key of the node that is nearly the one called name and none of the variants'; or NULL. */
static const struct ypair *typo_of(const struct variant *variants, const struct ynode *node,
                                   const char *name)
{
	for (int i = 0; i < node->n; i++) {
		bool known = false;
		for (const struct variant *v = variants; v->name; v++)
			known |= scope_find(v->fields, node->pair[i].key) != NULL;
		if (!known && did_you_mean(node->pair[i].key, (const char *const[]){ name, NULL }))
			return &node->pair[i];
	}
	return NULL;
}

/* The key that names the type is absent: it may have another name, or its value be the key. */
int missing_type(const struct variant *variants, const struct ynode *node, const char *what)
{
	static const char *const others[] = { "type", "name", "kind", "family", "class", "arch", NULL };
	const char *key = variant_key(variants);
	const struct ypair *typo = typo_of(variants, node, key);
	struct buf names = BUF_INIT;
	int rc;
	if (typo)
		return ERR(E_CONFIG, &typo->key_loc, "unknown key '%s' in %s; did you mean '%s'?",
		           typo->key, what, key);
	for (int i = 0; others[i]; i++)
		if (ytree_pair(node, others[i]))
			return ERR(E_CONFIG, &ytree_pair(node, others[i])->key_loc,
			           "missing key '%s' in %s; '%s' is called '%s' here", key, what,
			           others[i], key);
	for (const struct variant *v = variants; v->name; v++) {
		if (node->n == 1 && ytree_pair(node, v->name) && node->pair[0].value->kind != Y_SEQ)
			return ERR(E_CONFIG, &ytree_pair(node, v->name)->key_loc,
			           "missing key '%s' in %s; '%s' is its value, and "
			           "further keys stand next to it: "
			           "{%s: %s, ...}", key, what, v->name, key, v->name);
		buf_printf(&names, "%s%s", v == variants ? "" : ", ", v->name);
	}
	rc = ERR(E_CONFIG, &node->loc, "missing key '%s' in %s, which is one of: %s", key, what,
	         names.data);
	buf_release(&names);
	return rc;
}
