/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The packs of a store, with a table of the chunks by address. A chunk that is in several packs
 * (two runs saved it at the same time) is read from any of them that is intact. */
#include "ckpt/packs.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pool.h"
#include "ckpt/pack_format.h"
#include "data/record_codec.h"

struct pack {
	char *name;                    /* owned */
	bool damaged;                  /* no chunk is read from it; it is kept for inspection */
	bool seen;                     /* the current refresh has seen it */
	uint64_t bytes;
	int n;
	struct pack_entry *entry;      /* owned */
};

struct place {                     /* of a chunk */
	struct hash128 address;
	int pack, entry;
};

struct packs {
	struct disk *disk;
	char *folder;
	struct pack *pack;             /* sound ones first */
	int n, nsound, cap;
	struct place *place;           /* by address */
	size_t nplaces;
};

static void pack_release(struct pack *k)
{
	mem_free(k->name);
	mem_free(k->entry);
}

static char *path_of(const struct packs *p, const char *name)
{
	return io_join(p->folder, name);
}

/* --- looking which there are --- */

static struct pack *find_pack(struct packs *p, const char *name)
{
	for (int i = 0; i < p->n; i++)
		if (strcmp(p->pack[i].name, name) == 0)
			return &p->pack[i];
	return NULL;
}

/* The warning is printed once per process, because its readers and writers open a store several
 * times. */
static void warn_damaged(const char *why)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static uint64_t *reported;
	static int n;
	const uint64_t this = hash_name(why);
	bool before = false;
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < n && !before; i++)
		before = reported[i] == this;
	if (!before) {
		reported = mem_realloc(reported, (size_t)(n + 1) * sizeof *reported);
		reported[n++] = this;
	}
	pthread_mutex_unlock(&mutex);
	if (!before)
		warn("%s; the checkpoints go on without this pack", why);
}

/* 0 also for one that has vanished meanwhile. */
static int add_pack(struct packs *p, const char *name)
{
	struct pack k = { .name = mem_strdup(name), .seen = true };
	char *path = path_of(p, name);
	const int mark = err_count();
	int rc = pack_index_read(p->disk, path, &k.entry, &k.n, &k.bytes);
	mem_free(path);
	if (rc == E_DATA) {
		warn_damaged(err_get(mark)->text);
		k.damaged = true;
		k.n = 0;
	}
	if (rc == E_DATA || rc == E_NOINPUT)
		err_truncate(mark);
	if (rc < 0 && rc != E_DATA) {
		pack_release(&k);
		return rc == E_NOINPUT ? 0 : rc;
	}
	if (p->n == p->cap) {
		p->cap = p->cap ? 2 * p->cap : 16;
		p->pack = mem_realloc(p->pack, (size_t)p->cap * sizeof *p->pack);
	}
	p->pack[p->n++] = k;
	return 0;
}

static void forget_vanished(struct packs *p)
{
	int kept = 0;
	for (int i = 0; i < p->n; i++)
		if (p->pack[i].seen)
			p->pack[kept++] = p->pack[i];
		else
			pack_release(&p->pack[i]);
	p->n = kept;
}

static int sound_first(const void *a, const void *b)
{
	const struct pack *x = a, *y = b;
	if (x->damaged != y->damaged)
		return x->damaged ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int by_address(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	const int order = hash128_order(x->address, y->address);
	return order ? order : x->pack - y->pack;
}

static void build_places(struct packs *p)
{
	size_t n = 0;
	if (p->n > 1)
		qsort(p->pack, (size_t)p->n, sizeof *p->pack, sound_first);
	for (p->nsound = 0; p->nsound < p->n && !p->pack[p->nsound].damaged; p->nsound++)
		n += (size_t)p->pack[p->nsound].n;
	p->place = mem_realloc(p->place, (n ? n : 1) * sizeof *p->place);
	p->nplaces = 0;
	for (int k = 0; k < p->nsound; k++)
		for (int i = 0; i < p->pack[k].n; i++)
			p->place[p->nplaces++] = (struct place){ p->pack[k].entry[i].address, k, i };
	if (n > 1)
		qsort(p->place, n, sizeof *p->place, by_address);
}

static bool is_pack(const char *name)
{
	return name[0] != '.' && io_ends_in(name, PACK_SUFFIX);
}

int packs_refresh(struct packs *p)
{
	struct disk_names names;
	int rc = 0;
	TRY(disk_list(&names, p->disk, p->folder));
	for (int i = 0; i < p->n; i++)
		p->pack[i].seen = false;
	for (int i = 0; i < names.n && rc == 0; i++) {
		if (!is_pack(names.name[i]))
			continue;
		struct pack *k = find_pack(p, names.name[i]);
		if (k)
			k->seen = true;
		else
			rc = add_pack(p, names.name[i]);
	}
	disk_names_release(&names);
	if (rc == 0)
		forget_vanished(p);
	build_places(p);
	return rc;
}

int packs_open(struct packs **out, struct disk *d, const char *root)
{
	struct packs *p = mem_calloc(1, sizeof *p);
	p->disk = d;
	p->folder = io_join(root, PACKS_FOLDER);
	int rc = packs_refresh(p);
	if (rc < 0) {
		packs_close(p);
		p = NULL;
	}
	*out = p;
	return rc;
}

void packs_close(struct packs *p)
{
	if (!p)
		return;
	for (int i = 0; i < p->n; i++)
		pack_release(&p->pack[i]);
	mem_free(p->pack);
	mem_free(p->place);
	mem_free(p->folder);
	mem_free(p);
}

/* --- looking chunks up --- */

/* The first place of an address, or the end. */
static size_t first_place(const struct packs *p, struct hash128 address)
{
	size_t low = 0, high = p->nplaces;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (hash128_order(p->place[middle].address, address) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct pack_entry *entry_at(const struct packs *p, size_t i, struct hash128 address)
{
	if (i >= p->nplaces || !hash128_equal(p->place[i].address, address))
		return NULL;
	return &p->pack[p->place[i].pack].entry[p->place[i].entry];
}

bool packs_has(const struct packs *p, struct hash128 address, size_t raw)
{
	const struct pack_entry *e = entry_at(p, first_place(p, address), address);
	return e && e->raw == raw;
}

int packs_count(const struct packs *p)
{
	return p->nsound;
}

struct pack_stat packs_at(const struct packs *p, int i)
{
	const struct pack *k = &p->pack[i];
	return (struct pack_stat){ k->name, k->bytes, k->n };
}

struct pack_chunk packs_chunk(const struct packs *p, int pack, int i)
{
	const struct pack_entry *e = &p->pack[pack].entry[i];
	return (struct pack_chunk){ e->address, e->stored, e->raw };
}

/* --- reading --- */

static int chunk_wrong(const char *path, const struct pack_entry *e, const char *why)
{
	char text[HASH128_TEXT];
	return ERR(E_DATA, NULL, "'%s': the chunk %s at byte %" PRIu64 " is damaged: %s", path,
	           hash128_text(e->address, text), e->at, why);
}

static int decode(const char *path, const struct pack_entry *e, const uint8_t *stored, void *raw)
{
	struct record_sink sink = { .out = raw, .strip = e->raw, .stride = e->raw };
	const struct record_chunk c = { .stored = e->stored, .raw = e->raw, .codec = e->codec };
	struct codec_reader r;
	codec_reader_open(&r);
	const char *why = codec_decode(&r, &c, e->width, stored, &sink);
	codec_reader_release(&r);
	if (why)
		return chunk_wrong(path, e, why);
	if (!hash128_equal(hash128_bytes(raw, e->raw), e->address))
		return chunk_wrong(path, e, "its bytes are not those of its address");
	return 0;
}

/* The stored bytes of an entry into stored, the raw ones into raw. */
static int read_entry(const struct packs *p, int pack, const struct pack_entry *e, uint8_t *stored,
                      void *raw)
{
	char *path = path_of(p, p->pack[pack].name);
	struct disk_stat st;
	int fd, rc = disk_open_read(p->disk, &fd, path, &st);
	if (rc == 0) {
		rc = disk_read_at(p->disk, fd, path, e->at, stored, e->stored);
		p->disk->close(p->disk, fd);
	}
	if (rc == 0)
		rc = decode(path, e, stored, raw);
	mem_free(path);
	return rc;
}

static int missing(const struct packs *p, struct hash128 address)
{
	char text[HASH128_TEXT];
	return ERR(E_DATA, NULL, "no pack in '%s' has the chunk %s", p->folder,
	           hash128_text(address, text));
}

int packs_read(const struct packs *p, struct hash128 address, void *raw, size_t n)
{
	const struct pack_entry *e;
	const int mark = err_count();
	int rc = E_DATA;
	bool any = false;

	for (size_t i = first_place(p, address); (e = entry_at(p, i, address)); i++) {
		if (e->raw != n)
			continue;
		any = true;
		err_truncate(mark);
		uint8_t *stored = mem_alloc(e->stored);
		rc = read_entry(p, p->place[i].pack, e, stored, raw);
		mem_free(stored);
		if (rc == 0)
			return 0;
	}
	return any ? rc : missing(p, address);
}

int packs_read_moved(struct packs *p, struct hash128 address, void *raw, size_t n)
{
	const int mark = err_count();
	const int rc = packs_read(p, address, raw, n);
	if (rc != E_NOINPUT)
		return rc;
	err_truncate(mark);
	TRY(packs_refresh(p));
	return packs_read(p, address, raw, n);
}

/* --- writing --- */

#define LARGE ((uint32_t)1 << 20)      /* stored bytes from which on a chunk is written by another
                                        * thread */

/* What a thread writes while the next chunk is coded. */
struct written {
	const void *stored;
	size_t n;
	uint64_t at;
	int rc;
	struct err_record error;
};

struct pack_writer {
	struct packs *packs;
	struct codec_writer codec[2];  /* used alternately: the output of the other may still be being
	                                * written */
	int turn, level;
	char *path, *temporary;
	int fd, rc;                    /* rc: of the first failure */
	uint64_t at;
	struct pack_entry *entry;
	int n, cap;
	struct pool *pool;             /* NULL before the first large chunk */
	struct written written;
	struct buf small;              /* small chunks, gathered to be written together, up to byte
	                                * `at` */
};

#define GATHERED ((size_t)1 << 20)     /* bytes of small chunks that are gathered */

#define FAST_MATCH 7
#define FAST_HASH 8

/* zstd level 1 with byte planes: higher levels save less than half a per cent of weights and
 * moments. The plane of signs and exponents has few repetitions, so a small table of recent matches
 * is enough: the further matches that a larger table finds are short, and cost more than coding
 * their bytes. */
static int open_codec(struct codec_writer *w, int level)
{
	const bool fast = level == 1;
	return codec_writer_open_with(w, &(struct codec_settings){ .level = level,
		.plane_level = level, .plane_match = fast ? FAST_MATCH : 0,
		.plane_hash = fast ? FAST_HASH : 0, .least_gain = 50, .planes_alone = true });
}

static int begin(struct pack_writer *w)
{
	TRY(disk_mkdirs(w->packs->disk, w->packs->folder));
	if (disk_exists(w->packs->disk, w->path))
		return ERR(E_CANTCREATE, NULL, "cannot create '%s': there is a pack of this name", w->path);
	TRY(disk_create_temporary(w->packs->disk, w->path, &w->fd, &w->temporary));
	buf_add(&w->small, pack_magic, PACK_MAGIC_BYTES);
	w->at = PACK_MAGIC_BYTES;
	return 0;
}

static void writer_free(struct pack_writer *w)
{
	pool_free(w->pool);
	for (int i = 0; i < 2; i++)
		codec_writer_release(&w->codec[i]);
	buf_release(&w->small);
	mem_free(w->path);
	mem_free(w->entry);
	mem_free(w);
}

int pack_begin(struct pack_writer **out, struct packs *p, const char *name, int level)
{
	struct pack_writer *w = mem_calloc(1, sizeof *w);
	struct buf file = BUF_INIT;
	*out = NULL;
	buf_init(&w->small);
	buf_printf(&file, "%s" PACK_SUFFIX, name);
	w->packs = p;
	w->path = path_of(p, file.data);
	buf_release(&file);
	w->level = level;
	int rc = begin(w);
	if (rc < 0) {
		pack_discard(w);
		return rc;
	}
	*out = w;
	return 0;
}

/* A save has some thousands of chunks at most, and each comparison takes a nanosecond. */
static bool has(const struct pack_writer *w, struct hash128 address)
{
	for (int i = w->n - 1; i >= 0; i--)
		if (hash128_equal(w->entry[i].address, address))
			return true;
	return false;
}

static void write_chunk(void *arg)
{
	struct pack_writer *w = arg;
	struct written *c = &w->written;
	c->rc = disk_write_at(w->packs->disk, w->fd, w->path, c->at, c->stored, c->n);
	if (c->rc < 0)
		err_take(&c->error);
	else
		io_crash_point("ckpt_chunk");
}

/* Waits for the chunk that is being written; if that failed, the writer has failed. */
static int settle(struct pack_writer *w)
{
	struct written *c = &w->written;
	if (w->pool)
		pool_wait(w->pool);
	if (c->rc < 0 && w->rc == 0) {
		err_give(&c->error);
		w->rc = c->rc;
	}
	return w->rc;
}

/* Writes the small chunks gathered so far. No other write may be in progress. */
static int write_small(struct pack_writer *w)
{
	w->written = (struct written){ .stored = w->small.data, .n = w->small.len,
		.at = w->at - w->small.len };
	if (w->small.len)
		write_chunk(w);
	buf_clear(&w->small);
	return settle(w);
}

static int write_large(struct pack_writer *w, const void *stored, size_t n)
{
	TRY(write_small(w));
	if (!w->pool)
		w->pool = pool_new(1, 1);
	if (!w->pool)
		return w->rc = E_UNAVAILABLE;
	w->written = (struct written){ .stored = stored, .n = n, .at = w->at };
	pool_add(w->pool, write_chunk, w);
	return 0;
}

/* A large chunk may still be being written when this returns; `stored` must not change until
 * settle. */
static int append(struct pack_writer *w, struct pack_entry e, const void *stored)
{
	TRY(settle(w));
	if (e.stored >= LARGE)
		TRY(write_large(w, stored, e.stored));
	else {
		if (w->small.len + e.stored > GATHERED)
			TRY(write_small(w));
		buf_add(&w->small, stored, e.stored);
	}
	if (w->n == w->cap) {
		w->cap = w->cap ? 2 * w->cap : 64;
		w->entry = mem_realloc(w->entry, (size_t)w->cap * sizeof *w->entry);
	}
	e.at = w->at;
	w->entry[w->n++] = e;
	w->at += e.stored;
	return 0;
}

int pack_put(struct pack_writer *w, struct hash128 address, const void *raw, size_t n, int width)
{
	struct record_chunk c = { 0 };
	BUG_IF(n == 0 || n > CHUNK_RAW || width < 1, "a chunk of %zu bytes, elements of %d", n, width);
	TRY(w->rc);
	if (has(w, address))
		return 0;
	struct codec_writer *codec = &w->codec[w->turn];
	const size_t split = n % (size_t)width ? 1 : (size_t)width;
	if (!codec->zstd && open_codec(codec, w->level) < 0)
		return w->rc = E_NOMEM;
	const uint8_t *stored = codec_encode(codec, raw, n, split, &c);
	w->turn = !w->turn;
	if (!stored)
		return w->rc = E_BUG;
	return append(w, (struct pack_entry){ .address = address, .stored = (uint32_t)c.stored,
		.raw = (uint32_t)n, .codec = (uint8_t)c.codec, .width = (uint8_t)split }, stored);
}

int pack_put_from(struct pack_writer *w, int from, int i)
{
	const struct pack_entry *e = &w->packs->pack[from].entry[i];
	TRY(w->rc);
	if (has(w, e->address))
		return 0;
	uint8_t *stored = mem_alloc(e->stored), *raw = mem_alloc(e->raw);
	int rc = read_entry(w->packs, from, e, stored, raw);
	if (rc == 0)
		rc = append(w, *e, stored);
	settle(w);
	rc = rc < 0 ? rc : w->rc;
	mem_free(stored);
	mem_free(raw);
	return rc;
}

static int write_index(struct pack_writer *w)
{
	const size_t before = w->small.len;
	pack_index_put(&w->small, w->entry, w->n, w->at);
	w->at += w->small.len - before;
	return write_small(w);
}

/* A save that adds no chunk counts on packs that are there. The process that renamed one of them
 * may have been killed before it synced the folder. */
static int count_on_packs(struct pack_writer *w)
{
	struct packs *p = w->packs;
	pack_discard(w);
	return p->n ? disk_sync_folder(p->disk, p->folder) : 0;
}

int pack_finish(struct pack_writer *w, uint64_t *bytes)
{
	struct packs *p = w->packs;
	*bytes = 0;
	settle(w);
	if (w->n == 0 && w->rc == 0)
		return count_on_packs(w);
	int rc = w->rc < 0 ? w->rc : write_index(w);
	rc = disk_commit_temporary(p->disk, w->path, w->fd, w->temporary, rc);
	if (rc == 0)
		*bytes = w->at;
	writer_free(w);
	if (rc == 0)
		io_crash_point("ckpt_pack");
	return rc == 0 ? packs_refresh(p) : rc;
}

void pack_discard(struct pack_writer *w)
{
	if (!w)
		return;
	settle(w);
	if (w->temporary) {
		w->packs->disk->close(w->packs->disk, w->fd);
		w->packs->disk->unlink(w->packs->disk, w->temporary);
		mem_free(w->temporary);
	}
	writer_free(w);
}

/* --- removing --- */

int pack_remove(struct packs *p, const char *name)
{
	char *path = path_of(p, name);
	int rc = disk_remove(p->disk, path);
	mem_free(path);
	return rc;
}
