/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads definitions of blocks and makes the checks that do not depend on a use: names, and that
 * every parameter is used. The layers themselves are read at each use, with its values. */
#include "model/layer_block.h"

#include <ctype.h>
#include <string.h>

#include "base/err.h"
#include "base/suggest.h"

struct definition {
	struct ynode *parameters, *layers;
};
static const struct field definition_fields[] = {
	FIELD_NODE(struct definition, parameters, NULL, "names and defaults, or 'required'"),
	FIELD_NODE(struct definition, layers, "", "the layers"), FIELD_END
};

int layer_parameter_at(const char *text)
{
	int n = 0;
	if (*text != '$' || isdigit((unsigned char)text[1]))
		return 0;
	while (isalnum((unsigned char)text[1 + n]) || text[1 + n] == '_')
		n++;
	return n;
}

int layer_parameter_find(const struct layer_block *b, const char *name, int n)
{
	for (int i = 0; i < b->nparameter; i++)
		if (strncmp(b->parameter[i].name, name, (size_t)n) == 0 && !b->parameter[i].name[n])
			return i;
	return -1;
}

/* The "$name" of n letters at text is none of the parameters; loc: of the scalar it is in. */
static int unknown(struct arena *a, const struct layer_block *b, const char *text, int n,
                   const struct loc *loc)
{
	const char **names = ARENA_ARRAY(a, const char *, b->nparameter + 1);
	for (int i = 0; i < b->nparameter; i++)
		names[i] = b->parameter[i].name;
	const char *near = did_you_mean(arena_printf(a, "%.*s", n, text + 1), names);
	const char *hint = near ? arena_printf(a, "; did you mean '$%s'?", near) :
	                   b->nparameter ? arena_printf(a, "; it has '$%s'%s", names[0],
	                                                b->nparameter > 1 ? " and others" : "") :
	                                   ", which has none: {parameters: {NAME: DEFAULT}, layers: "
	                                   "[...]}";
	return ERR(E_CONFIG, loc, "'%.*s' is no parameter of block '%s' (line %d)%s", n + 1, text,
	           b->name, b->loc.line, hint);
}

/* That every "$name" at or below node is a parameter of those read so far. */
static int check_names(struct arena *a, const struct layer_block *b, const struct ynode *node)
{
	int rc = 0;
	for (const char *p = node->text; (p = strchr(p, '$')) != NULL; p++) {
		int n = layer_parameter_at(p);
		if (n && layer_parameter_find(b, p + 1, n) < 0)
			rc = unknown(a, b, p, n, &node->loc);
	}
	for (int i = 0; node->kind == Y_SEQ && i < node->n; i++)
		rc = check_names(a, b, node->item[i]) < 0 ? E_CONFIG : rc;
	for (int i = 0; node->kind == Y_MAP && i < node->n; i++)
		rc = check_names(a, b, node->pair[i].value) < 0 ? E_CONFIG : rc;
	return rc;
}

/* Whether "$name" is anywhere below node; *last: grows to the last line. */
static bool uses(const struct ynode *node, const char *name, int *last)
{
	bool found = false;
	if (node->loc.line > *last)
		*last = node->loc.line;
	for (const char *p = node->text; (p = strchr(p, '$')) != NULL; p++) {
		int n = layer_parameter_at(p);
		found |= n > 0 && strncmp(p + 1, name, (size_t)n) == 0 && !name[n];
	}
	for (int i = 0; node->kind == Y_SEQ && i < node->n; i++)
		found |= uses(node->item[i], name, last);
	for (int i = 0; node->kind == Y_MAP && i < node->n; i++)
		found |= uses(node->pair[i].value, name, last);
	return found;
}

/* A default may name parameters before its own, so that no two need each other. */
static int check_default(struct arena *a, const struct layer_block *b, const struct ynode *node)
{
	int mark = err_count(), rc = check_names(a, b, node);
	err_context_since(mark, "the default of a parameter may name those before it");
	return rc;
}

static int check_parameter_name(struct arena *a, const struct ypair *p)
{
	const char *text = arena_printf(a, "$%s", p->key);
	int n = layer_parameter_at(text);
	if (*p->key == '$')
		return ERR(E_CONFIG, &p->key_loc,
		           "a parameter is defined without the '$', which its uses have: '%s'", p->key + 1);
	if (n == 0 || text[1 + n])
		return ERR(E_CONFIG, &p->key_loc, "'%s' cannot be a parameter's name; expected letters, "
		           "digits and '_', first no digit", p->key);
	if (strcmp(p->key, "name") == 0 || strcmp(p->key, "inputs") == 0)
		return ERR(E_CONFIG, &p->key_loc, "'%s' cannot be a parameter: every layer has this key",
		           p->key);
	return 0;
}

/* Whether a default is the name of a type, as other languages declare parameters. */
static bool names_type(const struct ynode *n)
{
	static const char *const types[] = { "int", "integer", "float", "str", "string", "bool", NULL };
	for (int i = 0; n->kind == Y_SCALAR && types[i]; i++)
		if (strcmp(n->text, types[i]) == 0)
			return true;
	return false;
}

static int read_parameters(struct arena *a, const struct ynode *map, struct layer_block *b)
{
	int rc = 0;
	if (!map || map->kind == Y_NULL)
		return 0;
	if (map->kind != Y_MAP)
		return ERR(E_CONFIG, &map->loc, "'parameters' of block '%s' must be a map of names to "
		           "defaults or to 'required': {filters: required, kernel: 3}", b->name);
	b->parameter = ARENA_ARRAY(a, struct layer_parameter, map->n);
	for (int i = 0; i < map->n; i++) {
		struct ypair *p = &map->pair[i];
		bool required = p->value->kind == Y_SCALAR && !p->value->quoted &&
		                strcmp(p->value->text, "required") == 0;
		if (y_is_null(p->value)) {
			rc = ERR(E_CONFIG, &p->key_loc, "parameter '%s' of block '%s' has no default; if each "
			         "use gives a value it is '%s: required'", p->key, b->name, p->key);
			continue;
		}
		if (names_type(p->value)) {
			rc = ERR(E_CONFIG, &p->value->loc, "'%s' is no default of parameter '%s': give one, or "
			         "'required' if each use gives a value", p->value->text, p->key);
			continue;
		}
		if (check_parameter_name(a, p) < 0 || (!required && check_default(a, b, p->value) < 0)) {
			rc = E_CONFIG;
			continue;
		}
		b->parameter[b->nparameter++] =
			(struct layer_parameter){ p->key, p->key_loc, required ? NULL : p->value };
	}
	return rc;
}

static int check_used(struct arena *a, struct layer_block *b)
{
	int rc = check_names(a, b, b->layers);
	for (int i = 0; i < b->nparameter && rc == 0; i++) { /* else one may be misspelt */
		const struct layer_parameter *p = &b->parameter[i];
		bool used = uses(b->layers, p->name, &b->last_line);
		for (int k = i + 1; k < b->nparameter; k++)
			used |= b->parameter[k].dflt && uses(b->parameter[k].dflt, p->name, &b->last_line);
		if (!used)
			rc = ERR(E_CONFIG, &p->loc, "no layer of block '%s' uses its parameter '%s'; as in "
			         "filters: $%s", b->name, p->name, p->name);
	}
	uses(b->layers, "", &b->last_line);
	return rc;
}

/* The keys of a use: a value alone sets the only parameter, or the only one without a default. */
static const struct field *make_fields(struct arena *a, const struct layer_block *b)
{
	struct field *f = ARENA_ARRAY(a, struct field, b->nparameter + 1);
	int required = 0, brief = 0;
	for (int i = 0; i < b->nparameter; i++) {
		f[i] = (struct field)FIELD_AT(b->parameter[i].name, FT_NODE,
		                              (size_t)i * sizeof(struct ynode *),
		                              .dflt = b->parameter[i].dflt ? NULL : "",
		                              .doc = "a parameter of this block");
		if (!b->parameter[i].dflt) {
			required++;
			brief = i;
		}
	}
	if (required == 1 || b->nparameter == 1)
		f[brief].flags = FIELD_SHORTHAND;
	f[b->nparameter] = (struct field)FIELD_END;
	return f;
}

static int read_block(struct arena *a, const struct ypair *p, struct layer_block *b)
{
	struct definition d = { .layers = p->value };
	int rc = 0;
	*b = (struct layer_block){ .name = p->key, .loc = p->key_loc, .last_line = p->key_loc.line };
	if (p->value->kind == Y_MAP)
		rc = schema_read(a, p->value, definition_fields, arena_printf(a, "block '%s'", p->key),
		                 &p->key_loc, &d);
	int one = read_parameters(a, d.parameters, b);
	rc = rc ? rc : one;
	b->layers = d.layers ? d.layers : p->value;
	rc = rc ? rc : one;
	if (rc == 0)
		rc = check_used(a, b);
	b->fields = make_fields(a, b);
	return rc;
}

int layer_blocks_read(struct arena *a, const struct ynode *map, struct layer_block **out, int *n)
{
	int rc = 0;
	*n = 0;
	if (!map || map->kind == Y_NULL)
		return 0;
	if (map->kind != Y_MAP)
		return ERR(E_CONFIG, &map->loc, "expected a map of block names to lists of layers: {NAME: "
		           "[LAYER, ...]}");
	*n = map->n;
	*out = ARENA_ARRAY(a, struct layer_block, map->n + 1);
	for (int i = 0; i < map->n; i++) {
		int one = read_block(a, &map->pair[i], &(*out)[i]);
		rc = rc ? rc : one;
	}
	return rc;
}
