/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chunks are files or parts of a file. A missing chunk has the fill value everywhere. Rows are
 * requested one after the other, and a chunk has many rows. So as many decompressed chunks are kept
 * as one row of chunks has, within a memory limit, and likewise the indexes of shards. */
#include "data-tools/source/zarr/zarr_array.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "data-tools/source/little.h"
#include "data-tools/source/source.h"

#define KEPT_MOST ((uint64_t)256 << 20)      /* bytes of chunks */
#define SLOTS_MOST 65536
#define EMPTY_MOST ((uint64_t)256 << 20)     /* bytes of an array that may have no chunk at all */
#define PACKED_MOST 65536                    /* no codec packs more than about so much : 1 */

struct slot {
	int64_t chunk;               /* -1: none */
	bool missing;
	uint8_t *values;
};

/* A file of several chunks. */
struct shard {
	int64_t number;              /* -1: none */
	bool missing;
	struct zarr_part *file;
	uint64_t size;
	uint8_t *index;              /* of each chunk where it begins, and its bytes */
};

struct zarr_array {
	const struct zarr_store *store;
	struct arena *a;
	struct zarr_meta m;
	char *folder;
	int nd;                      /* at least 1: an array without axes has one of extent 1 */
	int64_t extent[MAXD], chunk[MAXD], grid[MAXD];
	int64_t stride[MAXD];        /* in a chunk, in elements */
	int nslots;
	struct slot *slot;
	int64_t per[MAXD];           /* chunks of a file along each axis */
	int64_t chunks;              /* of a file */
	int nshards;
	struct shard *shard;
};

/* --- whether the files are enough for the array --- */

/* A few bytes of metadata can promise any number of values, which nothing else bounds. */
static int check_size(const struct zarr_array *z)
{
	const uint64_t bytes = zarr_bytes(&z->m);
	uint64_t sum;
	char text[SHAPE_TEXT];
	if (bytes <= EMPTY_MOST)
		return 0;
	sum = zarr_store_sum(z->store, z->folder, bytes / PACKED_MOST);
	if (sum < bytes / PACKED_MOST)
		return ERR(E_DATA, NULL, "'%s': an array of %s, but only %llu bytes of chunks", z->folder,
		           shape_text(&z->m.shape, text), (unsigned long long)sum);
	return 0;
}

/* --- opening --- */

static void set_axes(struct zarr_array *z)
{
	const struct zarr_meta *m = &z->m;
	uint64_t slots = KEPT_MOST / zarr_chunk_bytes(m);
	int64_t row = 1;
	z->nd = m->shape.nd;
	for (int i = 0; i < z->nd; i++) {
		z->extent[i] = m->shape.d[i];
		z->chunk[i] = m->chunk.d[i];
	}
	for (int64_t i = z->nd - 1, s = 1; i >= 0; i--) {
		z->stride[m->order[i]] = s;
		s *= z->chunk[m->order[i]];
	}
	if (z->nd == 0)
		z->nd = (int)(z->extent[0] = z->chunk[0] = z->stride[0] = 1);
	for (int i = 0; i < z->nd; i++)
		z->grid[i] = z->extent[i] ? (z->extent[i] - 1) / z->chunk[i] + 1 : 0;
	for (int i = 1; i < z->nd && row < SLOTS_MOST; i++)
		row *= z->grid[i] < SLOTS_MOST ? z->grid[i] : SLOTS_MOST;
	slots = slots > (uint64_t)row ? (uint64_t)row : slots;
	z->nslots = (int)(slots < 1 ? 1 : slots > SLOTS_MOST ? SLOTS_MOST : slots);
	z->slot = mem_calloc((size_t)z->nslots, sizeof *z->slot);
	for (int i = 0; i < z->nslots; i++)
		z->slot[i].chunk = -1;
}

#define INDEX_ENTRY 16                       /* bytes of a chunk in the index of a shard */
#define INDEXES_MOST ((int64_t)64 << 20)     /* bytes of them that are kept, but one at least */
#define SHARDS_MOST 64                       /* open files of a thread */

static void set_shards(struct zarr_array *z)
{
	int64_t row = 1, most;
	z->chunks = 1;
	for (int i = 0; i < z->nd; i++) {
		z->per[i] = z->m.shape.nd ? z->m.shard.d[i] / z->chunk[i] : 1;
		z->chunks *= z->per[i];
	}
	if (!z->m.sharded)
		return;
	for (int i = 1; i < z->nd && row < SHARDS_MOST; i++)
		row *= z->grid[i] ? (z->grid[i] - 1) / z->per[i] + 1 : 1;
	most = INDEXES_MOST / (z->chunks * INDEX_ENTRY);
	most = most < 1 ? 1 : most > SHARDS_MOST ? SHARDS_MOST : most;
	z->nshards = (int)(row < most ? row : most);
	z->shard = mem_calloc((size_t)z->nshards, sizeof *z->shard);
	for (int i = 0; i < z->nshards; i++)
		z->shard[i].number = -1;
}

int zarr_open(struct zarr_array **out, const struct zarr_store *st, const char *folder)
{
	struct zarr_array *z = mem_calloc(1, sizeof *z);
	int rc;
	z->store = st;
	z->a = arena_new();
	z->folder = mem_strdup(folder);
	rc = zarr_meta_read(&z->m, z->a, st, folder);
	if (rc == 0)
		rc = check_size(z);
	*out = rc == 0 ? z : NULL;
	if (rc < 0) {
		zarr_close(z);
		return rc;
	}
	set_axes(z);
	set_shards(z);
	return 0;
}

void zarr_close(struct zarr_array *z)
{
	if (!z)
		return;
	for (int i = 0; i < z->nslots; i++)
		mem_free(z->slot[i].values);
	mem_free(z->slot);
	for (int i = 0; i < z->nshards; i++) {
		zarr_part_close(z->shard[i].file);
		mem_free(z->shard[i].index);
	}
	mem_free(z->shard);
	mem_free(z->folder);
	arena_free(z->a);
	mem_free(z);
}

const struct zarr_meta *zarr_meta(const struct zarr_array *z)
{
	return &z->m;
}

/* --- chunks --- */

/* Unpacks what a chunk's file has into its values, from the last codec to the first. */
static const char *unpack(const struct zarr_meta *m, const uint8_t *in, size_t n, uint8_t *values)
{
	static const char cut[] = "not as many bytes as a chunk has";
	const size_t bytes = (size_t)zarr_chunk_bytes(m);
	uint8_t *between = NULL;
	const char *why = NULL;
	for (int i = m->ncodecs - 1; i >= 0 && !why; i--) {
		/* before one that packs there are only checksums */
		const bool sum = m->codec[i] == ZARR_CRC32C;
		const size_t want = !sum ? bytes + 4 * (size_t)i : n > 4 ? n - 4 : 0;
		uint8_t *out = values;

		if (want / PACKED_MOST > n || (i == 0 && want != bytes)) {
			why = cut;
			break;
		}
		if (i > 0)
			out = mem_alloc(want);
		why = zarr_unpack(m->codec[i], in, n, out, want);
		mem_free(between);
		between = i > 0 ? out : NULL;
		in = out;
		n = want;
	}
	mem_free(between);
	if (m->ncodecs == 0 && n != bytes)
		return cut;
	if (m->ncodecs == 0)
		memcpy(values, in, bytes);
	return why;
}

/* n bytes of the file at path. */
static int load_bytes(const struct zarr_array *z, const char *path, const uint8_t *data, size_t n,
                      struct slot *s)
{
	const struct zarr_meta *m = &z->m;
	const uint64_t bytes = zarr_chunk_bytes(m);
	const char *why = "not as many bytes as a chunk has";
	if (bytes / PACKED_MOST <= n) {
		s->values = mem_realloc(s->values, (size_t)bytes);
		why = unpack(m, data, n, s->values);
	}
	if (why)
		return ERR(E_DATA, NULL, "'%s': %s%s%s", path, m->ncodecs ?
		           zarr_codec_name(m->codec[m->ncodecs - 1]) : "", m->ncodecs ? ": " : "", why);
	if (m->element.big_endian)
		source_swap(s->values, m->element.size, (int64_t)(bytes / m->element.size));
	return 0;
}

static int load_file(const struct zarr_array *z, const char *path, struct slot *s)
{
	struct io_image in;
	int rc;
	s->missing = !zarr_store_has_file(z->store, path);
	if (s->missing)
		return 0;
	TRY(zarr_store_image(z->store, path, &in));
	rc = load_bytes(z, path, in.data, in.size, s);
	io_image_release(&in);
	return rc;
}

/* at: of the file in the grid of files. */
static void file_path(const struct zarr_array *z, const int64_t *at, struct buf *out)
{
	buf_printf(out, "%s/%s", z->folder, z->m.prefix);
	for (int i = 0; i < z->m.shape.nd; i++) {
		if (i > 0 || *z->m.prefix)
			buf_putc(out, z->m.separator);
		buf_printf(out, "%lld", (long long)at[i]);
	}
	if (z->m.shape.nd == 0 && !*z->m.prefix)
		buf_putc(out, '0');
}

/* --- shards --- */

static int read_index(const struct zarr_array *z, const char *path, struct shard *h)
{
	const size_t bytes = (size_t)z->chunks * INDEX_ENTRY, sum = z->m.index_summed ? 4 : 0;
	uint8_t *in = mem_alloc(bytes + sum);
	const char *why = NULL;
	int rc;
	if (h->size < bytes + sum)
		rc = ERR(E_DATA, NULL, "'%s': %llu bytes, which are fewer than the index of its chunks has",
		         path, (unsigned long long)h->size);
	else
		rc = zarr_part_read(h->file, z->m.index_first ? 0 : h->size - bytes - sum, in, bytes + sum);
	h->index = mem_realloc(h->index, bytes);
	if (rc == 0 && sum)
		why = zarr_unpack(ZARR_CRC32C, in, bytes + sum, h->index, bytes);
	else if (rc == 0)
		memcpy(h->index, in, bytes);
	if (why)
		rc = ERR(E_DATA, NULL, "'%s': crc32c of the index: %s", path, why);
	mem_free(in);
	if (rc == 0 && z->m.index_big_endian)
		source_swap(h->index, 8, 2 * z->chunks);
	return rc;
}

/* The shard at this place of the grid of shards. */
static int load_shard(struct zarr_array *z, const int64_t *at, const char *path, struct shard **out)
{
	int64_t number = 0;
	for (int i = 0; i < z->nd; i++)
		number = number * ((z->grid[i] - 1) / z->per[i] + 1) + at[i];
	struct shard *h = *out = &z->shard[number % z->nshards];
	if (h->number == number)
		return 0;
	h->number = -1;
	zarr_part_close(h->file);
	h->file = NULL;
	h->missing = !zarr_store_has_file(z->store, path);
	if (!h->missing) {
		TRY(zarr_part_open(&h->file, z->store, path, &h->size));
		TRY(read_index(z, path, h));
	}
	h->number = number;
	return 0;
}

/* Chunk k of the shard. */
static int load_part(struct zarr_array *z, struct shard *h, int64_t k, const char *path,
                     struct slot *s)
{
	const uint8_t *entry = h->index ? h->index + k * INDEX_ENTRY : NULL;
	const uint64_t from = h->missing ? UINT64_MAX : little(entry, 8),
	               n = h->missing ? UINT64_MAX : little(entry + 8, 8);
	uint8_t *data;
	int rc;
	s->missing = from == UINT64_MAX && n == UINT64_MAX;
	if (s->missing)
		return 0;
	if (from > h->size || n > h->size - from)
		return ERR(E_DATA, NULL, "'%s': a chunk of %llu bytes at %llu, but the file has %llu", path,
		           (unsigned long long)n, (unsigned long long)from, (unsigned long long)h->size);
	data = mem_alloc((size_t)n + 1);
	rc = zarr_part_read(h->file, from, data, (size_t)n);
	if (rc == 0)
		rc = load_bytes(z, path, data, (size_t)n, s);
	mem_free(data);
	return rc;
}

/* The chunk at this place of the grid, which is in the file at `path`. */
static int load_in_shard(struct zarr_array *z, const int64_t *at, const int64_t *file,
                         const char *path, struct slot *s)
{
	struct shard *h;
	int64_t k = 0;
	for (int i = 0; i < z->nd; i++)
		k = k * z->per[i] + at[i] % z->per[i];
	TRY(load_shard(z, file, path, &h));
	return load_part(z, h, k, path, s);
}

/* The chunk at this place of the grid. */
static int load_chunk(struct zarr_array *z, const int64_t *at, const struct slot **out)
{
	struct buf path = BUF_INIT;
	int64_t number = 0, file[MAXD];
	struct slot *s;
	int rc;
	for (int i = 0; i < z->nd; i++) {
		number = number * z->grid[i] + at[i];
		file[i] = at[i] / z->per[i];
	}
	*out = s = &z->slot[number % z->nslots];
	if (s->chunk == number)
		return 0;
	s->chunk = -1;
	file_path(z, file, &path);
	rc = z->m.sharded ? load_in_shard(z, at, file, path.data, s) : load_file(z, path.data, s);
	if (rc == 0 && s->missing && !z->m.has_fill)
		rc = ERR(E_DATA, NULL, "'%s' is missing, and the array has no fill value", path.data);
	if (rc == 0)
		s->chunk = number;
	buf_release(&path);
	return rc;
}

/* --- values --- */

/* A box of n[0] x n[1] x ... elements from one array to another; strides in bytes. */
static void copy_box(int nd, const int64_t *n, const uint8_t *from, const int64_t *from_stride,
                     uint8_t *to, const int64_t *to_stride, size_t size)
{
	if (nd == 1 && *from_stride == (int64_t)size && *to_stride == (int64_t)size) {
		memcpy(to, from, (size_t)*n * size);
		return;
	}
	for (int64_t i = 0; i < *n; i++, from += *from_stride, to += *to_stride) {
		if (nd > 1)
			copy_box(nd - 1, n + 1, from, from_stride + 1, to, to_stride + 1, size);
		else
			memcpy(to, from, size);
	}
}

/* What of a chunk is in the box, into its place in out. */
static void place_chunk(const struct zarr_array *z, const struct slot *s, const int64_t *at,
                        const int64_t *start, const int64_t *count, uint8_t *out)
{
	const int64_t size = (int64_t)z->m.element.size;
	int64_t n[MAXD], from[MAXD], to[MAXD], stride = size;
	const uint8_t *values = s->missing ? z->m.fill : s->values;
	for (int i = z->nd - 1; i >= 0; i--) {
		const int64_t low = start[i], high = low + count[i],
		              begin = at[i] * z->chunk[i], end = begin + z->chunk[i],
		              a = begin > low ? begin : low, b = end < high ? end : high;

		n[i] = b - a;
		from[i] = s->missing ? 0 : z->stride[i] * size;
		to[i] = stride;
		values += (a - begin) * from[i];
		out += (a - low) * stride;
		stride *= high - low;
	}
	copy_box(z->nd, n, values, from, out, to, (size_t)size);
}

/* The next place of the grid from low to high; false after the last. */
static bool step(const struct zarr_array *z, int64_t *at, const int64_t *low, const int64_t *high)
{
	for (int i = z->nd - 1; i >= 0; i--) {
		if (++at[i] < high[i])
			return true;
		at[i] = low[i];
	}
	return false;
}

/* Numbers of four bytes are in the second half of their room and widened from the first one on. */
static void widen(void *out, int64_t n)
{
	const uint8_t *from = (const uint8_t *)out + (size_t)n * 4;
	int64_t *wide = out;
	for (int64_t i = 0; i < n; i++, from += 4) {
		uint32_t v;

		memcpy(&v, from, sizeof v);
		wide[i] = v;
	}
}

int zarr_read_box(struct zarr_array *z, const int64_t *start, const int64_t *count, void *out)
{
	int64_t at[MAXD] = { 0 }, low[MAXD], high[MAXD], n = 1;
	const struct slot *s;
	uint8_t *values = out;
	for (int i = 0; i < z->nd; i++) {
		n *= count[i];
		at[i] = low[i] = start[i] / z->chunk[i];
		high[i] = (start[i] + count[i] - 1) / z->chunk[i] + 1;
	}
	if (z->m.element.wide)
		values += (size_t)n * 4;
	do {
		TRY(load_chunk(z, at, &s));
		place_chunk(z, s, at, start, count, values);
	} while (step(z, at, low, high));
	if (z->m.element.wide)
		widen(out, n);
	return 0;
}

int zarr_read(struct zarr_array *z, int64_t first, int64_t n, void *out)
{
	int64_t start[MAXD] = { first }, count[MAXD];
	for (int i = 0; i < z->nd; i++)
		count[i] = i ? z->extent[i] : n;
	return zarr_read_box(z, start, count, out);
}
