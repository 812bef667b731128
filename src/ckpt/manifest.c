/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The manifest as text and back. */
#include "ckpt/manifest.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "ckpt/packs.h"
#include "ckpt/sealed.h"
#include "ckpt/version_id.h"

#define NAME "dlx checkpoint"

void manifest_id(const struct manifest *m, char id[CKPT_ID])
{
	snprintf(id, CKPT_ID, "%012" PRId64 "-%08" PRIx32, m->step, (uint32_t)(m->hash.high >> 32));
}

size_t manifest_bytes(const struct manifest_tensor *t)
{
	return (size_t)shape_count(&t->shape) * dtype_size(t->dtype);
}

int64_t manifest_chunks(const struct manifest_tensor *t)
{
	return (int64_t)((manifest_bytes(t) + CHUNK_RAW - 1) / CHUNK_RAW);
}

size_t manifest_chunk_bytes(const struct manifest_tensor *t, int64_t k)
{
	const size_t left = manifest_bytes(t) - (size_t)k * CHUNK_RAW;
	return left < CHUNK_RAW ? left : CHUNK_RAW;
}

static const char *byte_order(void)
{
	const uint16_t one = 1;
	uint8_t first;
	memcpy(&first, &one, 1);
	return first ? "little" : "big";
}

/* --- writing --- */

static void put_key(struct buf *out, const char *key)
{
	buf_printf(out, ",\n  \"%s\": ", key);
}

static void put_string(struct buf *out, const char *key, const char *value)
{
	put_key(out, key);
	buf_json_string(out, value ? value : "");
}

static void put_number(struct buf *out, const char *key, int64_t value)
{
	put_key(out, key);
	buf_printf(out, "%" PRId64, value);
}

static void put_parents(struct buf *out, const struct manifest *m)
{
	put_key(out, "parents");
	for (int i = 0; i < m->nparents; i++) {
		buf_puts(out, i ? ", " : "[");
		buf_json_string(out, m->parent[i]);
	}
	buf_puts(out, m->nparents ? "]" : "[]");
	put_key(out, "fork");
	buf_puts(out, m->fork ? "true" : "false");
}

void manifest_put_metrics(struct buf *out, const struct manifest *m)
{
	buf_putc(out, '{');
	for (int i = 0; i < m->nmetrics; i++) {
		buf_puts(out, i ? ", " : "");
		buf_json_string(out, m->metrics[i].name);
		buf_puts(out, ": ");
		buf_json_double(out, m->metrics[i].value);
	}
	buf_putc(out, '}');
}

static void put_metrics(struct buf *out, const struct manifest *m)
{
	put_key(out, "metric");
	if (m->metric_name && isfinite(m->metric)) {
		buf_putc(out, '{');
		buf_json_string(out, m->metric_name);
		buf_puts(out, ": ");
		buf_json_double(out, m->metric);
		buf_putc(out, '}');
	} else
		buf_puts(out, "null");
	put_key(out, "metrics");
	manifest_put_metrics(out, m);
}

static void put_scalars(struct buf *out, const struct manifest *m)
{
	put_key(out, "scalars");
	buf_putc(out, '{');
	for (int i = 0; i < m->nscalars; i++) {
		buf_puts(out, i ? ",\n    " : "\n    ");
		buf_json_string(out, m->scalar[i].name);
		buf_puts(out, ": ");
		buf_json_string(out, m->scalar[i].value);
	}
	buf_puts(out, m->nscalars ? "\n  }" : "}");
}

static void put_tensor(struct buf *out, const struct manifest_tensor *t)
{
	char text[HASH128_TEXT];
	buf_puts(out, "    {\"name\": ");
	buf_json_string(out, t->name);
	buf_printf(out, ", \"type\": \"%s\", \"shape\": [", dtype_name(t->dtype));
	for (int i = 0; i < t->shape.nd; i++)
		buf_printf(out, "%s%" PRId64, i ? ", " : "", t->shape.d[i]);
	buf_printf(out, "], \"use\": \"%s\", \"chunks\": [", t->weight ? "weight" : "state");
	for (int64_t i = 0; i < t->nchunks; i++)
		buf_printf(out, "%s\"%s\"", i ? ", " : "", hash128_text(t->chunk[i], text));
	buf_puts(out, "]}");
}

static void put_tensors(struct buf *out, const struct manifest *m)
{
	put_key(out, "tensors");
	buf_putc(out, '[');
	for (int i = 0; i < m->ntensors; i++) {
		buf_puts(out, i ? ",\n" : "\n");
		put_tensor(out, &m->tensor[i]);
	}
	buf_puts(out, m->ntensors ? "\n  ]" : "]");
}

void manifest_write(struct buf *out, struct manifest *m)
{
	const size_t start = out->len;
	buf_printf(out, "{\n  \"format\": \"" NAME " %d\"", MANIFEST_FORMAT);
	put_string(out, "byte_order", byte_order());
	put_string(out, "run", m->run);
	put_number(out, "serial", m->serial);
	put_number(out, "step", m->step);
	put_number(out, "epoch", m->epoch);
	put_number(out, "time", m->time);
	put_parents(out, m);
	put_metrics(out, m);
	put_scalars(out, m);
	put_string(out, "config", m->config);
	put_string(out, "program", m->program);
	put_number(out, "ranks", m->ranks);
	put_string(out, "data", m->data);
	put_tensors(out, m);
	m->hash = sealed_end(out, start);
}

/* --- reading --- */

struct reader {
	struct arena *a;
	const char *file;
};

static int list_of(const struct json **out, const struct reader *r, const struct json *map,
                   const char *key, enum json_kind kind)
{
	TRY(sealed_find(out, r->file, map, key));
	if ((*out)->kind != kind)
		return sealed_wrong(r->file, *out, key, kind == JSON_ARRAY ? "a list" : "a map");
	return 0;
}

static int read_parents(struct manifest *m, const struct reader *r, const struct json *root)
{
	const struct json *list, *fork;
	TRY(list_of(&list, r, root, "parents", JSON_ARRAY));
	const char **parent = ARENA_ARRAY(r->a, const char *, list->n);
	for (int i = 0; i < list->n; i++) {
		const struct json *v = list->item[i];
		if (v->kind != JSON_STRING || !version_valid_id(v->text))
			return sealed_wrong(r->file, v, "parents", "ids of checkpoints");
		parent[i] = v->text;
	}
	m->parent = parent;
	m->nparents = list->n;
	TRY(sealed_find(&fork, r->file, root, "fork"));
	if (fork->kind != JSON_TRUE && fork->kind != JSON_FALSE)
		return sealed_wrong(r->file, fork, "fork", "true or false");
	m->fork = fork->kind == JSON_TRUE;
	return 0;
}

static int read_metric(struct manifest *m, const struct reader *r, const struct json *root)
{
	const struct json *v;
	TRY(sealed_find(&v, r->file, root, "metric"));
	m->metric = NAN;
	if (v->kind == JSON_NULL)
		return 0;
	if (v->kind != JSON_OBJECT || v->n != 1 || !json_double(v->item[0], &m->metric) ||
	    !isfinite(m->metric))
		return sealed_wrong(r->file, v, "metric", "null or a map of one name to a number");
	m->metric_name = v->item[0]->key;
	return 0;
}

static int read_metrics(struct manifest *m, const struct reader *r, const struct json *root)
{
	const struct json *map;
	TRY(list_of(&map, r, root, "metrics", JSON_OBJECT));
	struct ckpt_metric *metric = ARENA_ARRAY(r->a, struct ckpt_metric, map->n);
	for (int i = 0; i < map->n; i++) {
		metric[i].name = map->item[i]->key;
		if (!json_double(map->item[i], &metric[i].value) || !isfinite(metric[i].value))
			return sealed_wrong(r->file, map->item[i], metric[i].name, "a number");
	}
	m->metrics = metric;
	m->nmetrics = map->n;
	return 0;
}

static int read_scalars(struct manifest *m, const struct reader *r, const struct json *root)
{
	const struct json *map;
	TRY(list_of(&map, r, root, "scalars", JSON_OBJECT));
	struct ckpt_scalar *scalar = ARENA_ARRAY(r->a, struct ckpt_scalar, map->n);
	for (int i = 0; i < map->n; i++) {
		if (map->item[i]->kind != JSON_STRING)
			return sealed_wrong(r->file, map->item[i], map->item[i]->key, "a string");
		scalar[i] = (struct ckpt_scalar){ map->item[i]->key, map->item[i]->text };
	}
	m->scalar = scalar;
	m->nscalars = map->n;
	return 0;
}

/* The product of the sizes and of the element's is an int64_t. */
static int read_shape(struct shape *out, const struct reader *r, const struct json *tensor,
                      enum dtype type)
{
	const struct json *list;
	int64_t bytes = (int64_t)dtype_size(type);
	TRY(list_of(&list, r, tensor, "shape", JSON_ARRAY));
	if (list->n > MAXD)
		return sealed_wrong(r->file, list, "shape", "fewer axes");
	*out = (struct shape){ .nd = list->n };
	for (int i = 0; i < list->n; i++)
		if (!json_int(list->item[i], &out->d[i]) || out->d[i] < 0 ||
		    __builtin_mul_overflow(bytes, out->d[i] ? out->d[i] : 1, &bytes) ||
		    bytes > INT64_MAX / 4)
			return sealed_wrong(r->file, list->item[i], "shape", "a possible size");
	return 0;
}

static int read_chunks(struct manifest_tensor *t, const struct reader *r,
                       const struct json *tensor)
{
	const struct json *list;
	TRY(list_of(&list, r, tensor, "chunks", JSON_ARRAY));
	if (list->n != manifest_chunks(t))
		return sealed_wrong(r->file, list, "chunks", "as many as the tensor has");
	struct hash128 *chunk = ARENA_ARRAY(r->a, struct hash128, list->n);
	for (int i = 0; i < list->n; i++) {
		const struct json *v = list->item[i];
		if (v->kind != JSON_STRING || strlen(v->text) != HASH128_TEXT - 1 ||
		    !hash128_parse(v->text, &chunk[i]))
			return sealed_wrong(r->file, v, "chunks", "addresses of 32 hexadecimal digits");
	}
	t->chunk = chunk;
	t->nchunks = list->n;
	return 0;
}

static int read_tensor(struct manifest_tensor *t, const struct reader *r, const struct json *v)
{
	const char *type, *use;
	if (v->kind != JSON_OBJECT)
		return sealed_wrong(r->file, v, "tensors", "maps");
	TRY(sealed_string(&t->name, r->file, v, "name"));
	TRY(sealed_string(&type, r->file, v, "type"));
	const int found = dtype_find(type);
	if (found < 0)
		return sealed_wrong(r->file, v, "type", "a type of elements");
	t->dtype = (enum dtype)found;
	TRY(read_shape(&t->shape, r, v, t->dtype));
	TRY(sealed_string(&use, r->file, v, "use"));
	t->weight = strcmp(use, "weight") == 0;
	if (!t->weight && strcmp(use, "state") != 0)
		return sealed_wrong(r->file, v, "use", "weight or state");
	return read_chunks(t, r, v);
}

/* All tensors together fit in memory as far as arithmetic goes. */
static int read_tensors(struct manifest *m, const struct reader *r, const struct json *root)
{
	const struct json *list;
	int64_t sum = 0;
	TRY(list_of(&list, r, root, "tensors", JSON_ARRAY));
	struct manifest_tensor *t = ARENA_ARRAY(r->a, struct manifest_tensor, list->n);
	for (int i = 0; i < list->n; i++) {
		TRY(read_tensor(&t[i], r, list->item[i]));
		const int64_t bytes = shape_count(&t[i].shape) * (int64_t)dtype_size(t[i].dtype);
		if (__builtin_add_overflow(sum, bytes, &sum) || sum > INT64_MAX / 4)
			return sealed_wrong(r->file, list->item[i], "tensors", "fewer bytes");
	}
	m->tensor = t;
	m->ntensors = list->n;
	return 0;
}

static int read_byte_order(const struct reader *r, const struct json *root)
{
	const char *order;
	TRY(sealed_string(&order, r->file, root, "byte_order"));
	if (strcmp(order, byte_order()) != 0)
		return ERR(E_DATA, NULL, "'%s': its tensors have the byte order '%.20s', this machine has "
		           "'%s'", r->file, order, byte_order());
	return 0;
}

static int read_origin(struct manifest *m, const struct reader *r, const struct json *root)
{
	int64_t ranks;
	TRY(sealed_string(&m->config, r->file, root, "config"));
	TRY(sealed_string(&m->program, r->file, root, "program"));
	TRY(sealed_string(&m->data, r->file, root, "data"));
	TRY(sealed_count(&ranks, r->file, root, "ranks"));
	m->ranks = ranks < INT32_MAX ? (int)ranks : INT32_MAX;
	return 0;
}

int manifest_parse(struct manifest *m, struct arena *a, const char *file,
                   const char *text, size_t size)
{
	const struct reader r = { a, file };
	struct json *root;
	*m = (struct manifest){ 0 };
	TRY(sealed_parse(&root, &m->hash, a, file, text, size));
	TRY(sealed_format(file, root, NAME, MANIFEST_FORMAT));
	TRY(read_byte_order(&r, root));
	TRY(sealed_string(&m->run, file, root, "run"));
	TRY(sealed_count(&m->serial, file, root, "serial"));
	TRY(sealed_count(&m->step, file, root, "step"));
	TRY(sealed_count(&m->epoch, file, root, "epoch"));
	TRY(sealed_count(&m->time, file, root, "time"));
	TRY(read_parents(m, &r, root));
	TRY(read_metric(m, &r, root));
	TRY(read_metrics(m, &r, root));
	TRY(read_scalars(m, &r, root));
	TRY(read_origin(m, &r, root));
	return read_tensors(m, &r, root);
}

/* --- files --- */

static int check_id(const struct manifest *m, const char *path, const char *id)
{
	char is[CKPT_ID];
	manifest_id(m, is);
	return strcmp(is, id) == 0 ? 0 : ERR(E_DATA, NULL, "'%s' belongs to version '%s'", path, is);
}

int manifest_read(struct manifest *m, struct arena *a, struct disk *d, const char *path,
                  const char *id)
{
	struct buf text = BUF_INIT;
	int rc = disk_read_file(d, path, &text);
	if (rc == 0)
		rc = manifest_parse(m, a, path, text.data, text.len);
	buf_release(&text);
	TRY(rc);
	return id ? check_id(m, path, id) : 0;
}

/* Draws another id while a file of that name exists, because no file is ever overwritten: a run
 * that is repeated after its last version was damaged would get the id of that version again, and
 * different hashes can have the same eight digits. */
static void make_text(struct manifest *m, struct disk *d, const char *folder, struct buf *text,
                      char id[CKPT_ID], char **path)
{
	*path = NULL;
	do {
		struct buf name = BUF_INIT;
		mem_free(*path);
		m->serial++;
		buf_clear(text);
		manifest_write(text, m);
		manifest_id(m, id);
		buf_printf(&name, "%s/%s" MANIFEST_SUFFIX, folder, id);
		*path = buf_detach(&name);
	} while (disk_exists(d, *path));
}

int manifest_publish(struct manifest *m, struct disk *d, const char *root, char id[CKPT_ID],
                     char **path, uint64_t *bytes)
{
	char *folder = io_join(root, VERSIONS_FOLDER);
	struct buf text = BUF_INIT;
	int rc = disk_mkdirs(d, folder);
	*path = NULL;
	if (rc == 0) {
		make_text(m, d, folder, &text, id, path);
		io_crash_point("ckpt_manifest");
		rc = disk_write_file(d, *path, text.data, text.len);
	}
	if (rc < 0) {
		mem_free(*path);
		*path = NULL;
	}
	*bytes = text.len;
	buf_release(&text);
	mem_free(folder);
	return rc;
}
