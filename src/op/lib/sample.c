/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parsing of sample strings and generation of their input values. */
#include "op/lib/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"

enum value_kind { V_NORMAL, V_POSITIVE, V_AWAY, V_DISTINCT, V_INDEX, V_LABELS, V_KEY, V_ONE, V_ZERO,
	V_FLAGS, V_GAPS, V_STORED };

#define MAX_VALUES ((int64_t)1 << 28)

struct spec {
	bool absent;
	struct shape shape;
	enum value_kind kind;
	int64_t k;               /* number of classes for index and labels */
	enum dtype type;         /* element type in which the values are stored */
	enum role role;
};

static const struct {
	const char *name;
	enum value_kind kind;
} kinds[] = {
	{ "normal", V_NORMAL }, { "positive", V_POSITIVE }, { "away", V_AWAY },
	{ "distinct", V_DISTINCT },
	{ "index", V_INDEX }, { "labels", V_LABELS }, { "key", V_KEY }, { "one", V_ONE },
	{ "zero", V_ZERO }, { "flags", V_FLAGS }, { "gaps", V_GAPS },
};

static int parse_kind(const char *p, struct spec *out)
{
	size_t n = strcspn(p, "0123456789");
	int type = dtype_find(p);
	if (type >= 0) {
		out->kind = V_STORED;
		out->type = (enum dtype)type;
		return 0;
	}
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (strlen(kinds[i].name) != n || strncmp(p, kinds[i].name, n) != 0)
			continue;
		out->kind = kinds[i].kind;
		out->k = atoll(p + n);
		return 0;
	}
	return ERR(E_USAGE, NULL, "unknown kind of values '%s'", p);
}

static int parse_shape(char *p, struct shape *s)
{
	if (strcmp(p, "s") == 0)
		return 0;
	for (char *save, *d = strtok_r(p, "x", &save); d; d = strtok_r(NULL, "x", &save)) {
		if (s->nd == MAXD || atoll(d) < 1)
			return ERR(E_USAGE, NULL, "bad shape");
		s->d[s->nd++] = atoll(d);
	}
	int64_t count = 1;
	for (int i = 0; i < s->nd; i++)
		if (__builtin_mul_overflow(count, s->d[i], &count) || count > MAX_VALUES)
			return ERR(E_USAGE, NULL, "an input of more than %lld values", (long long)MAX_VALUES);
	return 0;
}

static int parse_input(char *word, struct spec *out)
{
	*out = (struct spec){ .role = ROLE_INPUT };
	size_t n = strlen(word);
	if (word[n - 1] == '!' || word[n - 1] == '@') {
		out->role = word[n - 1] == '!' ? ROLE_PARAM : ROLE_STATE;
		word[n - 1] = '\0';
	}
	if (strcmp(word, "-") == 0) {
		out->absent = true;
		return 0;
	}
	char *colon = strchr(word, ':');
	if (colon) {
		*colon = '\0';
		TRY(parse_kind(colon + 1, out));
	}
	return parse_shape(word, &out->shape);
}

/* Integers, some of them zero, or floats that `type` represents exactly. */
static double draw_stored(enum dtype type, uint64_t seed, uint64_t stream, int64_t i)
{
	bool is_signed = type != DTYPE_U8 && type != DTYPE_U16;
	double most = dtype_size(type) == 1 ? 127 : 2000,
	       v = floor((rng_uniform(seed, stream, 0, (uint64_t)i) - is_signed * 0.5) * 2 * most);
	uint64_t room;
	if (dtype_is_float(type))
		v = rng_normal(seed, stream, 0, (uint64_t)i);
	dtype_set(type, &room, 0, i % 5 == 2 ? 0 : v);
	return dtype_get(type, &room, 0);
}

static double draw(const struct spec *s, uint64_t seed, uint64_t stream, int64_t i,
                   const int64_t *order)
{
	double u = rng_uniform(seed, stream, 0, (uint64_t)i);
	switch (s->kind) {
	case V_NORMAL:   return rng_normal(seed, stream, 0, (uint64_t)i);
	case V_POSITIVE: return 0.5 + u;
	case V_AWAY:     return (rng_u32(seed, stream, 1, (uint64_t)i) & 1 ? 1 : -1) * (0.2 + 1.3 * u);
	case V_DISTINCT: return 0.0625 * (double)(order[i] - 8);
	case V_INDEX:    return floor(u * (double)s->k);
	case V_LABELS:   return i % 5 == 3 ? 255 : floor(u * (double)s->k);
	case V_KEY:      return i == 0 ? 12345 : i == 1 ? 7 : 5;
	case V_ONE:      return 1;
	case V_ZERO:     return 0;
	case V_FLAGS:    return i % 5 == 3 ? NAN : u < 0.5;
	case V_GAPS:     return i % 5 == 3 ? NAN : rng_normal(seed, stream, 0, (uint64_t)i);
	case V_STORED:   return draw_stored(s->type, seed, stream, i);
	}
	return 0;
}

static double *make_values(struct graph *g, const struct spec *s, uint64_t seed, uint64_t stream)
{
	int64_t n = shape_count(&s->shape);
	double *v = ARENA_ARRAY(g->arena, double, n);
	int64_t *order = ARENA_ARRAY(g->arena, int64_t, n);
	rng_permutation(seed, stream, 2, n, order);
	for (int64_t i = 0; i < n; i++)
		v[i] = (double)(float)draw(s, seed, stream, i, order);
	return v;
}

static int make_input(struct sample *out, const struct op *op, int i, const struct spec *s,
                      uint64_t seed)
{
	char name[16];
	struct init zero = { INIT_CONSTANT, 0 };
	enum dtype dtype = s->kind == V_STORED ? s->type : s->kind == V_KEY ? DTYPE_I64
	                 : s->kind == V_INDEX || s->kind == V_LABELS ? DTYPE_I32 : DTYPE_F32;
	out->in[i] = NONE;
	out->value[i] = NULL;
	if (s->absent)
		return 0;
	snprintf(name, sizeof name, "in%d", i);
	if (s->role == ROLE_PARAM)
		TRY(graph_param(out->g, name, dtype, &s->shape, zero, &out->in[i]));
	else if (s->role == ROLE_STATE)
		TRY(graph_state(out->g, name, dtype, &s->shape, zero, &out->in[i]));
	else
		TRY(graph_input(out->g, name, dtype, &s->shape, &out->in[i]));
	if (dtype == DTYPE_F32 && !(op->nondiff >> i & 1))
		graph_t(out->g, out->in[i])->requires_grad = true;
	out->value[i] = make_values(out->g, s, seed, (uint64_t)i);
	return 0;
}

static int parse_attrs(struct graph *g, const struct op *op, const char *text, void **attr)
{
	struct ynode *map;
	*attr = NULL;
	if (!op->attr_size && text[strspn(text, " ")])
		return ERR(E_USAGE, NULL, "'%s' has no attributes, but ';' is followed by '%s'",
		           op->name, text);
	if (!op->attr_size)
		return 0;
	*attr = arena_alloc(g->arena, op->attr_size);
	char *yaml = arena_printf(g->arena, "{%s}", text);
	TRY(ytree_parse(g->arena, "sample", yaml, &map));
	return schema_read(g->arena, map, op->attrs, op->name, &map->loc, *attr);
}

int sample_build(struct sample *s, const struct op *op, const char *text, uint64_t seed)
{
	memset(s, 0, sizeof *s);
	s->g = graph_new();
	struct graph *g = s->g;
	g->cur_name = "sample";
	char *inputs = arena_strdup(g->arena, text), *semicolon = strchr(inputs, ';');
	if (semicolon)
		*semicolon++ = '\0';
	for (char *save, *w = strtok_r(inputs, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		struct spec spec;
		if (s->nin == SAMPLE_MAX_IN)
			return ERR(E_USAGE, NULL, "more than %d inputs", SAMPLE_MAX_IN);
		TRY(parse_input(w, &spec));
		TRY(make_input(s, op, s->nin++, &spec, seed));
	}
	void *attr;
	TRY(parse_attrs(g, op, semicolon ? semicolon : "", &attr));
	TRY(graph_emit(g, op->name, attr, s->nin, s->in, 0, NULL));
	s->node = g->node[g->nnode - 1];
	return 0;
}

void sample_release(struct sample *s)
{
	graph_free(s->g);
	s->g = NULL;
}
