/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Both versions of the metadata are read into one description. */
#include "data-tools/source/zarr/zarr_meta.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"

#define CHUNK_MOST ((uint64_t)INT32_MAX)     /* bytes, as in blosc */
#define EXTENT_MOST ((uint64_t)1 << 48)

struct text {
	const char *file;            /* in the arena */
	const struct json *root;
};

/* --- files --- */

/* Python writes NaN and infinities, which JSON has not: they become texts. */
static void quote_numbers(const struct buf *in, struct buf *out)
{
	static const char *const words[] = { "NaN", "Infinity", "-Infinity" };
	bool string = false;
	for (const char *p = in->data; p < in->data + in->len; p++) {
		size_t n = 0;

		for (int i = 0; !string && i < 3; i++)
			if (strncmp(p, words[i], strlen(words[i])) == 0)
				n = strlen(words[i]);
		if (n) {
			buf_printf(out, "\"%.*s\"", (int)n, p);
			p += n - 1;
			continue;
		}
		if (string && *p == '\\' && p[1])
			buf_putc(out, *p++);
		else if (*p == '"')
			string = !string;
		buf_putc(out, *p);
	}
}

static int read_json(struct text *out, struct arena *a, const struct zarr_store *st,
                     const char *folder, const char *name)
{
	struct buf in = BUF_INIT, quoted = BUF_INIT;
	struct json *root = NULL;
	int rc;
	out->file = arena_printf(a, "%s/%s", folder, name);
	rc = zarr_store_text(st, out->file, &in);
	if (rc == 0) {
		quote_numbers(&in, &quoted);
		rc = json_parse(&root, a, out->file, 0, quoted.data, quoted.len);
	}
	out->root = root;
	if (rc == 0 && root->kind != JSON_OBJECT)
		rc = ERR(E_DATA, NULL, "'%s': no object", out->file);
	buf_release(&in);
	buf_release(&quoted);
	return rc;
}

static bool has_file(const struct zarr_store *st, const char *folder, const char *name)
{
	char *path = io_join(folder, name);
	const bool is = zarr_store_has_file(st, path);
	mem_free(path);
	return is;
}

/* what: of the member `key`, if it is there, else of the whole. */
static int bad(const struct text *t, const struct json *at, const char *what)
{
	return ERR(E_DATA, NULL, "'%s', byte %zu: %s%s%s%s", t->file, at ? at->at : t->root->at,
	           at && at->key ? "'" : "", at && at->key ? at->key : "", at && at->key ? "': " : "",
	           what);
}

static int unsupported(const struct text *t, const char *what, const char *name)
{
	return ERR(E_DATA, NULL, "'%s': %s '%s' is not supported", t->file, what, name);
}

static const char *string_of(const struct json *v)
{
	return v && v->kind == JSON_STRING ? v->text : NULL;
}

/* NULL has no members. */
static const struct json *member(const struct json *v, const char *key)
{
	return v ? json_find(v, key) : NULL;
}

static bool is_version(const struct text *t, uint64_t wanted)
{
	const struct json *v = member(t->root, "zarr_format");
	uint64_t version;
	return v && json_uint(v, &version) && version == wanted;
}

static bool is_none(const struct json *v)
{
	return !v || v->kind == JSON_NULL || (v->kind == JSON_ARRAY && v->n == 0);
}

int zarr_node(const struct zarr_store *st, const char *folder, enum zarr_node *out)
{
	struct arena *a;
	struct text t;
	int rc;
	*out = has_file(st, folder, ".zarray") ? ZARR_ARRAY :
	       has_file(st, folder, ".zgroup") || has_file(st, folder, ".zmetadata") ? ZARR_GROUP :
	       ZARR_NONE;
	if (*out != ZARR_NONE || !has_file(st, folder, "zarr.json"))
		return 0;
	a = arena_new();
	rc = read_json(&t, a, st, folder, "zarr.json");
	if (rc == 0) {
		const char *type = string_of(member(t.root, "node_type"));

		*out = type && strcmp(type, "array") == 0 ? ZARR_ARRAY : ZARR_GROUP;
		if (!type || (*out == ZARR_GROUP && strcmp(type, "group") != 0))
			rc = bad(&t, member(t.root, "node_type"), "neither an array nor a group");
	}
	arena_free(a);
	return rc;
}

/* --- what both versions have --- */

static int read_extents(const struct text *t, const struct json *v, uint64_t least,
                        struct shape *out)
{
	if (!v || v->kind != JSON_ARRAY)
		return bad(t, v, "no list of extents");
	if (v->n > MAXD)
		return bad(t, v, "too many axes");
	out->nd = v->n;
	for (int i = 0; i < v->n; i++) {
		uint64_t n;

		if (!json_uint(v->item[i], &n) || n < least || n > EXTENT_MOST)
			return bad(t, v, "an extent is no whole number, or beyond all bounds");
		out->d[i] = (int64_t)n;
	}
	return 0;
}

static bool product(const struct shape *s, size_t size, uint64_t *out)
{
	*out = size;
	for (int i = 0; i < s->nd; i++)
		if (__builtin_mul_overflow(*out, (uint64_t)s->d[i], out))
			return false;
	return true;
}

uint64_t zarr_chunk_bytes(const struct zarr_meta *m)
{
	uint64_t n = 0;
	return product(&m->chunk, m->element.size, &n) ? n : UINT64_MAX;
}

uint64_t zarr_bytes(const struct zarr_meta *m)
{
	uint64_t n = 0;
	return product(&m->shape, m->element.size, &n) ? n : UINT64_MAX;
}

static int read_shapes(const struct text *t, const struct json *shape, const struct json *chunk,
                       struct zarr_meta *m)
{
	TRY(read_extents(t, shape, 0, &m->shape));
	TRY(read_extents(t, chunk, 1, &m->chunk));
	if (m->shape.nd != m->chunk.nd)
		return bad(t, chunk, "not as many extents as the array has axes");
	m->shard = m->chunk;
	if (zarr_bytes(m) > EXTENT_MOST)
		return bad(t, shape, "beyond all bounds");
	return 0;
}

static int check_chunk(const struct text *t, const struct json *chunk, const struct zarr_meta *m)
{
	return zarr_chunk_bytes(m) > CHUNK_MOST ? bad(t, chunk, "a chunk of 2 GiB or more") : 0;
}

static bool special_number(const char *text, double *out)
{
	*out = strcmp(text, "NaN") == 0 ? NAN : strcmp(text, "Infinity") == 0 ? INFINITY : -INFINITY;
	return isnan(*out) || *out > 0 || strcmp(text, "-Infinity") == 0;
}

static void set_bits(struct zarr_meta *m, uint64_t bits)
{
	for (size_t i = 0; i < sizeof m->fill; i++)
		m->fill[i] = i < m->element.size ? (uint8_t)(bits >> 8 * i) : 0;
	m->has_fill = true;
}

static int set_number(const struct text *t, const struct json *v, struct zarr_meta *m)
{
	int64_t whole;
	uint64_t bits;
	double x;
	if (!dtype_is_float(m->element.dtype) && json_int(v, &whole)) {
		set_bits(m, (uint64_t)whole);
	} else if (!dtype_is_float(m->element.dtype) && json_uint(v, &bits)) {
		set_bits(m, bits);
	} else if (json_double(v, &x)) {
		dtype_set(m->element.dtype, m->fill, 0, x);
		m->has_fill = true;
	} else {
		return bad(t, v, "no number");
	}
	return 0;
}

/* v NULL or null: none. */
static int read_fill(const struct text *t, const struct json *v, struct zarr_meta *m)
{
	const char *text = string_of(v);
	char *end;
	double x;
	if (!v || v->kind == JSON_NULL)
		return 0;
	if (v->kind == JSON_TRUE || v->kind == JSON_FALSE) {
		set_bits(m, v->kind == JSON_TRUE);
		return 0;
	}
	if (v->kind == JSON_NUMBER)
		return set_number(t, v, m);
	if (text && dtype_is_float(m->element.dtype) && special_number(text, &x)) {
		dtype_set(m->element.dtype, m->fill, 0, x);
		m->has_fill = true;
		return 0;
	}
	if (!text || strncmp(text, "0x", 2) != 0 || strlen(text) != 2 + 2 * m->element.size)
		return bad(t, v, "no value of the array's type");
	set_bits(m, strtoull(text + 2, &end, 16));
	return *end ? bad(t, v, "no value of the array's type") : 0;
}

static int read_axes(const struct text *t, const struct json *names, struct zarr_meta *m)
{
	if (is_none(names))
		return 0;
	if (names->kind != JSON_ARRAY || names->n != m->shape.nd)
		return bad(t, names, "not as many names as the array has axes");
	for (int i = 0; i < names->n; i++) {
		const char *name = string_of(names->item[i]);

		m->axis[i] = name && *name ? name : NULL;
	}
	return 0;
}

static int add_codec(const struct text *t, const char *name, struct zarr_meta *m)
{
	enum zarr_codec *c = &m->codec[m->ncodecs];
	int packers = 0;
	if (!zarr_codec_find(c, name))
		return unsupported(t, "the codec", name);
	if (zarr_codec_lacks(*c))
		return ERR(E_UNAVAILABLE, NULL, "'%s' names the codec '%s', and dlx was built without %s",
		           t->file, name, zarr_codec_lacks(*c));
	m->ncodecs++;
	for (int i = 0; i < m->ncodecs; i++)
		packers += m->codec[i] != ZARR_CRC32C;
	if (m->ncodecs == ZARR_CODECS || packers > 1)
		return ERR(E_DATA, NULL, "'%s': chunks are packed twice, which is not supported", t->file);
	return 0;
}

/* --- version 2 --- */

static int read_order(const struct text *t, struct zarr_meta *m)
{
	const char *order = string_of(member(t->root, "order"));
	const int nd = m->shape.nd;
	if (!order || (strcmp(order, "C") != 0 && strcmp(order, "F") != 0))
		return bad(t, member(t->root, "order"), "neither C nor F");
	for (int i = 0; i < nd; i++)
		m->order[i] = *order == 'C' ? i : nd - 1 - i;
	return 0;
}

static int read_codecs_2(const struct text *t, struct zarr_meta *m)
{
	const struct json *packer = member(t->root, "compressor"),
	                  *filters = member(t->root, "filters");
	const char *name = string_of(member(packer, "id")),
	           *filter = !is_none(filters) && filters->kind == JSON_ARRAY ?
	                     string_of(member(filters->item[0], "id")) : NULL;
	if (!is_none(filters))
		return unsupported(t, "the filter", filter ? filter : "?");
	if (is_none(packer))
		return 0;
	return name ? add_codec(t, name, m) : bad(t, packer, "no codec");
}

static int read_separator(const struct text *t, const struct json *v, char otherwise, char *out)
{
	const char *text = string_of(v);
	*out = text ? *text : otherwise;
	if ((v && !text) || (*out != '.' && *out != '/') || (text && text[1]))
		return bad(t, v, "neither '.' nor '/'");
	return 0;
}

static int read_attributes_2(struct zarr_meta *m, struct arena *a, const struct zarr_store *st,
                             const char *folder)
{
	struct text t;
	if (!has_file(st, folder, ".zattrs"))
		return 0;
	TRY(read_json(&t, a, st, folder, ".zattrs"));
	m->attributes = t.root;
	return read_axes(&t, member(t.root, "_ARRAY_DIMENSIONS"), m);
}

static int read_2(struct zarr_meta *m, struct arena *a, const struct zarr_store *st,
                  const char *folder)
{
	const struct json *type;
	struct text t;
	m->version = 2;
	m->prefix = "";
	TRY(read_json(&t, a, st, folder, ".zarray"));
	if (!is_version(&t, 2))
		return bad(&t, member(t.root, "zarr_format"), "not 2");
	type = member(t.root, "dtype");
	if (!string_of(type) || !strchr("<>|=", *type->text) || !element_find(&m->element, type->text))
		return bad(&t, type, "an element type that is neither float nor integer");
	TRY(read_shapes(&t, member(t.root, "shape"), member(t.root, "chunks"), m));
	TRY(read_order(&t, m));
	TRY(read_fill(&t, member(t.root, "fill_value"), m));
	TRY(read_separator(&t, member(t.root, "dimension_separator"), '.', &m->separator));
	TRY(read_codecs_2(&t, m));
	TRY(check_chunk(&t, member(t.root, "chunks"), m));
	return read_attributes_2(m, a, st, folder);
}

/* --- version 3 --- */

/* An extension is a name, or an object of a name and its configuration. */
static const char *extension(const struct json *v, const struct json **configuration)
{
	*configuration = v && v->kind == JSON_OBJECT ? member(v, "configuration") : NULL;
	return v && v->kind == JSON_OBJECT ? string_of(member(v, "name")) : string_of(v);
}

/* Axis i of the transposed array is axis order[i] of the array before it. */
static int transpose(const struct text *t, const struct json *how, struct zarr_meta *m)
{
	const struct json *order = member(how, "order");
	int before[MAXD], seen = 0;
	memcpy(before, m->order, sizeof before);
	if (!order || order->kind != JSON_ARRAY || order->n != m->shape.nd)
		return bad(t, order, "no order of the array's axes");
	for (int i = 0; i < order->n; i++) {
		uint64_t k;

		if (!json_uint(order->item[i], &k) || k >= (uint64_t)order->n || seen & 1 << k)
			return bad(t, order, "no order of the array's axes");
		seen |= 1 << k;
		m->order[i] = before[k];
	}
	return 0;
}

static int take_bytes(const struct text *t, const struct json *how, struct zarr_meta *m)
{
	const char *endian = string_of(member(how, "endian"));
	if (m->element.size > 1 && !endian)
		return bad(t, how, "the codec 'bytes' has no 'endian'");
	if (endian && strcmp(endian, "little") != 0 && strcmp(endian, "big") != 0)
		return bad(t, member(how, "endian"), "neither little nor big");
	m->element.big_endian = endian && *endian == 'b';
	return 0;
}

/* What the index of a shard is packed by: 'bytes', and crc32c or nothing. */
static int read_index_codecs(const struct text *t, const struct json *codecs, struct zarr_meta *m)
{
	const struct json *how;
	if (!codecs || codecs->kind != JSON_ARRAY || codecs->n < 1)
		return bad(t, codecs, "no list of codecs");
	for (int i = 0; i < codecs->n; i++) {
		const char *name = extension(codecs->item[i], &how);

		if (!name || strcmp(name, i ? "crc32c" : "bytes") != 0 || i > 1)
			return unsupported(t, "of the index of a shard the codec", name ? name : "?");
		if (i == 0)
			m->index_big_endian = strcmp(string_of(member(how, "endian")) ?
			                             string_of(member(how, "endian")) : "", "big") == 0;
		m->index_summed |= i == 1;
	}
	return 0;
}

static int read_codecs_3(const struct text *t, const struct json *codecs, struct zarr_meta *m);

#define SHARD_MOST ((int64_t)1 << 24)        /* chunks */

/* The array's chunks are the shards, whose chunks follow. */
static int take_shards(const struct text *t, const struct json *how, struct zarr_meta *m)
{
	const struct json *chunk = member(how, "chunk_shape"), *at = member(how, "index_location");
	const char *place = string_of(at);
	bool turned = false;
	int64_t n = 1;
	for (int i = 0; i < m->shape.nd; i++)
		turned |= m->order[i] != i;
	if (m->sharded || turned)
		return unsupported(t, "in a shard, or after another codec, the codec", "sharding_indexed");
	TRY(read_extents(t, chunk, 1, &m->chunk));
	if (m->chunk.nd != m->shard.nd)
		return bad(t, chunk, "not as many extents as the array has axes");
	for (int i = 0; i < m->chunk.nd; i++) {
		if (m->shard.d[i] % m->chunk.d[i])
			return bad(t, chunk, "no part of the shape of a shard");
		if (__builtin_mul_overflow(n, m->shard.d[i] / m->chunk.d[i], &n) || n > SHARD_MOST)
			return bad(t, chunk, "more than 2^24 chunks in a shard");
	}
	if (at && (!place || (strcmp(place, "start") != 0 && strcmp(place, "end") != 0)))
		return bad(t, at, "neither start nor end");
	m->sharded = true;
	m->index_first = place && *place == 's';
	TRY(read_index_codecs(t, member(how, "index_codecs"), m));
	return read_codecs_3(t, member(how, "codecs"), m);
}

/* First what transposes, then 'bytes', then what packs; or shards, which have all of these. */
static int read_codecs_3(const struct text *t, const struct json *codecs, struct zarr_meta *m)
{
	const struct json *how;
	bool bytes = false;
	for (int i = 0; i < m->shape.nd; i++)
		m->order[i] = i;
	if (!codecs || codecs->kind != JSON_ARRAY)
		return bad(t, codecs, "no list of codecs");
	for (int i = 0; i < codecs->n; i++) {
		const char *name = extension(codecs->item[i], &how);

		if (!name)
			return bad(t, codecs->item[i], "no codec");
		if (!bytes && strcmp(name, "transpose") == 0) {
			TRY(transpose(t, how, m));
		} else if (!bytes && strcmp(name, "bytes") == 0) {
			TRY(take_bytes(t, how, m));
			bytes = true;
		} else if (!bytes && strcmp(name, "sharding_indexed") == 0) {
			if (i + 1 < codecs->n)
				return bad(t, codecs->item[i + 1], "a codec after 'sharding_indexed'");
			return take_shards(t, how, m);
		} else if (!bytes) {
			return unsupported(t, "before the codec 'bytes' the codec", name);
		} else {
			TRY(add_codec(t, name, m));
		}
	}
	return bytes ? 0 : bad(t, codecs, "the codec 'bytes' is missing");
}

static int read_keys_3(const struct text *t, struct zarr_meta *m)
{
	const struct json *how;
	const char *name = extension(member(t->root, "chunk_key_encoding"), &how);
	const bool plain = name && strcmp(name, "v2") == 0;
	if (!name || (!plain && strcmp(name, "default") != 0))
		return bad(t, member(t->root, "chunk_key_encoding"), "neither 'default' nor 'v2'");
	m->prefix = plain ? "" : "c";
	return read_separator(t, member(how, "separator"), plain ? '.' : '/', &m->separator);
}

static int read_3(struct zarr_meta *m, struct arena *a, const struct zarr_store *st,
                  const char *folder)
{
	const struct json *type, *grid;
	const char *name;
	struct text t;
	m->version = 3;
	TRY(read_json(&t, a, st, folder, "zarr.json"));
	if (!is_version(&t, 3))
		return bad(&t, member(t.root, "zarr_format"), "not 3");
	type = member(t.root, "data_type");
	if (!string_of(type) || strchr("<>|=", *type->text) || !element_find(&m->element, type->text))
		return bad(&t, type, "an element type that is neither float nor integer");
	name = extension(member(t.root, "chunk_grid"), &grid);
	if (!name || strcmp(name, "regular") != 0)
		return bad(&t, member(t.root, "chunk_grid"), "not regular");
	if (!is_none(member(t.root, "storage_transformers")))
		return bad(&t, member(t.root, "storage_transformers"), "not supported");
	TRY(read_shapes(&t, member(t.root, "shape"), member(grid, "chunk_shape"), m));
	TRY(read_keys_3(&t, m));
	TRY(read_fill(&t, member(t.root, "fill_value"), m));
	TRY(read_codecs_3(&t, member(t.root, "codecs"), m));
	TRY(check_chunk(&t, member(grid, "chunk_shape"), m));
	m->attributes = member(t.root, "attributes");
	return read_axes(&t, member(t.root, "dimension_names"), m);
}

/* xarray keeps what NetCDF says of integers. */
static void take_sign(struct zarr_meta *m)
{
	const char *text = string_of(member(m->attributes, "_Unsigned"));
	m->sign = text && strcasecmp(text, "false") == 0;
	m->turned = text && (m->sign || strcasecmp(text, "true") == 0) &&
	            element_take_sign(&m->element, m->sign);
}

int zarr_meta_read(struct zarr_meta *m, struct arena *a, const struct zarr_store *st,
                   const char *folder)
{
	*m = (struct zarr_meta){ 0 };
	TRY(has_file(st, folder, ".zarray") ? read_2(m, a, st, folder) : read_3(m, a, st, folder));
	take_sign(m);
	return 0;
}

/* --- attributes --- */

/* xarray writes a float as the base64 of the eight bytes of a double. */
static bool base64_number(const char *text, double *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t bytes[9];
	if (strlen(text) != 12 || text[11] != '=')
		return false;
	for (int i = 0; i < 12; i += 4) {
		uint32_t v = 0;

		for (int k = i; k < i + 4; k++) {
			const char *d = k == 11 ? digits : strchr(digits, text[k]);

			if (!d)
				return false;
			v = v << 6 | (uint32_t)(d - digits);
		}
		bytes[i / 4 * 3] = (uint8_t)(v >> 16);
		bytes[i / 4 * 3 + 1] = (uint8_t)(v >> 8);
		bytes[i / 4 * 3 + 2] = (uint8_t)v;
	}
	memcpy(out, bytes, sizeof *out);
	return true;
}

bool zarr_attribute(const struct zarr_meta *m, const char *name, int i, long double *out)
{
	const struct json *v = member(m->attributes, name);
	int64_t whole;
	double x;
	if (v && v->kind == JSON_ARRAY && i < v->n)
		v = v->item[i];
	else if (i > 0)
		return false;
	const bool exact = v && v->kind == JSON_NUMBER && json_int(v, &whole);
	if (!exact && !(string_of(v) ? special_number(v->text, &x) || base64_number(v->text, &x)
	                             : v && json_double(v, &x)))
		return false;
	*out = exact ? (long double)whole : x;
	return true;
}
