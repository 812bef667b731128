/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Saving. ckpt_save copies the state into one staging buffer that already has the form of the two
 * safetensors images, and hands it to a background thread, which compresses, writes, syncs, renames
 * and then applies the keep policy. Until the folder's rename nothing has a valid name; after the
 * sync of the parent the version is durable; only then may older ones go.
 *
 * Crash points, in the order of a save: ckpt_staged, ckpt_folder (temporary folder made), then for
 * each file ckpt_frame (each zstd frame) and ckpt_file (synced), ckpt_manifest (synced),
 * ckpt_renamed, ckpt_durable, then for each version dropped ckpt_hidden and ckpt_removed. When a
 * store is opened: ckpt_cleaned (each leftover removed). */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/trace.h"
#include "ckpt/pack.h"
#include "ckpt/safetensors.h"
#include "ckpt/version_list.h"

/* The staged copy of one state. Buffers grow to the largest state and are used again. */
struct stage {
	char *image;                   /* both safetensors images, one after the other */
	size_t cap;
	size_t size[CKPT_NFILES];
	struct buf header[CKPT_NFILES];
	struct st_tensor *tensor;      /* room for the tensors of one file */
	int tensor_cap;
	char parent[CKPT_ID];
	struct buf text;               /* metric name, scalar names and values, each with its NUL */
	struct ckpt_scalar *scalar;
	int scalar_cap;
	struct manifest manifest;      /* the job fills in serial, files and hash */
	double start;
};

struct ckpt_store {
	char *dir;
	int lock_fd;
	struct ckpt_config config;
	struct pool *pool;

	/* The background thread's while a save is in flight. */
	struct stage stage;
	struct packer *packer;
	struct version_list versions;
	struct buf manifest_text;

	char parent[CKPT_ID];          /* "" if none */

	pthread_mutex_t mutex;         /* guards the rest */
	int rc;                        /* outcome of the last save, until it is reported */
	struct err_record error;
	char saved[CKPT_ID];           /* the id of the last save that succeeded */
	struct ckpt_done *done;        /* not yet polled */
	int ndone, done_cap;
};

/* --- opening --- */

/* File systems without locks let everyone pass. */
static int lock_store(struct ckpt_store *s)
{
	s->lock_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->lock_fd < 0)
		return io_fail(E_IO, "open folder", s->dir);
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return ERR(E_UNAVAILABLE, NULL, "another process saves its checkpoints in '%s'", s->dir);
	return 0;
}

/* A folder that is new must not vanish with what is saved in it. */
static int make_folder(const char *dir)
{
	bool there = io_exists(dir);
	char *parent = io_join(dir, "..");
	int rc = io_mkdirs(dir);
	if (rc == 0 && !there)
		rc = io_sync_dir(parent);
	mem_free(parent);
	return rc;
}

static int open_store(struct ckpt_store *s)
{
	TRY(make_folder(s->dir));
	TRY(lock_store(s));
	TRY(version_clean(s->dir));
	TRY(version_list_read(&s->versions, s->dir));
	s->pool = pool_new(1, 1);
	if (!s->pool)
		return err_context(E_UNAVAILABLE, "while opening the checkpoints in '%s'", s->dir);
	s->packer = packer_new((int)s->config.compression);
	return 0;
}

int ckpt_open(struct ckpt_store **out, const char *dir, const struct ckpt_config *config)
{
	struct ckpt_store *s = mem_calloc(1, sizeof *s);
	int rc;
	s->dir = mem_strdup(dir);
	s->lock_fd = -1;
	s->config = *config;
	buf_init(&s->stage.text);
	buf_init(&s->manifest_text);
	for (int i = 0; i < CKPT_NFILES; i++)
		buf_init(&s->stage.header[i]);
	pthread_mutex_init(&s->mutex, NULL);
	rc = open_store(s);
	if (rc < 0) {
		ckpt_close(s);
		s = NULL;
	}
	*out = s;
	return rc;
}

static void stage_release(struct stage *g)
{
	for (int i = 0; i < CKPT_NFILES; i++)
		buf_release(&g->header[i]);
	buf_release(&g->text);
	mem_unmap(g->image, g->cap);
	mem_free(g->tensor);
	mem_free(g->scalar);
}

void ckpt_close(struct ckpt_store *s)
{
	int mark = err_count();
	if (!s)
		return;
	if (s->pool && ckpt_wait(s) < 0) {
		warn("%s", err_count() > mark ? err_get(mark)->text : "the last checkpoint failed");
		err_truncate(mark);
	}
	pool_free(s->pool);
	packer_free(s->packer);
	stage_release(&s->stage);
	version_list_release(&s->versions);
	buf_release(&s->manifest_text);
	pthread_mutex_destroy(&s->mutex);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	mem_free(s->done);
	mem_free(s->dir);
	mem_free(s);
}

void ckpt_set_parent(struct ckpt_store *s, const char *id)
{
	snprintf(s->parent, sizeof s->parent, "%s", id);
}

/* --- staging, on the caller's thread --- */

static int select_tensors(struct stage *g, const struct ckpt_state *state, bool weight)
{
	int n = 0;
	for (int i = 0; i < state->ntensors; i++) {
		const struct ckpt_tensor *t = &state->tensor[i];
		if (t->weight == weight)
			g->tensor[n++] = (struct st_tensor){ t->name, t->dtype, t->shape, t->data };
	}
	return n;
}

/* Headers first, since they say how large the images become. */
static void stage_headers(struct stage *g, const struct ckpt_state *state)
{
	static const char *const meta[] = { "format", "pt" };
	if (g->tensor_cap < state->ntensors) {
		g->tensor_cap = state->ntensors;
		g->tensor = mem_realloc(g->tensor, (size_t)g->tensor_cap * sizeof *g->tensor);
	}
	for (int f = 0; f < CKPT_NFILES; f++) {
		int n = select_tensors(g, state, f == CKPT_WEIGHTS);
		buf_clear(&g->header[f]);
		st_build_header(&g->header[f], g->tensor, n, meta, 1);
		g->size[f] = g->header[f].len;
		for (int i = 0; i < n; i++)
			g->size[f] += st_bytes(&g->tensor[i]);
	}
}

static int stage_reserve(struct stage *g)
{
	size_t need = g->size[CKPT_WEIGHTS] + g->size[CKPT_STATE];
	if (need <= g->cap)
		return 0;
	mem_unmap(g->image, g->cap);
	g->cap = 0;
	g->image = mem_map(need);
	if (!g->image)
		return ERR(E_NOMEM, NULL, "no memory to stage a checkpoint of %zu bytes", need);
	g->cap = need;
	return 0;
}

static void stage_images(struct stage *g, const struct ckpt_state *state)
{
	char *w = g->image;
	for (int f = 0; f < CKPT_NFILES; f++) {
		int n = select_tensors(g, state, f == CKPT_WEIGHTS);
		memcpy(w, g->header[f].data, g->header[f].len);
		w += g->header[f].len;
		for (int i = 0; i < n; i++) {
			size_t bytes = st_bytes(&g->tensor[i]);
			if (bytes)
				memcpy(w, g->tensor[i].data, bytes);
			w += bytes;
		}
	}
}

static const char *next_string(const char **p)
{
	const char *s = *p;
	*p += strlen(s) + 1;
	return s;
}

/* The strings go into one buffer; pointers into it are taken when it no longer moves. */
static void stage_texts(struct stage *g, const struct ckpt_state *state)
{
	struct buf *b = &g->text;
	const char *p;
	buf_clear(b);
	if (state->metric_name)
		buf_add(b, state->metric_name, strlen(state->metric_name) + 1);
	for (int i = 0; i < state->nscalars; i++) {
		buf_add(b, state->scalar[i].name, strlen(state->scalar[i].name) + 1);
		buf_add(b, state->scalar[i].value, strlen(state->scalar[i].value) + 1);
	}
	if (g->scalar_cap < state->nscalars) {
		g->scalar_cap = state->nscalars;
		g->scalar = mem_realloc(g->scalar, (size_t)g->scalar_cap * sizeof *g->scalar);
	}
	p = b->data;
	g->manifest.metric_name = state->metric_name ? next_string(&p) : NULL;
	for (int i = 0; i < state->nscalars; i++) {
		g->scalar[i].name = next_string(&p);
		g->scalar[i].value = next_string(&p);
	}
}

static int stage_state(struct ckpt_store *s, const struct ckpt_state *state)
{
	struct stage *g = &s->stage;
	g->start = io_seconds();
	stage_headers(g, state);
	TRY(stage_reserve(g));
	stage_images(g, state);
	stage_texts(g, state);
	g->manifest.step = state->step;
	g->manifest.epoch = state->epoch;
	g->manifest.metric = state->metric;
	if (!isfinite(state->metric))
		g->manifest.metric_name = NULL;
	memcpy(g->parent, s->parent, sizeof g->parent);
	g->manifest.parent = g->parent[0] ? g->parent : NULL;
	g->manifest.scalar = g->scalar;
	g->manifest.nscalars = state->nscalars;
	return 0;
}

/* --- writing, on the background thread --- */

static int write_files(struct ckpt_store *s, const char *tmp)
{
	const char *image = s->stage.image;
	if (io_exists(tmp))
		TRY(io_remove_tree(tmp));
	TRY(io_mkdirs(tmp));
	io_crash_point("ckpt_folder");
	for (int f = 0; f < CKPT_NFILES; f++) {
		char *path = io_join(tmp, ckpt_file_names[f]);
		double start = io_seconds();
		int rc = pack_file(s->packer, path, image, s->stage.size[f], &s->stage.manifest.file[f]);
		trace_add(&(struct trace_span){ .lane = TRACE_CHECKPOINT, .name = "compress and write",
			.start = start,
			.of = "bytes", .number = (int64_t)s->stage.size[f] });
		mem_free(path);
		TRY(rc);
		image += s->stage.size[f];
	}
	return 0;
}

/* The manifest's text. A run repeated bit by bit after its last version got damaged would make that
 * version's id again; the serial moves on until the id is free. */
static void make_manifest(struct ckpt_store *s, char id[CKPT_ID])
{
	struct manifest *m = &s->stage.manifest;
	bool taken;
	m->serial = s->versions.n ? s->versions.v[s->versions.n - 1].serial : 0;
	if (m->serial < 0)
		m->serial = 0;
	do {
		char *path;
		m->serial++;
		buf_clear(&s->manifest_text);
		manifest_write(&s->manifest_text, m);
		manifest_id(m, id);
		path = io_join(s->dir, id);
		taken = io_exists(path);
		mem_free(path);
	} while (taken);
}

static int publish(struct ckpt_store *s, const char *tmp, const char *id)
{
	char *manifest = io_join(tmp, CKPT_MANIFEST), *final = io_join(s->dir, id);
	int rc = io_write_file(manifest, s->manifest_text.data, s->manifest_text.len);
	io_crash_point("ckpt_manifest");
	if (rc == 0 && rename(tmp, final) < 0)
		rc = ERR(E_IO, NULL, "cannot rename '%s' to '%s': %s", tmp, final, strerror(errno));
	io_crash_point("ckpt_renamed");
	if (rc == 0)
		rc = io_sync_dir(s->dir);
	io_crash_point("ckpt_durable");
	mem_free(manifest);
	mem_free(final);
	return rc;
}

/* What cannot be deleted is no reason to stop: it is hidden or stays, and the user is told. */
static void drop_expired(struct ckpt_store *s)
{
	int i, mark = err_count();
	while ((i = version_list_expired(&s->versions, &s->config.keep)) >= 0) {
		if (version_remove(s->dir, s->versions.v[i].id) < 0) {
			warn("an old checkpoint stays: %s",
			     err_count() > mark ? err_get(mark)->text : s->versions.v[i].id);
			err_truncate(mark);
		}
		version_list_remove(&s->versions, i);
	}
}

static int write_version(struct ckpt_store *s, char id[CKPT_ID])
{
	struct buf name = BUF_INIT;
	char *tmp;
	int rc;
	buf_printf(&name, STORE_TMP "%lld-%ld", (long long)s->stage.manifest.step, (long)getpid());
	tmp = io_join(s->dir, name.data);
	buf_release(&name);
	rc = write_files(s, tmp);
	if (rc == 0) {
		make_manifest(s, id);
		rc = publish(s, tmp, id);
	}
	if (rc < 0) {
		int mark = err_count();
		io_remove_tree(tmp);
		err_truncate(mark);
	}
	mem_free(tmp);
	return rc;
}

static void push_done(struct ckpt_store *s, const char *id)
{
	const struct manifest *m = &s->stage.manifest;
	struct ckpt_done *d;
	if (s->ndone == s->done_cap) {
		s->done_cap = s->done_cap ? 2 * s->done_cap : 4;
		s->done = mem_realloc(s->done, (size_t)s->done_cap * sizeof *s->done);
	}
	d = &s->done[s->ndone++];
	memset(d, 0, sizeof *d);
	snprintf(d->id, sizeof d->id, "%s", id);
	d->step = m->step;
	d->bytes = s->manifest_text.len;
	for (int f = 0; f < CKPT_NFILES; f++)
		d->bytes += m->file[f].bytes;
	d->seconds = io_seconds() - s->stage.start;
}

static void save_job(void *arg)
{
	struct ckpt_store *s = arg;
	char id[CKPT_ID];
	double start = io_seconds();
	int rc = write_version(s, id);
	trace_add(&(struct trace_span){ .lane = TRACE_CHECKPOINT, .name = "save", .start = start,
		.of = "of_step",
		.number = s->stage.manifest.step });
	pthread_mutex_lock(&s->mutex);
	s->rc = rc;
	if (rc < 0) {
		err_context(rc, "while saving a checkpoint in '%s'; the older ones are untouched", s->dir);
		err_take(&s->error);
	} else {
		push_done(s, id);
		memcpy(s->saved, id, sizeof s->saved);
	}
	pthread_mutex_unlock(&s->mutex);
	if (rc == 0) {
		version_list_add(&s->versions, id, &s->stage.manifest);
		drop_expired(s);
	}
}

/* --- the caller's side --- */

int ckpt_wait(struct ckpt_store *s)
{
	int rc;
	pool_wait(s->pool);
	pthread_mutex_lock(&s->mutex);
	rc = s->rc;
	s->rc = 0;
	if (rc < 0)
		err_give(&s->error);
	if (s->saved[0])
		memcpy(s->parent, s->saved, sizeof s->parent);
	s->saved[0] = '\0';
	pthread_mutex_unlock(&s->mutex);
	return rc;
}

int ckpt_save(struct ckpt_store *s, const struct ckpt_state *state)
{
	BUG_IF(state->step < 0 || state->epoch < 0, "a checkpoint of step %lld, epoch %lld",
	       (long long)state->step, (long long)state->epoch);
	TRY(ckpt_wait(s));
	double start = io_seconds();
	TRY(stage_state(s, state));
	trace_mark(TRACE_RUN, "snapshot", start);
	io_crash_point("ckpt_staged");
	pool_add(s->pool, save_job, s);
	return 0;
}

bool ckpt_poll(struct ckpt_store *s, struct ckpt_done *out)
{
	bool any;
	pthread_mutex_lock(&s->mutex);
	any = s->ndone > 0;
	if (any) {
		*out = s->done[0];
		memmove(s->done, s->done + 1, (size_t)--s->ndone * sizeof *s->done);
	}
	pthread_mutex_unlock(&s->mutex);
	return any;
}
