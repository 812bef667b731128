/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The manifest as text and back. Verification comes first: the fixed-size tail holds the hash of
 * all the rest, so that parsing works on text that is what was written. The parser is strict
 * nevertheless, since a file from elsewhere may carry a correct hash. */
#include "ckpt/manifest.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"

#define FORMAT "dlx checkpoint 1"
#define TAIL_HEAD ",\n  \"hash\": \""
#define TAIL_END "\"\n}\n"
#define TAIL (sizeof TAIL_HEAD - 1 + 16 + sizeof TAIL_END - 1)

const char *const ckpt_file_names[CKPT_NFILES] = {
	"weights.safetensors.zst", "state.safetensors.zst"
};

void manifest_id(const struct manifest *m, char id[CKPT_ID])
{
	snprintf(id, CKPT_ID, "%012" PRId64 "-%08" PRIx32, m->step, (uint32_t)(m->hash >> 32));
}

/* --- writing --- */

static void put_metric(struct buf *out, const struct manifest *m)
{
	if (!m->metric_name || !isfinite(m->metric)) {
		buf_puts(out, "null");
		return;
	}
	buf_putc(out, '{');
	buf_json_string(out, m->metric_name);
	buf_puts(out, ": ");
	buf_json_double(out, m->metric);
	buf_putc(out, '}');
}

static void put_scalars(struct buf *out, const struct manifest *m)
{
	for (int i = 0; i < m->nscalars; i++) {
		buf_puts(out, i ? ",\n    " : "\n    ");
		buf_json_string(out, m->scalar[i].name);
		buf_puts(out, ": ");
		buf_json_string(out, m->scalar[i].value);
	}
	if (m->nscalars)
		buf_puts(out, "\n  ");
}

static void put_files(struct buf *out, const struct manifest *m)
{
	for (int i = 0; i < CKPT_NFILES; i++) {
		const struct manifest_file *f = &m->file[i];
		buf_printf(out, "%s    \"%s\": {\"bytes\": %" PRIu64 ", \"hash\": \"%016" PRIx64 "\", "
		           "\"raw_bytes\": %" PRIu64 ", \"raw_hash\": \"%016" PRIx64 "\"}",
		           i ? ",\n" : "", ckpt_file_names[i], f->bytes, f->hash, f->raw_bytes,
		           f->raw_hash);
	}
}

void manifest_write(struct buf *out, struct manifest *m)
{
	size_t start = out->len;
	buf_printf(out, "{\n  \"format\": \"%s\",\n  \"serial\": %" PRId64 ",\n  \"step\": %" PRId64
	           ",\n  \"epoch\": %" PRId64 ",\n  \"parent\": ", FORMAT, m->serial, m->step,
	           m->epoch);
	if (m->parent)
		buf_json_string(out, m->parent);
	else
		buf_puts(out, "null");
	buf_puts(out, ",\n  \"metric\": ");
	put_metric(out, m);
	buf_puts(out, ",\n  \"scalars\": {");
	put_scalars(out, m);
	buf_puts(out, "},\n  \"files\": {\n");
	put_files(out, m);
	buf_puts(out, "\n  }");
	m->hash = hash_bytes(out->data + start, out->len - start, 0);
	buf_printf(out, TAIL_HEAD "%016" PRIx64 TAIL_END, m->hash);
}

/* --- reading --- */

static int wrong(const char *file, const struct json *v, const char *key, const char *expected)
{
	return ERR(E_DATA, NULL, "'%s': byte %zu: '%s': expected %s", file, v->at, key, expected);
}

/* Sixteen lower-case hexadecimal digits, as written by us. */
static bool read_hash(const char *s, uint64_t *out)
{
	*out = 0;
	for (int i = 0; i < 16; i++) {
		const char *digits = "0123456789abcdef", *hit = s[i] ? strchr(digits, s[i]) : NULL;
		if (!hit)
			return false;
		*out = *out << 4 | (uint64_t)(hit - digits);
	}
	return true;
}

static int check_tail(struct manifest *m, const char *file, const char *text, size_t size)
{
	const char *tail = size > TAIL ? text + size - TAIL : NULL;
	uint64_t hash;
	if (!tail || memcmp(tail, TAIL_HEAD, sizeof TAIL_HEAD - 1) != 0 ||
	    memcmp(text + size - (sizeof TAIL_END - 1), TAIL_END, sizeof TAIL_END - 1) != 0 ||
	    !read_hash(tail + sizeof TAIL_HEAD - 1, &m->hash))
		return ERR(E_DATA, NULL, "'%s': %zu bytes without the end of a checkpoint manifest",
		           file, size);
	hash = hash_bytes(text, size - TAIL, 0);
	if (hash != m->hash)
		return ERR(E_DATA, NULL, "'%s': damaged: its hash is %016" PRIx64
		           ", but it says %016" PRIx64, file, hash, m->hash);
	return 0;
}

static int find(const struct json **out, const char *file, const struct json *map, const char *key)
{
	*out = json_find(map, key);
	if (!*out)
		return ERR(E_DATA, NULL, "'%s': byte %zu: '%s' is missing", file, map->at, key);
	return 0;
}

static int read_count(int64_t *out, const char *file, const struct json *map, const char *key)
{
	const struct json *v;
	TRY(find(&v, file, map, key));
	if (!json_int(v, out) || *out < 0 || *out > INT64_MAX / 2)
		return wrong(file, v, key, "an integer of 0 or more");
	return 0;
}

static int read_size(uint64_t *out, const char *file, const struct json *map, const char *key)
{
	const struct json *v;
	TRY(find(&v, file, map, key));
	if (!json_uint(v, out) || *out > SIZE_MAX / 2)
		return wrong(file, v, key, "a number of bytes");
	return 0;
}

static int read_file_hash(uint64_t *out, const char *file, const struct json *map, const char *key)
{
	const struct json *v;
	TRY(find(&v, file, map, key));
	if (v->kind != JSON_STRING || strlen(v->text) != 16 || !read_hash(v->text, out))
		return wrong(file, v, key, "sixteen hexadecimal digits");
	return 0;
}

static int read_files(struct manifest *m, const char *file, const struct json *map)
{
	if (map->kind != JSON_OBJECT || map->n != CKPT_NFILES)
		return wrong(file, map, "files", "a map of two files");
	for (int i = 0; i < CKPT_NFILES; i++) {
		struct manifest_file *f = &m->file[i];
		const struct json *v;
		TRY(find(&v, file, map, ckpt_file_names[i]));
		TRY(read_size(&f->bytes, file, v, "bytes"));
		TRY(read_file_hash(&f->hash, file, v, "hash"));
		TRY(read_size(&f->raw_bytes, file, v, "raw_bytes"));
		TRY(read_file_hash(&f->raw_hash, file, v, "raw_hash"));
	}
	return 0;
}

static int read_metric(struct manifest *m, const char *file, const struct json *v)
{
	m->metric = NAN;
	if (v->kind == JSON_NULL)
		return 0;
	if (v->kind != JSON_OBJECT || v->n != 1 || !json_double(v->item[0], &m->metric) ||
	    !isfinite(m->metric))
		return wrong(file, v, "metric", "null or a map of one name to a number");
	m->metric_name = v->item[0]->key;
	return 0;
}

static int read_scalars(struct manifest *m, struct arena *a, const char *file,
                        const struct json *map)
{
	struct ckpt_scalar *scalar;
	if (map->kind != JSON_OBJECT)
		return wrong(file, map, "scalars", "a map of strings");
	scalar = ARENA_ARRAY(a, struct ckpt_scalar, map->n);
	for (int i = 0; i < map->n; i++) {
		if (map->item[i]->kind != JSON_STRING)
			return wrong(file, map->item[i], map->item[i]->key, "a string");
		scalar[i] = (struct ckpt_scalar){ map->item[i]->key, map->item[i]->text };
	}
	m->scalar = scalar;
	m->nscalars = map->n;
	return 0;
}

static int read_format(const char *file, const struct json *root)
{
	const struct json *v;
	TRY(find(&v, file, root, "format"));
	if (v->kind != JSON_STRING || strcmp(v->text, FORMAT) != 0)
		return ERR(E_DATA, NULL, "'%s': byte %zu: format '%.40s' is not '" FORMAT "'", file,
		           v->at, v->text);
	return 0;
}

int manifest_parse(struct manifest *m, struct arena *a, const char *file,
                   const char *text, size_t size)
{
	const struct json *v;
	struct json *root;
	memset(m, 0, sizeof *m);
	TRY(check_tail(m, file, text, size));
	TRY(json_parse(&root, a, file, 0, text, size));
	if (root->kind != JSON_OBJECT)
		return ERR(E_DATA, NULL, "'%s': not a map", file);
	TRY(read_format(file, root));
	TRY(read_count(&m->serial, file, root, "serial"));
	TRY(read_count(&m->step, file, root, "step"));
	TRY(read_count(&m->epoch, file, root, "epoch"));
	TRY(find(&v, file, root, "parent"));
	if (v->kind != JSON_STRING && v->kind != JSON_NULL)
		return wrong(file, v, "parent", "an id or null");
	m->parent = v->kind == JSON_STRING ? v->text : NULL;
	TRY(find(&v, file, root, "metric"));
	TRY(read_metric(m, file, v));
	TRY(find(&v, file, root, "scalars"));
	TRY(read_scalars(m, a, file, v));
	TRY(find(&v, file, root, "files"));
	return read_files(m, file, v);
}
