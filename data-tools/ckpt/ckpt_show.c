/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command show: prints the content of a manifest, and the bytes of its tensors. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/shown.h"
#include "base/utf8.h"
#include "data-tools/ckpt/ckpt.h"
#include "ckpt/version_id.h"
#include "data-tools/ckpt/ckpt_chunks.h"
#include "data-tools/report/text_table.h"

#define LONGEST_VALUE 80           /* of a scalar, in bytes */

struct size {
	uint64_t raw, stored;
	int missing;                   /* chunks that no pack has */
};

static struct size size_of(const struct chunk_table *chunks, const struct manifest_tensor *x)
{
	struct size s = { .raw = manifest_bytes(x) };
	for (int64_t k = 0; k < x->nchunks; k++) {
		const struct chunk_entry *e = chunk_table_find(chunks, x->chunk[k]);
		s.stored += e ? e->stored : 0;
		s.missing += !e;
	}
	return s;
}

static void add(struct size *all, struct size one)
{
	all->raw += one.raw;
	all->stored += one.stored;
	all->missing += one.missing;
}

/* --- text --- */

static void put_line(struct buf *b, const char *what, const char *text)
{
	buf_printf(b, "%-9s ", what);
	buf_shown(b, *text ? text : "-");
	buf_putc(b, '\n');
}

static void put_parents(const struct ckpt_tool *t, int i, struct buf *b)
{
	const struct history_version *v = &t->history.v[i];
	buf_puts(b, "parents   ");
	for (int k = 0; k < v->m.nparents; k++)
		buf_printf(b, "%s%s%s", k ? ", " : "", version_bare_id(v->m.parent[k]),
		           v->edge[k].gone ? " (removed)" : "");
	buf_printf(b, "%s%s\n", v->m.nparents ? "" : "-", v->m.fork ? ", a fork" : "");
}

/* Descriptions of data are long: JSON has them whole. */
static void put_cut(struct buf *b, const char *text)
{
	struct buf all = BUF_INIT;
	size_t n = 0;
	buf_shown(&all, text);
	while (n < all.len && n < LONGEST_VALUE)
		n += (size_t)utf8_length(all.data + n);
	buf_add(b, all.data, n);
	if (n < all.len)
		buf_printf(b, "... (%zu bytes)", strlen(text));
	buf_release(&all);
}

static void put_scalars(const struct manifest *m, struct buf *b)
{
	buf_puts(b, "\nscalars\n");
	for (int i = 0; i < m->nscalars; i++) {
		buf_puts(b, "  ");
		buf_shown(b, m->scalar[i].name);
		buf_puts(b, ": ");
		put_cut(b, m->scalar[i].value);
		buf_putc(b, '\n');
	}
}

static void put_head(const struct ckpt_tool *t, int i, const struct manifest *m, struct buf *b)
{
	buf_printf(b, "version   %s\nrun       %s, save %" PRId64 "\nstep      %" PRId64 ", epoch %"
	           PRId64 "\ntime      ",
	           version_bare_id(t->history.v[i].id), *m->run ? m->run : "-", m->serial,
	           m->step, m->epoch);
	put_time(b, m->time);
	buf_putc(b, '\n');
	put_parents(t, i, b);
	buf_printf(b, "ranks     %d\n", m->ranks);
	put_line(b, "program", m->program);
	put_line(b, "data", m->data);
	buf_puts(b, m->nmetrics ? "metrics " : "metrics   -");
	put_metrics(m, b);
	buf_puts(b, "\nnames   ");
	put_names(t, i, b);
	buf_putc(b, '\n');
}

static void put_row(struct text_table *table, int row, const char *const *cell)
{
	struct buf b = BUF_INIT;
	for (int k = 0; k < table->columns; k++) {
		buf_shown(&b, cell[k]);
		text_table_put(table, row, k, &b);
	}
	buf_release(&b);
}

static const char *bytes(struct ckpt_tool *t, uint64_t n)
{
	struct buf b = BUF_INIT;
	const char *text;
	put_bytes(&b, n);
	text = arena_strdup(t->a, b.data);
	buf_release(&b);
	return text;
}

static const char *stored(struct ckpt_tool *t, struct size s)
{
	return s.missing ? "missing" : bytes(t, s.stored);
}

static void print_tensors(struct ckpt_tool *t, const struct manifest *m,
                          const struct chunk_table *chunks)
{
	struct text_table table = text_table_new(t->a, m->ntensors + 2, 6);
	struct size all = { 0 };
	char shape[SHAPE_TEXT];
	table.left[0] = table.left[1] = table.left[2] = true;
	put_row(&table, 0, (const char *[]){ "tensor", "use", "type", "shape", "bytes", "stored" });
	for (int i = 0; i < m->ntensors; i++) {
		const struct manifest_tensor *x = &m->tensor[i];
		const struct size s = size_of(chunks, x);
		add(&all, s);
		put_row(&table, i + 1, (const char *[]){ x->name, x->weight ? "weight" : "state",
		                                         dtype_name(x->dtype), shape_text(&x->shape, shape),
		                                         bytes(t, s.raw),
		                                         stored(t, s) });
	}
	put_row(&table, m->ntensors + 1, (const char *[]){
		arena_printf(t->a, "%d tensors", m->ntensors), "", "", "", bytes(t, all.raw),
		stored(t, all) });
	text_table_print(&table);
}

/* --- JSON --- */

static void put_json_tensors(const struct manifest *m, const struct chunk_table *chunks,
                             struct buf *b)
{
	buf_puts(b, ", \"tensors\": [");
	for (int i = 0; i < m->ntensors; i++) {
		const struct manifest_tensor *x = &m->tensor[i];
		const struct size s = size_of(chunks, x);
		buf_puts(b, i ? ", {\"name\": " : "{\"name\": ");
		buf_json_string(b, x->name);
		buf_printf(b, ", \"use\": \"%s\", \"type\": \"%s\", \"shape\": [",
		           x->weight ? "weight" : "state", dtype_name(x->dtype));
		for (int k = 0; k < x->shape.nd; k++)
			buf_printf(b, "%s%" PRId64, k ? ", " : "", x->shape.d[k]);
		buf_printf(b, "], \"bytes\": %" PRIu64, s.raw);
		buf_printf(b, ", \"stored\": %" PRIu64 ", \"missing_chunks\": %d", s.stored, s.missing);
		buf_puts(b, ", \"chunks\": [");
		for (int64_t k = 0; k < x->nchunks; k++) {
			char text[HASH128_TEXT];
			buf_printf(b, "%s\"%s\"", k ? ", " : "", hash128_text(x->chunk[k], text));
		}
		buf_puts(b, "]}");
	}
	buf_puts(b, "]");
}

static void put_json(const struct ckpt_tool *t, int i, const struct manifest *m,
                     const struct chunk_table *chunks, struct buf *b)
{
	buf_puts(b, "{");
	put_version_json(t, i, b);
	buf_printf(b, ", \"format\": %d", MANIFEST_FORMAT);
	put_json_text(b, "program", m->program);
	put_json_text(b, "data", m->data);
	put_json_text(b, "config", m->config);
	buf_puts(b, ", \"scalars\": {");
	for (int k = 0; k < m->nscalars; k++) {
		buf_puts(b, k ? ", " : "");
		buf_json_string(b, m->scalar[k].name);
		buf_puts(b, ": ");
		buf_json_string(b, m->scalar[k].value);
	}
	buf_puts(b, "}");
	put_json_tensors(m, chunks, b);
	buf_puts(b, "}\n");
}

static void show(struct ckpt_tool *t, int i, const struct manifest *m,
                 const struct chunk_table *chunks)
{
	struct buf b = BUF_INIT;
	if (t->json)
		put_json(t, i, m, chunks, &b);
	else
		put_head(t, i, m, &b);
	if (!t->json && m->nscalars)
		put_scalars(m, &b);
	print_buf(&b);
	buf_release(&b);
	if (t->json)
		return;
	printf("\n");
	print_tensors(t, m, chunks);
}

int ckpt_show(struct ckpt_tool *t)
{
	struct manifest m;
	struct chunk_table *chunks;
	int i;
	TRY(tool_find(t, t->arg[0], &i));
	TRY(tool_manifest(t, i, &m));
	if (t->config && !t->json) {
		fputs(m.config, stdout);
		return 0;
	}
	TRY(tool_packs(t));
	chunks = chunk_table_new(t->packs);
	show(t, i, &m, chunks);
	chunk_table_free(chunks);
	return 0;
}
