/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Index and end of a pack. No content of a file is used before the hash at its end is verified, and
 * no offset in the index before it is checked to lie within the file. */
#include "ckpt/pack_format.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "ckpt/packs.h"
#include "data/record_format.h"
#include "data/record_planes.h"

#define VERSION '2'
#define MOST_CHUNKS ((uint64_t)1 << 30)

const uint8_t pack_magic[PACK_MAGIC_BYTES] = { 'd', 'l', 'x', 'p', 'a', 'c', 'k', VERSION };
static const uint8_t end_magic[PACK_MAGIC_BYTES] = { 'd', 'l', 'x', 'p', 'a', 'c', 'k', 'E' };

/* Offsets in bytes within an entry of the index, and within the end of the file. */
enum { ENTRY_HIGH = 0, ENTRY_LOW = 8, ENTRY_AT = 16, ENTRY_SIZES = 24, ENTRY_CODEC = 32,
	ENTRY_WIDTH = 33 };
enum { END_AT = 0, END_COUNT = 8, END_HASH = 16, END_MAGIC = 24 };

static void entry_put(uint8_t out[PACK_ENTRY_BYTES], const struct pack_entry *e)
{
	memset(out, 0, PACK_ENTRY_BYTES);
	put_u64(out + ENTRY_HIGH, e->address.high);
	put_u64(out + ENTRY_LOW, e->address.low);
	put_u64(out + ENTRY_AT, e->at);
	put_u64(out + ENTRY_SIZES, (uint64_t)e->raw << 32 | e->stored);
	out[ENTRY_CODEC] = e->codec;
	out[ENTRY_WIDTH] = e->width;
}

static void entry_read(const uint8_t in[PACK_ENTRY_BYTES], struct pack_entry *e)
{
	const uint64_t sizes = get_u64(in + ENTRY_SIZES);
	*e = (struct pack_entry){ .address = { get_u64(in + ENTRY_HIGH), get_u64(in + ENTRY_LOW) },
		.at = get_u64(in + ENTRY_AT), .stored = (uint32_t)sizes, .raw = (uint32_t)(sizes >> 32),
		.codec = in[ENTRY_CODEC], .width = in[ENTRY_WIDTH] };
}

void pack_index_put(struct buf *out, const struct pack_entry *e, int n, uint64_t at)
{
	const size_t start = out->len;
	uint8_t bytes[PACK_ENTRY_BYTES];
	for (int i = 0; i < n; i++) {
		entry_put(bytes, &e[i]);
		buf_add(out, (char *)bytes, PACK_ENTRY_BYTES);
	}
	uint8_t end[PACK_END_BYTES];
	put_u64(end + END_AT, at);
	put_u64(end + END_COUNT, (uint64_t)n);
	buf_add(out, (char *)end, END_HASH);
	put_u64(end + END_HASH, hash_bytes(out->data + start, out->len - start, 0));
	memcpy(end + END_MAGIC, end_magic, PACK_MAGIC_BYTES);
	buf_add(out, (char *)end + END_HASH, PACK_END_BYTES - END_HASH);
}

/* --- reading --- */

static int wrong(const char *path, const char *why)
{
	return ERR(E_DATA, NULL, "'%s': %s", path, why);
}

/* A pack of a later version has another end. One that says so alone, before an end of this version,
 * is damaged, and no reason to refuse the packs next to it. */
static int check_magic(const char *path, const uint8_t have[PACK_MAGIC_BYTES],
                       const uint8_t end[PACK_END_BYTES])
{
	const uint8_t version = have[PACK_MAGIC_BYTES - 1];
	if (memcmp(have, pack_magic, PACK_MAGIC_BYTES) == 0)
		return 0;
	if (memcmp(have, pack_magic, PACK_MAGIC_BYTES - 1) != 0 || version < VERSION)
		return wrong(path, "does not begin as a pack of a checkpoint store");
	if (memcmp(end + END_MAGIC, end_magic, PACK_MAGIC_BYTES) == 0)
		return wrong(path, "its beginning says another version than its end");
	return ERR(E_UNSUPPORTED, NULL, "'%s' is a pack of version %c of its format; this dlx knows "
	           "version %c", path, version, VERSION);
}

static const char *check_entry(const struct pack_entry *e, uint64_t end)
{
	if (e->at < PACK_MAGIC_BYTES || e->at > end || e->stored > end - e->at)
		return "a chunk outside the file";
	if (e->raw == 0 || e->raw > CHUNK_RAW || e->stored == 0)
		return "a chunk of an impossible size";
	if (e->codec >= RECORD_CODECS || e->width == 0 || e->width > PLANES_MOST)
		return "a chunk of an unknown code";
	return NULL;
}

/* index: the n entries, and after them the end. */
static int parse_index(const char *path, const uint8_t *index, uint64_t n, uint64_t at,
                       struct pack_entry **out)
{
	const size_t size = (size_t)n * PACK_ENTRY_BYTES;
	if (hash_bytes(index, size + END_HASH, 0) != get_u64(index + size + END_HASH))
		return wrong(path, "its index is damaged");
	struct pack_entry *e = mem_calloc((size_t)n, sizeof *e);
	for (uint64_t i = 0; i < n; i++) {
		entry_read(index + i * PACK_ENTRY_BYTES, &e[i]);
		const char *why = check_entry(&e[i], at);
		if (!why)
			continue;
		mem_free(e);
		return ERR(E_DATA, NULL, "'%s': entry %" PRIu64 " of its index: %s", path, i, why);
	}
	*out = e;
	return 0;
}

static int read_index(struct disk *d, int fd, const char *path, uint64_t size,
                      struct pack_entry **out, int *n)
{
	uint8_t magic[PACK_MAGIC_BYTES], end[PACK_END_BYTES];
	if (size < PACK_MAGIC_BYTES + PACK_END_BYTES)
		return wrong(path, "is shorter than any pack");
	TRY(disk_read_at(d, fd, path, 0, magic, sizeof magic));
	TRY(disk_read_at(d, fd, path, size - sizeof end, end, sizeof end));
	TRY(check_magic(path, magic, end));
	if (memcmp(end + END_MAGIC, end_magic, PACK_MAGIC_BYTES) != 0)
		return wrong(path, "does not end as a pack of a checkpoint store");
	const uint64_t at = get_u64(end + END_AT), count = get_u64(end + END_COUNT);
	if (count == 0 || count > MOST_CHUNKS || at < PACK_MAGIC_BYTES || at > size ||
	    size - at != count * PACK_ENTRY_BYTES + PACK_END_BYTES)
		return wrong(path, "its end is damaged");
	uint8_t *index = mem_alloc((size_t)(size - at));
	int rc = disk_read_at(d, fd, path, at, index, (size_t)(size - at));
	if (rc == 0)
		rc = parse_index(path, index, count, at, out);
	mem_free(index);
	*n = (int)count;
	return rc;
}

int pack_index_read(struct disk *d, const char *path, struct pack_entry **out, int *n,
                    uint64_t *bytes)
{
	struct disk_stat st;
	int fd;
	*out = NULL;
	TRY(disk_open_read(d, &fd, path, &st));
	*bytes = st.size;
	int rc = read_index(d, fd, path, st.size, out, n);
	d->close(d, fd);
	return rc;
}
