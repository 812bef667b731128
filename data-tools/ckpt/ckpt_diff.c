/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command diff: compares two versions tensor by tensor. A chunk that both contain is equal and
 * need not be read. If a tensor differs, its first version is read completely, since distances are
 * relative to it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/shown.h"
#include "data-tools/ckpt/ckpt.h"
#include "ckpt/version_id.h"
#include "data-tools/ckpt/ckpt_distance.h"
#include "data-tools/report/config_keys.h"
#include "data-tools/report/text_table.h"
#include "yaml/ytree.h"

enum pairing { BOTH, ONLY_A, ONLY_B, MISSHAPEN };

struct row {
	enum pairing pairing;
	const struct manifest_tensor *a, *b;
	struct distance distance;
};

struct scalar_row {
	const char *name, *a, *b;          /* NULL: not there */
};

struct version_diff {
	struct ckpt_tool *t;
	struct ckpt_tool other;            /* of B, where that is in another store */
	struct ckpt_tool *side[2];
	int index[2];
	struct manifest m[2];
	int alike;                         /* tensors */
	int n;
	struct row *row;                   /* those that are not */
	int nscalar;
	struct scalar_row *scalar;
	int nkey;
	struct config_key *key;
	void *raw[2];                      /* room for a chunk of each */
};

static const struct manifest_tensor *find(const struct manifest *m, const struct manifest_tensor *x)
{
	for (int i = 0; i < m->ntensors; i++)
		if (m->tensor[i].weight == x->weight && strcmp(m->tensor[i].name, x->name) == 0)
			return &m->tensor[i];
	return NULL;
}

static bool is_wanted(const struct ckpt_tool *t, const struct manifest_tensor *x)
{
	return t->weights == t->state || t->weights == x->weight;
}

static bool same_chunks(const struct manifest_tensor *a, const struct manifest_tensor *b)
{
	for (int64_t k = 0; k < a->nchunks; k++)
		if (!hash128_equal(a->chunk[k], b->chunk[k]))
			return false;
	return true;
}

static int measure_chunk(struct version_diff *c, struct row *r, int64_t k)
{
	const size_t width = dtype_size(r->a->dtype);
	size_t n;
	TRY(tool_read_chunk(c->side[0], r->a, k, c->raw[0], &n));
	if (hash128_equal(r->a->chunk[k], r->b->chunk[k])) {
		distance_add_same(&r->distance, r->a->dtype, c->raw[0], (int64_t)(n / width));
		return 0;
	}
	TRY(tool_read_chunk(c->side[1], r->b, k, c->raw[1], &n));
	distance_add(&r->distance, r->a->dtype, c->raw[0], c->raw[1], (int64_t)(n / width));
	return 0;
}

static int compare_pair(struct version_diff *c, const struct manifest_tensor *a,
                        const struct manifest_tensor *b)
{
	struct row *r = &c->row[c->n];
	*r = (struct row){ .a = a, .b = b };
	r->pairing = !b ? ONLY_A : !a ? ONLY_B : BOTH;
	if (a && b && (a->dtype != b->dtype || !shape_equal(&a->shape, &b->shape)))
		r->pairing = MISSHAPEN;
	if (r->pairing == BOTH && same_chunks(a, b)) {
		c->alike++;
		return 0;
	}
	c->n++;
	for (int64_t k = 0; r->pairing == BOTH && k < a->nchunks; k++)
		TRY(measure_chunk(c, r, k));
	return 0;
}

static int compare_tensors(struct version_diff *c)
{
	const struct manifest *a = &c->m[0], *b = &c->m[1];
	c->row = ARENA_ARRAY(c->t->a, struct row, a->ntensors + b->ntensors + 1);
	for (int i = 0; i < a->ntensors; i++)
		if (is_wanted(c->t, &a->tensor[i]))
			TRY(compare_pair(c, &a->tensor[i], find(b, &a->tensor[i])));
	for (int i = 0; i < b->ntensors; i++)
		if (is_wanted(c->t, &b->tensor[i]) && !find(a, &b->tensor[i]))
			TRY(compare_pair(c, NULL, &b->tensor[i]));
	return 0;
}

/* --- scalars, config --- */

static const char *scalar_of(const struct manifest *m, const char *name)
{
	for (int i = 0; i < m->nscalars; i++)
		if (strcmp(m->scalar[i].name, name) == 0)
			return m->scalar[i].value;
	return NULL;
}

static void compare_scalar(struct version_diff *c, const char *name)
{
	const char *a = scalar_of(&c->m[0], name), *b = scalar_of(&c->m[1], name);
	if (!a || !b || strcmp(a, b) != 0)
		c->scalar[c->nscalar++] = (struct scalar_row){ name, a, b };
}

static void compare_scalars(struct version_diff *c)
{
	const struct manifest *a = &c->m[0], *b = &c->m[1];
	c->scalar = ARENA_ARRAY(c->t->a, struct scalar_row, a->nscalars + b->nscalars + 1);
	for (int i = 0; i < a->nscalars; i++)
		compare_scalar(c, a->scalar[i].name);
	for (int i = 0; i < b->nscalars; i++)
		if (!scalar_of(a, b->scalar[i].name))
			compare_scalar(c, b->scalar[i].name);
}

/* A text that is no YAML is one of which nothing is known. */
static const struct ynode *config_of(struct version_diff *c, int side)
{
	struct ynode *root = NULL;
	int mark = err_count();
	int rc = ytree_parse(c->t->a, c->t->arg[side], c->m[side].config, &root);
	err_truncate(mark);
	return rc == 0 && root && root->kind == Y_MAP ? root : NULL;
}

static void compare_configs(struct version_diff *c)
{
	const struct ynode *config[] = { config_of(c, 0), config_of(c, 1) };
	c->nkey = config_keys(c->t->a, config, 2, &c->key);
}

/* --- text --- */

/* The seconds that a run has taken are no state. */
static bool is_time(const struct scalar_row *s)
{
	return strcmp(s->name, "seconds") == 0;
}

static bool differs(const struct version_diff *c)
{
	int n = c->n + c->nkey;
	for (int i = 0; i < c->nscalar; i++)
		n += !is_time(&c->scalar[i]);
	return n > 0;
}

static void put_value(struct buf *b, double v)
{
	buf_printf(b, "%.3g", v);
}

static void put_distance(struct text_table *table, int row, const struct row *r)
{
	struct buf b = BUF_INIT;
	const struct distance *d = &r->distance;
	buf_printf(&b, "%" PRId64 " of %" PRId64, d->differ, shape_count(&r->a->shape));
	if (d->undefined)
		buf_printf(&b, " (%" PRId64 " NaN)", d->undefined);
	text_table_put(table, row, 1, &b);
	put_value(&b, d->largest);
	text_table_put(table, row, 2, &b);
	put_value(&b, distance_relative(d));
	text_table_put(table, row, 3, &b);
	buf_printf(&b, "%" PRIu64, d->ulps);
	text_table_put(table, row, 4, &b);
	buf_release(&b);
}

static void put_shape(struct buf *b, const struct manifest_tensor *x)
{
	char text[SHAPE_TEXT];
	buf_printf(b, "%s of %s", shape_text(&x->shape, text), dtype_name(x->dtype));
}

static void print_unpaired(const struct row *r)
{
	struct buf b = BUF_INIT;
	buf_printf(&b, "tensor %s: ", shown(r->a ? r->a->name : r->b->name));
	if (r->pairing == MISSHAPEN) {
		put_shape(&b, r->a);
		buf_puts(&b, " in the first version, ");
		put_shape(&b, r->b);
		buf_puts(&b, " in the second");
	} else {
		put_shape(&b, r->a ? r->a : r->b);
		buf_printf(&b, ", in the %s version alone", r->a ? "first" : "second");
	}
	buf_putc(&b, '\n');
	print_buf(&b);
	buf_release(&b);
}

static void print_tensors(const struct version_diff *c)
{
	static const char *const titles[] = { "tensor", "values that differ", "largest", "relative",
		"ulps" };
	struct text_table table = text_table_new(c->t->a, c->n + 1, 5);
	struct buf b = BUF_INIT;
	table.left[0] = true;
	for (int k = 0; k < 5; k++) {
		buf_puts(&b, titles[k]);
		text_table_put(&table, 0, k, &b);
	}
	table.rows = 1;
	for (int i = 0; i < c->n; i++) {
		if (c->row[i].pairing != BOTH)
			continue;
		buf_shown(&b, c->row[i].a->name);
		text_table_put(&table, table.rows, 0, &b);
		put_distance(&table, table.rows++, &c->row[i]);
	}
	if (table.rows > 1)
		text_table_print(&table);
	for (int i = 0; i < c->n; i++)
		if (c->row[i].pairing != BOTH)
			print_unpaired(&c->row[i]);
	buf_release(&b);
}

static void print_values(const char *what, const char *name, const char *a, const char *b)
{
	printf("%s %s: ", what, shown(name));
	printf("%s, ", a ? shown(a) : "-");
	printf("%s\n", b ? shown(b) : "-");
}

static const char *id_of(const struct version_diff *c, int side)
{
	return c->side[side]->history.v[c->index[side]].id;
}

static void print_text(const struct version_diff *c)
{
	print_tensors(c);
	printf("%d tensor%s differ%s, %d alike\n", c->n, c->n == 1 ? "" : "s", c->n == 1 ? "s" : "",
	       c->alike);
	for (int i = 0; i < c->nscalar; i++)
		print_values("scalar", c->scalar[i].name, c->scalar[i].a, c->scalar[i].b);
	for (int i = 0; i < c->nkey; i++)
		print_values("config", c->key[i].path, c->key[i].value[0], c->key[i].value[1]);
	if (c->t->first)
		printf("\nThe step at which the two part is found by making the steps again:\n"
		       "  dlx-train --replay=%s..%s CONFIG\n", version_bare_id(id_of(c, 0)),
		       version_bare_id(id_of(c, 1)));
}

/* --- JSON --- */

static void put_json_row(const struct row *r, struct buf *b)
{
	static const char *const pairing[] = { [BOTH] = "both", [ONLY_A] = "only_a",
		[ONLY_B] = "only_b", [MISSHAPEN] = "misshapen" };
	const struct manifest_tensor *x = r->a ? r->a : r->b;
	buf_puts(b, "{\"name\": ");
	buf_json_string(b, x->name);
	buf_printf(b, ", \"use\": \"%s\", \"in\": \"%s\"", x->weight ? "weight" : "state",
	           pairing[r->pairing]);
	if (r->pairing == BOTH) {
		buf_printf(b, ", \"type\": \"%s\", \"values\": %" PRId64 ", \"differ\": %" PRId64
		           ", \"undefined\": %" PRId64 ", \"ulps\": %" PRIu64, dtype_name(x->dtype),
		           shape_count(&x->shape), r->distance.differ, r->distance.undefined,
		           r->distance.ulps);
		buf_json_member(b, "largest", r->distance.largest);
		buf_json_member(b, "relative", distance_relative(&r->distance));
	}
	buf_putc(b, '}');
}

static void put_json_values(struct buf *b, bool first, const char *name, const char *x,
                            const char *y)
{
	buf_puts(b, first ? "{\"name\": " : ", {\"name\": ");
	buf_json_string(b, name);
	put_json_text(b, "a", x);
	put_json_text(b, "b", y);
	buf_putc(b, '}');
}

static void print_json(const struct version_diff *c)
{
	struct buf b = BUF_INIT;
	buf_printf(&b, "{\"a\": \"%s\", \"b\": \"%s\", \"alike\": %s, \"alike_tensors\": %d"
	           ", \"tensors\": [", id_of(c, 0), id_of(c, 1),
	           differs(c) ? "false" : "true", c->alike);
	for (int i = 0; i < c->n; i++) {
		buf_puts(&b, i ? ", " : "");
		put_json_row(&c->row[i], &b);
	}
	buf_puts(&b, "], \"scalars\": [");
	for (int i = 0; i < c->nscalar; i++)
		put_json_values(&b, i == 0, c->scalar[i].name, c->scalar[i].a, c->scalar[i].b);
	buf_puts(&b, "], \"config\": [");
	for (int i = 0; i < c->nkey; i++)
		put_json_values(&b, i == 0, c->key[i].path, c->key[i].value[0], c->key[i].value[1]);
	buf_puts(&b, "]}\n");
	print_buf(&b);
	buf_release(&b);
}

/* A version, of DIR's store or, as DIR:ID, of another one. */
static int find_side(struct version_diff *c, int side, const char *word)
{
	const char *colon = strrchr(word, ':');
	c->side[side] = c->t;
	if (colon && side == 0)
		return ERR(E_USAGE, NULL, "'%s': the first version is one of '%s'; only the second may be "
		           "of another store", word, c->t->dir);
	if (colon) {
		c->side[side] = &c->other;
		c->other = (struct ckpt_tool){ .a = c->t->a,
			.dir = arena_printf(c->t->a, "%.*s", (int)(colon - word), word) };
		TRY(tool_open(&c->other));
		word = colon + 1;
	}
	TRY(tool_find(c->side[side], word, &c->index[side]));
	TRY(tool_manifest(c->side[side], c->index[side], &c->m[side]));
	return tool_packs(c->side[side]);
}

static int compare(struct version_diff *c)
{
	for (int side = 0; side < 2; side++)
		TRY(find_side(c, side, c->t->arg[side]));
	TRY(compare_tensors(c));
	compare_scalars(c);
	compare_configs(c);
	if (c->t->json)
		print_json(c);
	else
		print_text(c);
	c->t->status = differs(c);
	return 0;
}

int ckpt_diff(struct ckpt_tool *t)
{
	struct version_diff c = { .t = t, .raw = { mem_alloc(CHUNK_RAW), mem_alloc(CHUNK_RAW) } };
	int rc = compare(&c);
	tool_close(&c.other);
	mem_free(c.raw[0]);
	mem_free(c.raw[1]);
	return rc;
}
