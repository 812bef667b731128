/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of the checkpoint writer that runs in the caller's thread: opening a store, starting a
 * save, and reporting its outcome. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/trace.h"
#include "ckpt/holds.h"
#include "ckpt/run_claim.h"
#include "ckpt/run_store.h"
#include "ckpt/version_log.h"
#include "ckpt/writer_state.h"

/* --- opening --- */

/* *reason: what the lock failed with, or 0. */
static int lock_path(struct ckpt_store *s, const char *path, int flags, int *reason)
{
	if (s->lock_fd >= 0)
		s->disk->close(s->disk, s->lock_fd);
	*reason = disk_open(s->disk, &s->lock_fd, path, flags);
	if (*reason) {
		s->lock_fd = -1;
		errno = *reason;
		return io_fail(E_IO, "open", path);
	}
	*reason = s->disk->lock(s->disk, s->lock_fd);
	return 0;
}

#define LOCK_FILE ".lock"

/* NFS locks only files that are open for writing, which a folder cannot be, so a file in it is
 * locked instead. On a file system without locks every process passes. */
static int lock_store(struct ckpt_store *s)
{
	int reason;
	TRY(lock_path(s, s->dir, O_RDONLY | O_DIRECTORY, &reason));
	if (reason == EBADF) {
		char *file = io_join(s->dir, LOCK_FILE);
		int rc = lock_path(s, file, O_RDWR | O_CREAT, &reason);
		mem_free(file);
		TRY(rc);
	}
	if (reason == EWOULDBLOCK)
		return ERR(E_UNAVAILABLE, NULL, "another process saves its checkpoints in '%s'", s->dir);
	s->unlocked = reason != 0;
	if (s->unlocked)
		warn("'%s' cannot be locked (%s): another process that saves there would not be noticed, "
		     "and what a killed one leaves stays for a day", s->dir, strerror(reason));
	return 0;
}

/* The store's path in run.json must not depend on where a process was started. */
static char *store_path(const struct ckpt_store *s)
{
	char *path = NULL, *real;
	if (!s->config.store)
		return NULL;
	if (disk_mkdirs(s->disk, s->config.store) < 0)
		return NULL;
	real = s->disk == disk_system() ? realpath(s->config.store, NULL) : NULL;
	path = mem_strdup(real ? real : s->config.store);
	free(real);
	return path;
}

static int link_run(struct ckpt_store *s, const char *run)
{
	const int mark = err_count();
	char *store = store_path(s);
	if (err_count() > mark)
		return err_context(E_CANTCREATE, "while making 'checkpoint.store'");
	int rc = run_link_get(&s->link, s->a, s->disk, s->dir, store, run);
	mem_free(store);
	return rc;
}

/* Whether other runs may have files in the store. */
static bool shared(const struct ckpt_store *s)
{
	return strcmp(s->link.store, s->dir) != 0;
}

/* Without locks, files that look like leftovers may belong to a process that is saving now. */
static int clean(struct ckpt_store *s)
{
	const bool aged = s->unlocked || shared(s);
	TRY(version_clean(s->disk, &s->link, s->dir, aged ? HOLD_AGE : 0));
	return holds_clear(s->disk, s->link.store, s->unlocked ? NULL : s->link.run);
}

/* run: NULL in a run's folder; a host's own disk may have lost what it had, and is of no folder. */
static int check_folder(struct ckpt_store *s, const char *run)
{
	if (run)
		return 0;
	TRY(run_store_check(s->disk, &s->link, s->dir, version_list_any(&s->versions)));
	return s->rank ? 0 : run_claim(&s->link, s->a, s->disk, s->dir, &s->versions);
}

static int open_store(struct ckpt_store *s, const char *run)
{
	const int mark = err_count();
	TRY(disk_mkdirs(s->disk, s->dir));
	if (s->rank == 0)
		TRY(lock_store(s));
	TRY(link_run(s, run));
	TRY(run_store_read(version_list_read(&s->versions, s->disk, &s->link), mark, s->disk,
	                   &s->link, s->dir));
	TRY(check_folder(s, run));
	if (s->rank == 0)
		TRY(clean(s));
	TRY(packs_open(&s->packs, s->disk, s->link.store));
	s->pool = pool_new(1, 1);
	if (!s->pool)
		return err_context(E_UNAVAILABLE, "while opening the checkpoints in '%s'", s->dir);
	return 0;
}

/* Makes a name for the saves of a single process, which may open a store several times in a
 * second. */
static void name_save(struct ckpt_store *s)
{
	static atomic_uint opened;
	snprintf(s->save, sizeof s->save, "%ld-%08x-%u", (long)getpid(),
	         (unsigned)(s->disk->clock(s->disk) & 0xffffffff), atomic_fetch_add(&opened, 1));
}

int ckpt_open_on(struct ckpt_store **out, struct disk *disk, const char *dir,
                 const struct ckpt_config *config, const struct ckpt_share *share)
{
	struct ckpt_store *s = mem_calloc(1, sizeof *s);
	s->disk = disk;
	s->dir = mem_strdup(dir);
	s->lock_fd = -1;
	s->config = *config;
	s->rank = share ? share->rank : 0;
	s->ranks = share ? share->ranks : 1;
	s->world = share && share->world ? share->world : s->ranks;
	if (share)
		snprintf(s->save, sizeof s->save, "%.40s", share->save);
	else
		name_save(s);
	s->a = arena_new();
	pthread_mutex_init(&s->mutex, NULL);
	int rc = open_store(s, share ? share->run : NULL);
	if (rc < 0) {
		ckpt_close(s);
		s = NULL;
	}
	*out = s;
	return rc;
}

int ckpt_open(struct ckpt_store **out, const char *dir, const struct ckpt_config *config,
              const struct ckpt_share *share)
{
	return ckpt_open_on(out, disk_system(), dir, config, share);
}

const char *ckpt_run(const struct ckpt_store *s)
{
	return s->link.run;
}

void ckpt_run_of(const char *dir, char run[CKPT_RUN])
{
	const int mark = err_count();
	struct arena *a = arena_new();
	struct run_link link;
	const int rc = run_link_read(&link, a, disk_system(), dir);
	snprintf(run, CKPT_RUN, "%s", rc == 0 ? link.run : "");
	err_truncate(mark);
	arena_free(a);
}

void ckpt_alone(struct ckpt_store *s)
{
	s->ranks = 1;
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
	packs_close(s->packs);
	version_list_release(&s->versions);
	arena_free(s->staged.a);
	arena_free(s->a);
	pthread_mutex_destroy(&s->mutex);
	if (s->lock_fd >= 0)
		s->disk->close(s->disk, s->lock_fd);
	mem_free(s->done);
	mem_free(s->dir);
	mem_free(s);
}

struct ckpt_age ckpt_newest(const struct ckpt_store *s)
{
	const struct version_list *l = &s->versions;
	const struct version *v = l->first < l->n ? &l->v[l->n - 1] : NULL;
	return v ? (struct ckpt_age){ v->time, v->serial } : (struct ckpt_age){ 0 };
}

/* Its files and itself. What cannot be removed stays. */
static void remove_folder(struct disk *d, const char *path)
{
	struct disk_names names;
	if (disk_list(&names, d, path) == 0)
		for (int i = 0; i < names.n; i++) {
			char *file = io_join(path, names.name[i]);
			d->unlink(d, file);
			mem_free(file);
		}
	disk_names_release(&names);
	rmdir(path);
}

/* Removes the manifests first, so that a version is always either complete or not there. */
void ckpt_discard(struct ckpt_store *s)
{
	static const char *const folders[] = { VERSIONS_FOLDER, PACKS_FOLDER, HOLD_FOLDER, RUNS_FOLDER,
	                                       NULL };
	const int mark = err_count();
	for (int i = 0; folders[i]; i++) {
		char *path = io_join(s->dir, folders[i]);
		remove_folder(s->disk, path);
		mem_free(path);
	}
	remove_folder(s->disk, s->dir);
	err_truncate(mark);
}

void ckpt_set_parent(struct ckpt_store *s, const char *id)
{
	snprintf(s->parent, sizeof s->parent, "%s", id);
}

static void log_or_warn(struct ckpt_store *s, enum version_log_event event, const char *id)
{
	const int mark = err_count();
	if (version_log_add(s->disk, s->dir, event, id) < 0)
		warn("%s", err_get(mark)->text);
	err_truncate(mark);
}

void ckpt_resumed(struct ckpt_store *s, const char *id)
{
	log_or_warn(s, VERSION_LOG_RESUMED, id);
}

void ckpt_ended(struct ckpt_store *s)
{
	log_or_warn(s, VERSION_LOG_ENDED, NULL);
}

/* --- staging --- */

static const char *copy(struct arena *a, const char *text)
{
	return arena_strdup(a, text ? text : "");
}

static void stage_tensors(struct staged *g, const struct ckpt_state *state)
{
	struct manifest *m = &g->manifest;
	g->tensor = ARENA_ARRAY(g->a, struct manifest_tensor, state->ntensors);
	g->data = ARENA_ARRAY(g->a, const void *, state->ntensors);
	for (int i = 0; i < state->ntensors; i++) {
		const struct ckpt_tensor *t = &state->tensor[i];
		g->tensor[i] = (struct manifest_tensor){ .name = copy(g->a, t->name), .dtype = t->dtype,
			.shape = t->shape, .weight = t->weight };
		g->tensor[i].nchunks = manifest_chunks(&g->tensor[i]);
		g->data[i] = t->data;
		g->raw += manifest_bytes(&g->tensor[i]);
	}
	m->tensor = g->tensor;
	m->ntensors = state->ntensors;
}

static void stage_metrics(struct staged *g, const struct ckpt_state *state)
{
	struct manifest *m = &g->manifest;
	struct ckpt_metric *metric = ARENA_ARRAY(g->a, struct ckpt_metric, state->nmetrics);
	m->metric = state->metric;
	if (state->metric_name && isfinite(state->metric))
		m->metric_name = copy(g->a, state->metric_name);
	for (int i = 0; i < state->nmetrics; i++)
		if (isfinite(state->metrics[i].value))
			metric[m->nmetrics++] = (struct ckpt_metric){ copy(g->a, state->metrics[i].name),
				state->metrics[i].value };
	m->metrics = metric;
}

static void stage_scalars(struct staged *g, const struct ckpt_state *state)
{
	struct ckpt_scalar *scalar = ARENA_ARRAY(g->a, struct ckpt_scalar, state->nscalars);
	for (int i = 0; i < state->nscalars; i++)
		scalar[i] = (struct ckpt_scalar){ copy(g->a, state->scalar[i].name),
			copy(g->a, state->scalar[i].value) };
	g->manifest.scalar = scalar;
	g->manifest.nscalars = state->nscalars;
}

static bool of_another_run(const struct ckpt_store *s, const char *id)
{
	for (int i = 0; i < s->versions.n; i++)
		if (strcmp(s->versions.v[i].id, id) == 0)
			return !s->versions.v[i].own;
	return false;
}

static void stage_state(struct ckpt_store *s, const struct ckpt_state *state)
{
	struct staged *g = &s->staged;
	arena_free(g->a);
	*g = (struct staged){ .a = arena_new(), .start = io_seconds(), .fill = state->fill,
		.fill_arg = state->fill_arg };
	g->manifest = (struct manifest){ .run = s->link.run, .step = state->step,
		.epoch = state->epoch, .serial = state->age.serial,
		.time = state->age.time ? state->age.time : s->disk->clock(s->disk), .ranks = s->world,
		.config = copy(g->a, state->config), .program = copy(g->a, state->program),
		.data = copy(g->a, state->data) };
	if (s->parent[0]) {
		const char **parent = ARENA_NEW(g->a, const char *);
		*parent = copy(g->a, s->parent);
		g->manifest.parent = parent;
		g->manifest.nparents = 1;
		g->manifest.fork = of_another_run(s, s->parent);
	}
	stage_tensors(g, state);
	stage_metrics(g, state);
	stage_scalars(g, state);
	if (s->config.plain == PLAIN_WEIGHTS && s->rank == 0)
		plain_stage(&g->plain, g->a, state);
}

/* --- saving --- */

int ckpt_wait(struct ckpt_store *s)
{
	pool_wait(s->pool);
	pthread_mutex_lock(&s->mutex);
	int rc = s->rc;
	s->rc = 0;
	if (rc < 0)
		err_give(&s->error);
	if (s->saved[0])
		memcpy(s->parent, s->saved, sizeof s->parent);
	s->saved[0] = '\0';
	pthread_mutex_unlock(&s->mutex);
	return rc;
}

bool ckpt_idle(struct ckpt_store *s)
{
	pthread_mutex_lock(&s->mutex);
	const bool idle = !s->busy;
	pthread_mutex_unlock(&s->mutex);
	return idle;
}

int ckpt_save(struct ckpt_store *s, const struct ckpt_state *state)
{
	BUG_IF(state->step < 0 || state->epoch < 0, "a checkpoint of step %lld, epoch %lld",
	       (long long)state->step, (long long)state->epoch);
	TRY(ckpt_wait(s));
	double start = io_seconds();
	stage_state(s, state);
	s->number++;
	s->busy = true;                /* no thread but this one is there to see it */
	trace_mark(TRACE_RUN, "snapshot", start);
	io_crash_point("ckpt_staged");
	pool_add(s->pool, save_job, s);
	return 0;
}

bool ckpt_poll(struct ckpt_store *s, struct ckpt_done *out)
{
	pthread_mutex_lock(&s->mutex);
	const bool any = s->ndone > 0;
	if (any) {
		*out = s->done[0];
		memmove(s->done, s->done + 1, (size_t)--s->ndone * sizeof *s->done);
	}
	pthread_mutex_unlock(&s->mutex);
	return any;
}
