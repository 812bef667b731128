/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Settings are kept as trees with their places in the file, so that a mistake in a value, which
 * only its run finds, is shown there. */
#include "cli/sweep/sweep_file.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cli/sweep/sweep_name.h"
#include "yaml/schema_where.h"

struct range {
	double from, to;
	int scale;                   /* index in scales */
	bool integer;
};

struct random_section {
	int64_t runs, seed;
	const struct ynode *settings;
};

struct file {
	const struct ynode *grid, *list;
	struct random_section random;
	struct ints seeds, ranks;
};

enum { LINEAR, LOG };
static const char *const scales[] = { "linear", "log", NULL };

static const struct field range_fields[] = {
	FIELD_FLOAT(struct range, from, "", 0, 0, "least value"),
	FIELD_FLOAT(struct range, to, "", 0, 0, "largest value"),
	FIELD_ENUM(struct range, scale, "linear", scales,
	           "whether values or their logarithms are uniform"),
	FIELD_BOOL(struct range, integer, "false", "values are rounded to integers"),
	FIELD_END
};

static const struct field random_fields[] = {
	FIELD_INT(struct random_section, runs, "0", 0, SWEEP_MOST,
	          "number of settings that are drawn"),
	FIELD_INT(struct random_section, seed, "0", 0, 1e15,
	          "another seed draws other settings; the same one draws the same"),
	FIELD_NAMED(struct random_section, settings, NULL, range_fields,
	            "by key of the config: a list, from which an item is drawn, or a range"),
	FIELD_END
};

const struct field sweep_fields[] = {
	FIELD_NODE(struct file, grid, NULL,
	           "by key of the config, as in '--set', the list of its values: a run for each "
	           "combination"),
	FIELD_NODE(struct file, list, NULL,
	           "a list of maps of settings by key of the config: a run for each map"),
	FIELD_SECTION(struct file, random, random_fields, "settings that are drawn"),
	FIELD(struct file, seeds, FT_INTS, .min = 0, .max = 1e15,
	      .doc = "values of 'run.seed': each of the runs above is made with each of them; default: "
	      "the config's seed alone"),
	FIELD_INTS(struct file, ranks, "1", 1, 1000000,
	           "ranks of a run, the size of a team; of a list each run is made on each number"),
	FIELD_END
};

/* What the runs are made of. */
struct maker {
	struct sweep *s;
	struct arena *a;
	const struct file *f;
	const struct ynode *root;
	struct sweep_names names;
	int cap;
};

/* --- runs --- */

static struct ynode *number_node(struct arena *a, const char *text, const struct loc *loc)
{
	struct ynode *n = ARENA_NEW(a, struct ynode);
	*n = (struct ynode){ .kind = Y_SCALAR, .text = text, .loc = *loc };
	return n;
}

static bool same_settings(const struct sweep_run *a, const struct sweep_run *b)
{
	struct buf x = BUF_INIT, y = BUF_INIT;
	bool same = a->n == b->n && a->ranks == b->ranks;
	for (int i = 0; i < a->n && same; i++) {
		buf_clear(&x);
		buf_clear(&y);
		ytree_write_flow(&x, a->setting[i].value);
		ytree_write_flow(&y, b->setting[i].value);
		same = strcmp(a->setting[i].key, b->setting[i].key) == 0 && strcmp(x.data, y.data) == 0;
	}
	buf_release(&x);
	buf_release(&y);
	return same;
}

/* Whether the run is there already. Other settings whose names are the same get a number. */
static bool name_run(struct maker *m, struct sweep_run *r)
{
	const char *plain = sweep_name(&m->names, r, m->f->ranks.n > 1);
	int same = 1;
	r->name = plain;
	for (int i = 0; i < m->s->n; i++) {
		if (strcmp(m->s->run[i].name, r->name) != 0)
			continue;
		if (same_settings(&m->s->run[i], r))
			return true;
		r->name = arena_printf(m->a, "%s-%d", plain, ++same);
		i = -1;
	}
	return false;
}

static int add_run(struct maker *m, const struct sweep_run *r)
{
	struct sweep *s = m->s;
	if (s->n == SWEEP_MOST)
		return ERR(E_CONFIG, &m->root->loc, "the sweep has more than %d runs", SWEEP_MOST);
	if (s->n == m->cap) {
		struct sweep_run *all = ARENA_ARRAY(m->a, struct sweep_run, m->cap = 2 * m->cap + 16);
		if (s->n)
			memcpy(all, s->run, (size_t)s->n * sizeof *all);
		s->run = all;
	}
	s->run[s->n] = *r;
	s->n += !name_run(m, &s->run[s->n]);
	return 0;
}

/* The settings with each seed, on each number of ranks. */
static int add_settings(struct maker *m, const struct config_setting *v, int n)
{
	const struct ints *seeds = &m->f->seeds, *ranks = &m->f->ranks;
	const struct ynode *where = ytree_find(m->root, "seeds");
	for (int r = 0; r < ranks->n; r++)
		for (int k = 0; k < (seeds->n ? seeds->n : 1); k++) {
			struct config_setting *all = ARENA_ARRAY(m->a, struct config_setting, n + 1);
			const struct sweep_run run = { NULL, (int)ranks->v[r], n + (seeds->n > 0), all };
			if (n)
				memcpy(all, v, (size_t)n * sizeof *all);
			if (seeds->n)
				all[n] = (struct config_setting){ "run.seed", where->loc, number_node(m->a,
					arena_printf(m->a, "%lld", (long long)seeds->v[k]), &where->loc) };
			TRY(add_run(m, &run));
		}
	return 0;
}

/* --- grid --- */

static int check_map(const struct ynode *n, const char *what)
{
	if (n->kind == Y_MAP && n->n > 0)
		return 0;
	return ERR(E_CONFIG, &n->loc, "%s must be a map of settings, as {optimizer.learning_rate: %s}",
	           what, strcmp(what, "'grid'") == 0 ? "[0.01, 0.1]" : "0.1");
}

static int check_values(const struct ypair *p)
{
	if (p->value->kind == Y_SEQ && p->value->n > 0)
		return 0;
	return ERR(E_CONFIG, &p->value->loc, "'%s' needs the list of its values, as [%s]", p->key,
	           p->value->kind == Y_SCALAR ? p->value->text : "1, 2");
}

static struct config_setting setting(const struct ypair *p, struct ynode *value)
{
	return (struct config_setting){ p->key, p->key_loc, value };
}

/* Counts through the combinations, the last key fastest. */
static int add_grid(struct maker *m)
{
	const struct ynode *g = m->f->grid;
	if (!g)
		return 0;
	TRY(check_map(g, "'grid'"));
	int rc = 0, *at = ARENA_ARRAY(m->a, int, g->n), k;
	struct config_setting *v = ARENA_ARRAY(m->a, struct config_setting, g->n);
	for (int i = 0; i < g->n; i++) {
		const int one = check_values(&g->pair[i]);
		rc = rc ? rc : one;
	}
	TRY(rc);
	do {
		for (int i = 0; i < g->n; i++)
			v[i] = setting(&g->pair[i], g->pair[i].value->item[at[i]]);
		TRY(add_settings(m, v, g->n));
		for (k = g->n - 1; k >= 0 && ++at[k] == g->pair[k].value->n; k--)
			at[k] = 0;
	} while (k >= 0);
	return 0;
}

/* --- list --- */

static int add_list(struct maker *m)
{
	const struct ynode *list = m->f->list;
	if (!list)
		return 0;
	if (list->kind != Y_SEQ)
		return ERR(E_CONFIG, &list->loc, "'list' must be a list of maps of settings");
	for (int i = 0; i < list->n; i++) {
		const struct ynode *map = list->item[i];
		TRY(check_map(map, "an item of 'list'"));
		struct config_setting *v = ARENA_ARRAY(m->a, struct config_setting, map->n);
		for (int k = 0; k < map->n; k++)
			v[k] = setting(&map->pair[k], map->pair[k].value);
		TRY(add_settings(m, v, map->n));
	}
	return 0;
}

/* --- random --- */

static int read_range(struct maker *m, const struct ypair *p, struct range *r)
{
	const struct ynode *n = p->value;
	if (n->kind != Y_MAP)
		return ERR(E_CONFIG, &n->loc, "'%s' needs a list of values or a range, as {from: 0.001, "
		           "to: 0.1, scale: log}", p->key);
	TRY(schema_read(m->a, n, range_fields, arena_printf(m->a, "'%s'", p->key), &n->loc, r));
	if (r->from >= r->to)
		return ERR(E_CONFIG, &n->loc, "'from' must be less than 'to'");
	if (r->scale == LOG && r->from <= 0)
		return ERR(E_CONFIG, &n->loc, "'scale: log' needs a positive 'from'");
	return 0;
}

/* The value of draw number i. */
static struct ynode *draw(struct maker *m, const struct ypair *p, const struct range *r, int i)
{
	const struct ynode *n = p->value;
	const double u = rng_uniform((uint64_t)m->f->random.seed, hash_name(p->key), 0, (uint64_t)i);
	if (n->kind == Y_SEQ)
		return n->item[(int)(u * n->n)];
	/* each integer has an interval of the same length */
	const double low = r->integer ? ceil(r->from) - 0.5 : r->from,
	             high = r->integer ? floor(r->to) + 0.5 : r->to;
	double v = r->scale == LOG ? exp(log(low) + u * (log(high) - log(low))) :
	           low + u * (high - low);
	v = r->integer ? fmin(fmax(round(v), ceil(r->from)), floor(r->to)) : v;
	return number_node(m->a, arena_printf(m->a, r->integer ? "%.0f" : "%.6g", v), &n->loc);
}

static int add_random(struct maker *m)
{
	const struct random_section *s = &m->f->random;
	const struct ynode *map = s->settings, *where = ytree_find(m->root, "random");
	int rc = 0;
	if (!map && s->runs == 0)
		return 0;
	if (!map || s->runs == 0)
		return ERR(E_CONFIG, &where->loc, "'random' needs 'runs' and 'settings'");
	TRY(check_map(map, "'settings'"));
	struct range *r = ARENA_ARRAY(m->a, struct range, map->n);
	struct config_setting *v = ARENA_ARRAY(m->a, struct config_setting, map->n);
	for (int k = 0; k < map->n; k++) {
		const struct ypair *p = &map->pair[k];
		const int one = p->value->kind == Y_SEQ ? check_values(p) : read_range(m, p, &r[k]);
		rc = rc ? rc : one;
	}
	for (int i = 0; i < s->runs && rc == 0; i++) {
		for (int k = 0; k < map->n; k++)
			v[k] = setting(&map->pair[k], draw(m, &map->pair[k], &r[k], i));
		rc = add_settings(m, v, map->n);
	}
	return rc;
}

/* --- the file --- */

static void take_names(struct maker *m)
{
	const struct ynode *list = m->f->list;
	if (m->f->grid)
		sweep_names_add(&m->names, m->f->grid);
	for (int i = 0; list && list->kind == Y_SEQ && i < list->n; i++)
		sweep_names_add(&m->names, list->item[i]);
	if (m->f->random.settings)
		sweep_names_add(&m->names, m->f->random.settings);
}

static int make_runs(struct sweep *s, const struct ynode *root, const struct file *f)
{
	struct maker m = { .s = s, .a = s->arena, .f = f, .root = root, .names = { .a = s->arena } };
	const bool alone = !f->grid && !f->list && !f->random.settings && f->random.runs == 0;
	if (alone && f->seeds.n == 0 && f->ranks.n < 2)
		return ERR(E_CONFIG, &root->loc, "the sweep has no runs: give one of 'grid', 'list', "
		           "'random' and 'seeds'");
	take_names(&m);
	s->ranks = f->ranks;
	const struct ynode *ranks = ytree_find(root, "ranks");
	s->ranks_loc = ranks ? ranks->loc : root->loc;
	int rc = alone ? add_settings(&m, NULL, 0) : add_grid(&m);
	const int list = add_list(&m), random = add_random(&m);
	return rc ? rc : list ? list : random;
}

int sweep_read(struct sweep **out, const char *path)
{
	struct sweep *s = mem_calloc(1, sizeof *s);
	struct file f = { NULL };
	struct ynode *root;
	s->arena = arena_new();
	io_input(path);
	schema_where_root(sweep_fields);
	int rc = ytree_load(s->arena, path, &root);
	if (rc == 0)
		rc = schema_read(s->arena, root, sweep_fields, "the sweep", &root->loc, &f);
	if (rc == 0)
		rc = make_runs(s, root, &f);
	if (rc < 0) {
		sweep_free(s);
		return rc;
	}
	*out = s;
	return 0;
}

void sweep_free(struct sweep *s)
{
	if (!s)
		return;
	arena_free(s->arena);
	mem_free(s);
}
