/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Selects the source of a chunk's bytes: the host's disk, the source file if this rank is the
 * owner, or another rank. The extent's state, protected by the lock, selects one of the owner's
 * threads to read it; no lock is held during the read. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "data/record_file.h"
#include "data/staging_state.h"

#define PIECE ((size_t)4 << 20)      /* bytes of an extent that are moved at a time */

static void set_state(struct staging_file *f, int64_t k, enum extent_state state)
{
	pthread_mutex_lock(&f->s->lock);
	atomic_store(&f->state[k], (uint8_t)state);
	pthread_cond_broadcast(&f->s->settled);
	pthread_mutex_unlock(&f->s->lock);
}

bool staging_kept(struct staging_file *f, int64_t k)
{
	const uint8_t state = atomic_load(&f->state[k]);
	uint8_t kept, unknown = EXTENT_UNKNOWN;
	if (state != EXTENT_UNKNOWN)
		return state == EXTENT_KEPT;
	staging_cache_map(&f->cache, k, &kept, 1);
	if (kept == 1)
		atomic_compare_exchange_strong(&f->state[k], &unknown, EXTENT_KEPT);
	return kept == 1;
}

static int read_source(struct staging_file *f, uint64_t at, void *p, size_t n)
{
	TRY(io_reader_read(&f->r->file, at, p, n));
	atomic_fetch_add(&f->s->read, (int64_t)n);
	return 0;
}

/* --- room on the disk --- */

static bool take_room(struct staging *s, int64_t n)
{
	if (s->config.limit == INT64_MIN)
		return true;
	if (atomic_fetch_sub(&s->room, n) >= n)
		return true;
	atomic_fetch_add(&s->room, n);
	return false;
}

/* The warning is printed once per host, because its ranks share the disk. */
static void disk_failed(struct staging_file *f, int why)
{
	struct staging *s = f->s;
	if (atomic_exchange(&s->full, true) || !staging_cache_tell(&s->file[0].cache))
		return;
	warn("'data.stage': '%s' takes no more data (%s): what is not there yet stays where the "
	     "record files are", s->config.dir, strerror(why));
}

/* Writes n bytes of an extent to the disk; false if there is no room. */
static bool keep(struct staging_file *f, uint64_t at, const void *p, size_t n)
{
	const int why = staging_cache_write(&f->cache, at, p, n);
	if (why)
		disk_failed(f, why);
	return why == 0;
}

/* --- the owner --- */

static int fill_piece(struct staging_file *f, int64_t owner, uint64_t at, void *p, size_t n)
{
	const struct fetch_range range = { .file = f->number, .at = at, .n = n };
	return owner < 0 ? read_source(f, at, p, n) : fetch_ask(f->s->fetch, (int)owner, &range, p);
}

/* Copies an extent from the source (owner -1) or from another rank to the disk. *kept: there was
 * room for it. */
static int fill(struct staging_file *f, int64_t k, int64_t owner, bool *kept)
{
	const uint64_t end = f->start[k + 1];
	const int64_t bytes = (int64_t)staging_extent_bytes(f, k);
	char *p;
	int rc = 0;
	*kept = f->cache.path && !atomic_load(&f->s->full) && take_room(f->s, bytes);
	if (!*kept)
		return 0;
	p = mem_alloc(PIECE);
	for (uint64_t at = f->start[k]; at < end && rc == 0 && *kept; at += PIECE) {
		const size_t n = end - at < PIECE ? end - at : PIECE;

		rc = fill_piece(f, owner, at, p, n);
		*kept = rc == 0 && keep(f, at, p, n);
	}
	mem_free(p);
	io_crash_point("stage_written");
	if (*kept && staging_cache_mark(&f->cache, k) != 0)
		*kept = false;
	if (*kept)
		atomic_fetch_add(&f->s->kept, bytes);
	else
		staging_cache_clear(&f->cache, f->start[k], (uint64_t)bytes);
	return rc;
}

/* Whether the caller must read extent k; if not, it is done. Waits for a thread that is reading
 * it. */
static bool claim(struct staging_file *f, int64_t k)
{
	struct staging *s = f->s;
	bool mine;
	pthread_mutex_lock(&s->lock);
	while (atomic_load(&f->state[k]) == EXTENT_BUSY)
		pthread_cond_wait(&s->settled, &s->lock);
	mine = atomic_load(&f->state[k]) == EXTENT_UNKNOWN;
	if (mine)
		atomic_store(&f->state[k], EXTENT_BUSY);
	pthread_mutex_unlock(&s->lock);
	return mine;
}

int staging_settle(struct staging_file *f, int64_t k)
{
	uint8_t there;
	bool kept = true;
	int rc = 0;
	if (!claim(f, k))
		return 0;
	staging_cache_map(&f->cache, k, &there, 1);      /* another job on this host may have read it */
	if (there != 1)
		rc = fill(f, k, -1, &kept);
	set_state(f, k, rc < 0 ? EXTENT_UNKNOWN : kept ? EXTENT_KEPT : EXTENT_LOOSE);
	return rc;
}

/* --- damage --- */

static void say_damaged(const struct staging_file *f, uint64_t at)
{
	warn("'%s': the copy in '%s' is damaged at byte %llu or after it; it is read anew",
	     record_path(f->r), f->s->config.dir, (unsigned long long)at);
}

static void repair(struct staging_file *f, int64_t k, uint64_t at, const void *p, size_t n)
{
	if (staging_kept(f, k) && staging_cache_write(&f->cache, at, p, n) == 0)
		atomic_fetch_add(&f->s->repaired, (int64_t)n);
}

static int read_fresh(struct staging_file *f, int64_t k, uint64_t at, void *p, size_t n)
{
	TRY(read_source(f, at, p, n));
	repair(f, k, at, p, n);
	return 0;
}

/* A copy that was truncated is repaired; one that cannot be read is ignored. */
static int read_own(struct staging_file *f, int64_t k, uint64_t at, void *p, size_t n)
{
	int why;
	TRY(staging_settle(f, k));
	if (atomic_load(&f->state[k]) != EXTENT_KEPT)
		return read_source(f, at, p, n);
	why = staging_cache_read(&f->cache, at, p, n);
	if (why == 0)
		return 0;
	if (why == ENODATA) {
		say_damaged(f, at);
		return read_fresh(f, k, at, p, n);
	}
	set_state(f, k, EXTENT_LOOSE);
	return read_source(f, at, p, n);
}

/* --- other ranks --- */

static int ask_owner(struct staging_file *f, int owner, uint64_t at, char *p, size_t n, bool fresh)
{
	while (n > 0) {
		const struct fetch_range range = { .file = f->number, .at = at,
			.n = n < FETCH_MOST ? n : FETCH_MOST, .fresh = fresh };

		TRY(fetch_ask(f->s->fetch, owner, &range, p));
		at += range.n;
		p += range.n;
		n -= range.n;
	}
	return 0;
}

int staging_answer(void *staging, const struct fetch_range *range, void *p)
{
	struct staging *s = staging;
	struct staging_file *f = &s->file[range->file];
	const int64_t k = staging_extent_of(f, range->at);
	BUG_IF(staging_owner(s, f->first + k) != staging_me(s), "asked for another rank's extent");
	if (range->fresh)
		return read_fresh(f, k, range->at, p, range->n);
	return read_own(f, k, range->at, p, range->n);
}

int staging_copy_extent(struct staging_file *f, int64_t k)
{
	bool kept;
	TRY(fill(f, k, staging_owner(f->s, f->first + k), &kept));
	if (kept)
		set_state(f, k, EXTENT_KEPT);
	return 0;
}

/* --- readers --- */

int staging_read(void *file, uint64_t at, void *p, size_t n, bool fresh)
{
	struct staging_file *f = file;
	const int64_t k = staging_extent_of(f, at);
	const int owner = staging_owner(f->s, f->first + k);
	const bool mine = owner == staging_me(f->s);
	if (fresh)
		say_damaged(f, at);
	if (!fresh && !mine && staging_kept(f, k) && staging_cache_read(&f->cache, at, p, n) == 0)
		return 0;
	if (mine)
		return fresh ? read_fresh(f, k, at, p, n) : read_own(f, k, at, p, n);
	TRY(ask_owner(f, owner, at, p, n, fresh));
	if (fresh)
		repair(f, k, at, p, n);
	return 0;
}
