/* SPDX-License-Identifier: BSD-3-Clause
 *
 * zstd, kept behind two functions. Reading trusts nothing: the file's size, each frame's structure
 * and checksum, and both hashes must agree with the manifest. The frames come before the hashes,
 * because a broken frame tells where the damage is. */
#include "ckpt/pack.h"

#include <inttypes.h>
#include <string.h>
#include <zstd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/io_reader.h"
#include "base/mem.h"

struct packer {
	ZSTD_CCtx *zstd;
	void *frame;                   /* room for any frame */
	size_t cap;
};

struct packer *packer_new(int level)
{
	struct packer *p = mem_calloc(1, sizeof *p);
	p->cap = ZSTD_compressBound(PACK_CHUNK);
	p->frame = mem_alloc(p->cap);
	p->zstd = ZSTD_createCCtx();
	BUG_IF(!p->zstd, "no zstd context");
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_contentSizeFlag, 1);
	return p;
}

void packer_free(struct packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->zstd);
	mem_free(p->frame);
	mem_free(p);
}

static int write_frames(struct packer *p, struct io_file *f, struct hash_state *hash,
                        const char *raw, size_t n)
{
	for (size_t at = 0; at < n; at += PACK_CHUNK) {
		size_t chunk = n - at < PACK_CHUNK ? n - at : PACK_CHUNK;
		size_t got = ZSTD_compress2(p->zstd, p->frame, p->cap, raw + at, chunk);
		if (ZSTD_isError(got))
			return ERR(E_NOMEM, NULL, "zstd: %s", ZSTD_getErrorName(got));
		hash_update(hash, p->frame, got);
		TRY(io_write(f, p->frame, got));
		io_crash_point("ckpt_frame");
	}
	return 0;
}

int pack_file(struct packer *p, const char *path, const void *raw, size_t n,
              struct manifest_file *out)
{
	struct hash_state *hash;
	struct io_file *f;
	int rc;
	TRY(io_create(&f, path));
	hash = hash_new();
	rc = write_frames(p, f, hash, raw, n);
	out->raw_bytes = n;
	out->raw_hash = hash_bytes(raw, n, 0);
	out->bytes = io_tell(f);
	out->hash = hash_value(hash);
	hash_free(hash);
	if (rc < 0) {
		io_discard(f);
		return rc;
	}
	TRY(io_commit(f));
	io_crash_point("ckpt_file");
	return 0;
}

/* --- reading --- */

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
                      const struct manifest_file *expect)
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

int unpack_file(void **raw, const char *path, const struct manifest_file *expect)
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
