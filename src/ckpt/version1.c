/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading trusts nothing: the manifest's hash comes before its parser, and each file's size, each
 * frame's structure and checksum, and both hashes must agree with the manifest. The frames come
 * before the hashes, because a broken frame tells where the damage is. */
#include "ckpt/version1.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <zstd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/io_reader.h"
#include "base/mem.h"
#include "ckpt/safetensors.h"
#include "ckpt/sealed.h"

#define TAIL_HEAD ",\n  \"hash\": \""
#define TAIL_END "\"\n}\n"
#define TAIL (sizeof TAIL_HEAD - 1 + 16 + sizeof TAIL_END - 1)

static const char *const file_names[VERSION1_NFILES] = {
	"weights.safetensors.zst", "state.safetensors.zst"
};

/* --- the manifest --- */

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

static int check_tail(uint64_t *out, const char *file, const char *text, size_t size)
{
	const char *tail = size > TAIL ? text + size - TAIL : NULL;
	uint64_t hash;
	if (!tail || memcmp(tail, TAIL_HEAD, sizeof TAIL_HEAD - 1) != 0 ||
	    memcmp(text + size - (sizeof TAIL_END - 1), TAIL_END, sizeof TAIL_END - 1) != 0 ||
	    !read_hash(tail + sizeof TAIL_HEAD - 1, out))
		return ERR(E_DATA, NULL, "'%s': %zu bytes without the end of a checkpoint manifest",
		           file, size);
	hash = hash_bytes(text, size - TAIL, 0);
	if (hash != *out)
		return ERR(E_DATA, NULL, "'%s': damaged: its hash is %016" PRIx64
		           ", but it says %016" PRIx64, file, hash, *out);
	return 0;
}

static int read_size(uint64_t *out, const char *file, const struct json *map, const char *key)
{
	const struct json *v;
	TRY(sealed_find(&v, file, map, key));
	if (!json_uint(v, out) || *out > SIZE_MAX / 2)
		return sealed_wrong(file, v, key, "a number of bytes");
	return 0;
}

static int read_file_hash(uint64_t *out, const char *file, const struct json *map, const char *key)
{
	const struct json *v;
	TRY(sealed_find(&v, file, map, key));
	if (v->kind != JSON_STRING || strlen(v->text) != 16 || !read_hash(v->text, out))
		return sealed_wrong(file, v, key, "sixteen hexadecimal digits");
	return 0;
}

static int read_files(struct version1 *m, const char *file, const struct json *map)
{
	if (map->kind != JSON_OBJECT || map->n != VERSION1_NFILES)
		return sealed_wrong(file, map, "files", "a map of two files");
	for (int i = 0; i < VERSION1_NFILES; i++) {
		struct version1_file *f = &m->file[i];
		const struct json *v;
		TRY(sealed_find(&v, file, map, file_names[i]));
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
		return sealed_wrong(file, v, "metric", "null or a map of one name to a number");
	m->metric_name = v->item[0]->key;
	return 0;
}

static int read_scalars(struct manifest *m, struct arena *a, const char *file,
                        const struct json *map)
{
	struct ckpt_scalar *scalar;
	if (map->kind != JSON_OBJECT)
		return sealed_wrong(file, map, "scalars", "a map of strings");
	scalar = ARENA_ARRAY(a, struct ckpt_scalar, map->n);
	for (int i = 0; i < map->n; i++) {
		if (map->item[i]->kind != JSON_STRING)
			return sealed_wrong(file, map->item[i], map->item[i]->key, "a string");
		scalar[i] = (struct ckpt_scalar){ map->item[i]->key, map->item[i]->text };
	}
	m->scalar = scalar;
	m->nscalars = map->n;
	return 0;
}

static int read_parent(struct manifest *m, struct arena *a, const char *file,
                       const struct json *root)
{
	const struct json *v;
	TRY(sealed_find(&v, file, root, "parent"));
	if (v->kind != JSON_STRING && v->kind != JSON_NULL)
		return sealed_wrong(file, v, "parent", "an id or null");
	const char **parent = ARENA_NEW(a, const char *);
	*parent = v->text;
	m->parent = parent;
	m->nparents = v->kind == JSON_STRING;
	return 0;
}

int version1_parse(struct version1 *v, struct arena *a, const char *file, const char *text,
                   size_t size)
{
	struct manifest *m = &v->m;
	const struct json *part;
	struct json *root;
	*v = (struct version1){ .m = { .format = 1, .run = "", .config = "", .program = "",
		.data = "" } };
	TRY(check_tail(&m->hash.high, file, text, size));
	TRY(json_parse(&root, a, file, 0, text, size));
	if (root->kind != JSON_OBJECT)
		return ERR(E_DATA, NULL, "'%s': not a map", file);
	TRY(sealed_format(file, root, "dlx checkpoint", 1));
	TRY(sealed_count(&m->serial, file, root, "serial"));
	TRY(sealed_count(&m->step, file, root, "step"));
	TRY(sealed_count(&m->epoch, file, root, "epoch"));
	TRY(read_parent(m, a, file, root));
	TRY(sealed_find(&part, file, root, "metric"));
	TRY(read_metric(m, file, part));
	TRY(sealed_find(&part, file, root, "scalars"));
	TRY(read_scalars(m, a, file, part));
	TRY(sealed_find(&part, file, root, "files"));
	return read_files(v, file, part);
}

int version1_look(struct version1 *v, struct arena *a, const char *folder)
{
	const char *path = arena_printf(a, "%s/" VERSION1_MANIFEST, folder);
	struct io_image text;
	*v = (struct version1){ 0 };
	if (!io_exists(path))
		return ERR(E_DATA, NULL, "'%s' is no checkpoint: it has no " VERSION1_MANIFEST, folder);
	io_input(path);
	TRY(io_image_read(&text, path));
	int rc = version1_parse(v, a, path, (const char *)text.data, text.size);
	io_image_release(&text);
	return rc;
}

/* --- the files --- */

/* One frame at src (left bytes) to dst (room bytes); *used and *made are its two sizes. */
static const char *read_frame(ZSTD_DCtx *zstd, const uint8_t *src, size_t left, char *dst,
                              size_t room, size_t *used, size_t *made)
{
	unsigned long long size = ZSTD_getFrameContentSize(src, left);
	*used = ZSTD_findFrameCompressedSize(src, left);
	if (ZSTD_isError(*used))
		return ZSTD_getErrorName(*used);
	if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR)
		return "a frame without its size";
	if (size > room)
		return "more data than the manifest says";
	*made = ZSTD_decompressDCtx(zstd, dst, room, src, *used);
	if (ZSTD_isError(*made))
		return ZSTD_getErrorName(*made);
	return *made == size ? NULL : "a frame of another size than it says";
}

static int read_frames(char *raw, size_t n, const char *path, const struct io_image *file)
{
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	size_t in = 0, out = 0, used = 0, made = 0;
	const char *why = NULL;

	while (in < file->size && !why) {
		why = read_frame(zstd, file->data + in, file->size - in, raw + out, n - out, &used, &made);
		if (why)
			break;
		in += used;
		out += made;
	}
	ZSTD_freeDCtx(zstd);
	if (why)
		return ERR(E_DATA, NULL, "'%s': damaged in the zstd frame at byte %zu: %s", path, in, why);
	if (out != n)
		return ERR(E_DATA, NULL, "'%s': %zu bytes of data, but the manifest says %zu", path,
		           out, n);
	return 0;
}

static int check_hash(const char *path, const void *p, size_t n, uint64_t expect, const char *what)
{
	uint64_t hash = hash_bytes(p, n, 0);
	if (hash != expect)
		return ERR(E_DATA, NULL, "'%s': damaged, or of another version: the hash of its %s is %016"
		           PRIx64 ", but the manifest says %016" PRIx64, path, what, hash, expect);
	return 0;
}

static int unpack_image(void **raw, const char *path, const struct io_image *file,
                        const struct version1_file *expect)
{
	size_t n = (size_t)expect->raw_bytes;
	int rc;
	if (file->size != expect->bytes)
		return ERR(E_DATA, NULL, "'%s': %zu bytes, but the manifest says %" PRIu64, path,
		           file->size, expect->bytes);
	*raw = mem_map(n ? n : 1);
	if (!*raw)
		return ERR(E_NOMEM, NULL, "no memory for the %zu bytes of '%s'", n, path);
	rc = read_frames(*raw, n, path, file);
	if (rc == 0)
		rc = check_hash(path, file->data, file->size, expect->hash, "bytes");
	if (rc == 0)
		rc = check_hash(path, *raw, n, expect->raw_hash, "data");
	if (rc < 0) {
		mem_unmap(*raw, n ? n : 1);
		*raw = NULL;
	}
	return rc;
}

static int unpack_file(void **raw, const char *path, const struct version1_file *expect)
{
	struct io_image file;
	int rc;
	*raw = NULL;
	if (!io_exists(path))
		return ERR(E_DATA, NULL, "'%s' is missing from the checkpoint", path);
	TRY(io_image_read(&file, path));
	rc = unpack_image(raw, path, &file, expect);
	io_image_release(&file);
	return rc;
}

static int read_image(struct version1 *v, struct arena *a, const char *folder, int f,
                      struct st_file *st)
{
	const char *path = arena_printf(a, "%s/%s", folder, file_names[f]);
	io_input(path);
	TRY(unpack_file(&v->image[f], path, &v->file[f]));
	return st_parse(st, a, path, v->image[f], (size_t)v->file[f].raw_bytes);
}

int version1_load(struct version1 *v, struct arena *a, const char *folder)
{
	struct st_file st[VERSION1_NFILES] = { { 0 } };
	TRY(version1_look(v, a, folder));
	for (int f = 0; f < VERSION1_NFILES; f++) {
		TRY(read_image(v, a, folder, f, &st[f]));
		v->ntensors += st[f].n;
	}
	struct ckpt_tensor *t = ARENA_ARRAY(a, struct ckpt_tensor, v->ntensors);
	v->tensor = t;
	for (int f = 0; f < VERSION1_NFILES; f++)
		for (int i = 0; i < st[f].n; i++) {
			const struct st_tensor *x = &st[f].tensor[i];
			*t++ = (struct ckpt_tensor){ x->name, x->dtype, x->shape, x->data,
			                             f == VERSION1_WEIGHTS };
		}
	return 0;
}

void version1_release(struct version1 *v)
{
	for (int f = 0; f < VERSION1_NFILES; f++)
		if (v->image[f]) {
			const size_t n = (size_t)v->file[f].raw_bytes;
			mem_unmap(v->image[f], n ? n : 1);
		}
	memset(v->image, 0, sizeof v->image);
}
