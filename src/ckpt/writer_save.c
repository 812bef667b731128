/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A save on the background thread. The order is the promise: chunks durable, then the manifest
 * durable, then the log, and only then may older versions go, and after them packs. With several
 * ranks each has a pack of the chunks whose number modulo the ranks is its own, and rank 0 waits
 * until no chunk is missing any more.
 *
 * Crash points, in this order: ckpt_staged (in writer.c), ckpt_chunk (each write of chunks),
 * ckpt_pack (durable), ckpt_manifest (about to be written), ckpt_durable, ckpt_removed (each
 * version that the policy drops), ckpt_collected (each pack). When a store is opened:
 * ckpt_cleaned. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/trace.h"
#include "ckpt/collect.h"
#include "ckpt/holds.h"
#include "ckpt/version_log.h"
#include "ckpt/writer_state.h"

#define WAIT_LEAST 20.0                /* seconds that rank 0 waits for other ranks' packs, */
#define WAIT_SHARE 10.0                /* plus this multiple of the seconds that its own pack
                                        * took */

struct chunk {
	struct hash128 address;
	const char *raw;
	size_t n;
	int width;
};

struct save {
	struct ckpt_store *s;
	struct chunk *chunk;               /* of all tensors, in order */
	int64_t n;
	bool alone;                        /* existing packs may be relied on: no other process is
	                                    * removing packs */
};

/* --- the chunks --- */

static void cut_tensor(struct save *w, struct manifest_tensor *t, const char *data)
{
	for (int64_t i = 0; i < t->nchunks; i++)
		w->chunk[w->n++] = (struct chunk){ .raw = data + (size_t)i * CHUNK_RAW,
			.n = manifest_chunk_bytes(t, i), .width = (int)dtype_size(t->dtype) };
}

static void cut_tensors(struct save *w)
{
	struct staged *g = &w->s->staged;
	int64_t n = 0;
	for (int i = 0; i < g->manifest.ntensors; i++)
		n += g->tensor[i].nchunks;
	w->chunk = ARENA_ARRAY(g->a, struct chunk, n);
	for (int i = 0; i < g->manifest.ntensors; i++)
		cut_tensor(w, &g->tensor[i], g->data[i]);
}

static bool is_mine(const struct save *w, int64_t i)
{
	return i % w->s->ranks == w->s->rank;
}

/* Rank 0 names all chunks in the manifest; the other ranks only write theirs. */
static void hash_chunks(struct save *w)
{
	for (int64_t i = 0; i < w->n; i++)
		if (w->s->rank == 0 || is_mine(w, i))
			w->chunk[i].address = hash128_bytes(w->chunk[i].raw, w->chunk[i].n);
}

static void name_chunks(struct save *w)
{
	struct staged *g = &w->s->staged;
	int64_t at = 0;
	for (int i = 0; i < g->manifest.ntensors; i++) {
		struct manifest_tensor *t = &g->tensor[i];
		struct hash128 *address = ARENA_ARRAY(g->a, struct hash128, t->nchunks);
		for (int64_t k = 0; k < t->nchunks; k++)
			address[k] = w->chunk[at++].address;
		t->chunk = address;
	}
}

/* --- packs --- */

static char *pack_name(const struct ckpt_store *s, const char *what)
{
	struct buf name = BUF_INIT;
	buf_printf(&name, "%012" PRId64 "-%.8s-%s-%d-%s%d", s->staged.manifest.step, s->link.run,
	           s->save, s->number, what, s->rank);
	return buf_detach(&name);
}

/* Writes a pack of the chunks that are missing: of all ranks (all), or only those of this rank. */
static int write_pack(struct save *w, const char *what, bool all)
{
	struct ckpt_store *s = w->s;
	struct pack_writer *pack;
	char *name = pack_name(s, what);
	uint64_t bytes;
	int rc = pack_begin(&pack, s->packs, name, (int)s->config.compression);
	mem_free(name);
	TRY(rc);
	for (int64_t i = 0; rc == 0 && i < w->n; i++) {
		const struct chunk *c = &w->chunk[i];
		if ((all || is_mine(w, i)) && !(w->alone && packs_has(s->packs, c->address, c->n)))
			rc = pack_put(pack, c->address, c->raw, c->n, c->width);
	}
	if (rc < 0) {
		pack_discard(pack);
		return rc;
	}
	TRY(pack_finish(pack, &bytes));
	s->added += bytes;
	return 0;
}

static int64_t first_missing(const struct save *w)
{
	for (int64_t i = 0; i < w->n; i++)
		if (!packs_has(w->s->packs, w->chunk[i].address, w->chunk[i].n))
			return i;
	return -1;
}

/* Waits for the other ranks' packs until every chunk exists. Rank 0 writes itself what is still
 * missing after the time limit. */
static int await_packs(struct save *w)
{
	struct ckpt_store *s = w->s;
	const double own = io_seconds() - s->staged.start;
	const double deadline = io_seconds() + WAIT_LEAST + WAIT_SHARE * own;
	int64_t missing;
	for (useconds_t pause = 2000; (missing = first_missing(w)) >= 0; pause += pause / 2) {
		if (io_seconds() > deadline) {
			warn("rank %d has not written its part of the checkpoint of step %" PRId64 " in %.0f "
			     "seconds; rank 0 writes it", (int)(missing % s->ranks), s->staged.manifest.step,
			     io_seconds() - s->staged.start);
			return write_pack(w, "late", true);
		}
		usleep(pause < 200000 ? pause : 200000);
		TRY(packs_refresh(s->packs));
	}
	return 0;
}

/* --- the manifest --- */

static int publish(struct ckpt_store *s, char id[CKPT_ID])
{
	struct manifest *m = &s->staged.manifest;
	uint64_t bytes;
	char *path;
	const int64_t serial = ckpt_newest(s).serial;
	m->serial = serial > m->serial ? serial : m->serial;
	TRY(manifest_publish(m, s->disk, s->link.store, id, &path, &bytes));
	io_crash_point("ckpt_durable");
	s->added += bytes;
	version_list_add(&s->versions, id, path, m);
	mem_free(path);
	return 0;
}

static int write_held(struct save *w, struct hold *h, char id[CKPT_ID])
{
	struct ckpt_store *s = w->s;
	TRY(hold_alone(h, &w->alone));
	TRY(packs_refresh(s->packs));
	const bool all = s->rank == 0 && !w->alone;   /* it may not count on what others write */
	TRY(write_pack(w, all ? "all" : "", all));
	if (s->rank)
		return 0;
	if (!all)
		TRY(await_packs(w));
	return publish(s, id);
}

static int write_version(struct ckpt_store *s, char id[CKPT_ID])
{
	struct save w = { .s = s };
	struct hold *h;
	s->added = 0;
	if (s->staged.fill)
		TRY(s->staged.fill(s->staged.fill_arg));
	s->staged.seconds = io_seconds() - s->staged.start;
	cut_tensors(&w);
	hash_chunks(&w);
	if (s->rank == 0)
		name_chunks(&w);
	struct buf name = BUF_INIT;
	buf_printf(&name, "%s-%s-%d", s->link.run, s->save, s->rank);
	int rc = hold_take(&h, s->disk, s->link.store, HOLD_SAVE, name.data);
	buf_release(&name);
	TRY(rc);
	rc = write_held(&w, h, id);
	hold_drop(h);
	return rc;
}

/* --- the keep policy --- */

/* What cannot be deleted is no reason to stop: it stays, and a warning says so. */
static void say_stays(int mark, const char *what)
{
	if (err_count() > mark)
		warn("%s: %s", what, err_get(mark)->text);
	err_truncate(mark);
}

/* Before older versions go, so that the file is never of one that is no more. */
static void renew_plain(struct ckpt_store *s, const char *id)
{
	const int mark = err_count(), best = version_list_best(&s->versions);
	if (s->config.plain != PLAIN_WEIGHTS || (best >= 0 && strcmp(s->versions.v[best].id, id) != 0))
		return;
	if (plain_write(&s->staged.plain, s->dir, id) < 0)
		say_stays(mark, "the plain file of weights stays as it was");
}

static int drop_expired(struct ckpt_store *s)
{
	const int mark = err_count();
	struct refs refs;
	int i, dropped = 0;
	if (refs_read(&refs, s->disk, s->link.store) < 0) {
		say_stays(mark, "no old checkpoint is removed");
		return 0;
	}
	while ((i = version_list_expired(&s->versions, &s->config.keep, &refs)) >= 0) {
		if (version_remove(s->disk, &s->versions.v[i]) < 0)
			say_stays(mark, "an old checkpoint stays");
		else {
			dropped++;
			version_log_add(s->disk, s->dir, VERSION_LOG_REMOVED, s->versions.v[i].id);
		}
		version_list_remove(&s->versions, i);
	}
	refs_release(&refs);
	err_truncate(mark);
	return dropped;
}

static void collect(struct ckpt_store *s)
{
	const int mark = err_count();
	struct collected done;
	char *name = pack_name(s, "kept");
	struct buf hold = BUF_INIT, run = BUF_INIT;
	buf_printf(&hold, "%s-%s", s->link.run, name);
	buf_printf(&run, "-%.8s-", s->link.run);
	if (collect_packs_beside(&done, s->disk, s->link.store, hold.data, run.data) < 0)
		say_stays(mark, "old chunks stay");
	buf_release(&run);
	buf_release(&hold);
	mem_free(name);
	err_truncate(mark);
}

/* --- the job --- */

static void push_done(struct ckpt_store *s, const char *id)
{
	if (s->ndone == s->done_cap) {
		s->done_cap = s->done_cap ? 2 * s->done_cap : 4;
		s->done = mem_realloc(s->done, (size_t)s->done_cap * sizeof *s->done);
	}
	struct ckpt_done *d = &s->done[s->ndone++];
	*d = (struct ckpt_done){ .step = s->staged.manifest.step, .bytes = s->added,
		.raw = s->staged.raw, .seconds = io_seconds() - s->staged.start,
		.staged = s->staged.seconds };
	snprintf(d->id, sizeof d->id, "%s", id);
}

static void note_outcome(struct ckpt_store *s, int rc, const char *id)
{
	pthread_mutex_lock(&s->mutex);
	s->rc = rc;
	if (rc < 0) {
		err_context(rc, "while saving a checkpoint in '%s'; the older ones are untouched", s->dir);
		err_take(&s->error);
	} else if (s->rank == 0) {
		push_done(s, id);
		snprintf(s->saved, sizeof s->saved, "%s", id);
	}
	pthread_mutex_unlock(&s->mutex);
}

void save_job(void *arg)
{
	struct ckpt_store *s = arg;
	char id[CKPT_ID] = "";
	const double start = io_seconds();
	const int rc = write_version(s, id);
	trace_add(&(struct trace_span){ .lane = TRACE_CHECKPOINT, .name = "save", .start = start,
		.of = "of_step", .number = s->staged.manifest.step });
	note_outcome(s, rc, id);
	if (rc == 0 && s->rank == 0) {
		const int mark = err_count();
		if (version_log_add(s->disk, s->dir, VERSION_LOG_SAVED, id) < 0)
			say_stays(mark, "the log of checkpoints has no line of the last one");
		renew_plain(s, id);
		if (drop_expired(s))
			collect(s);
	}
	pthread_mutex_lock(&s->mutex);
	s->busy = false;
	pthread_mutex_unlock(&s->mutex);
}
