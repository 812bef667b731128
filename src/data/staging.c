/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening, the threads that fill the copies in the background, and the end. */
#include "data/staging.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "data/loader.h"
#include "data/record_heads.h"
#include "data/staging_state.h"

/* --- opening --- */

static const char *host_name(const struct comm *c, char out[64])
{
	if (comm_many(c))
		snprintf(out, 64, "%s", c->host_name);
	else
		gethostname(out, 64);
	out[63] = '\0';
	out[strcspn(out, ".")] = '\0';
	return out;
}

/* A folder that cannot be written is reported by staging_open. */
void staging_keep_heads(const struct staging_config *config, const struct comm *c, bool on)
{
	const int mark = err_count();
	struct buf prefix = BUF_INIT;
	char host[64];
	if (on && io_mkdirs(config->dir) == 0) {
		staging_cache_name(&prefix, config->dir, host_name(c, host));
		buf_puts(&prefix, "head-");
	}
	err_truncate(mark);
	record_heads_keep(prefix.len ? prefix.data : NULL);
	buf_release(&prefix);
}

/* Marks the extents that this host keeps from an earlier run, or from another one. */
static void take_over(struct staging_file *f)
{
	uint8_t *map = mem_alloc((size_t)f->n + 1);
	staging_cache_map(&f->cache, 0, map, f->n);
	for (int64_t k = 0; k < f->n; k++)
		if (map[k] == 1)
			atomic_store(&f->state[k], EXTENT_KEPT);
	mem_free(map);
}

static int open_copies(struct staging *s)
{
	char host[64];
	TRY(io_mkdirs(s->config.dir));
	host_name(s->c, host);
	for (int i = 0; i < s->nfile; i++) {
		struct staging_file *f = &s->file[i];

		if (f->n == 0)
			continue;
		TRY(staging_cache_open(&f->cache, s->config.dir, host, record_hash(f->r), f->start, f->n));
		if (f->cache.path)
			take_over(f);
		else if (!atomic_exchange(&s->full, true) && (!s->c || s->c->local_rank == 0))
			warn("'data.stage': '%s' has no room: what is not there yet stays where the record "
			     "files are", s->config.dir);
	}
	return 0;
}

int staging_open(struct staging **out, struct comm *c, const struct staging_config *config,
               struct dataset *const *set, int n)
{
	struct staging *s = mem_calloc(1, sizeof *s);
	int rc;
	*out = NULL;
	*s = (struct staging){ .c = comm_many(c) ? c : NULL, .config = *config };
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->settled, NULL);
	staging_files_find(s, set, n);
	rc = open_copies(s);
	if (rc < 0)
		staging_close(s, true);
	else
		*out = s;
	return rc;
}

/* --- room --- */

/* The bytes that this host has to keep; have: those that it keeps already. */
static int64_t needed(const struct staging *s, int64_t *have)
{
	int64_t sum = 0;
	*have = 0;
	for (int i = 0; i < s->nfile; i++)
		for (int64_t k = 0; k < s->file[i].n; k++) {
			const int64_t bytes = (int64_t)staging_extent_bytes(&s->file[i], k);
			const bool kept = atomic_load(&s->file[i].state[k]) == EXTENT_KEPT;

			*have += kept ? bytes : 0;
			if (kept || s->config.copy == STAGING_ALL ||
			    staging_owner_host(s, s->file[i].first + k) == staging_my_host(s))
				sum += bytes;
		}
	return sum;
}

static void share_room(struct staging *s)
{
	const int h = staging_my_host(s), among = s->host[h + 1] - s->host[h];
	const int64_t limit = s->config.limit;
	int64_t have, need;
	if (limit == INT64_MIN)
		return;
	need = needed(s, &have);
	s->room = limit > have ? (limit - have) / among : 0;
	if (need > limit && comm_first(s->c))
		warn("'data.stage.limit' is %.4g MB, but a host is to keep %.4g MB: what is beyond stays "
		     "where the record files are", (double)limit / 1e6, (double)need / 1e6);
}

/* --- the background --- */

/* Does task t of the fillers: tasks below s->extents copy the extents that this rank owns, later
 * ones those of other hosts, where each host begins at a different one. */
static int fill_turn(struct staging *s, int64_t t)
{
	const int h = staging_my_host(s);
	const int64_t e = t < s->extents ? t : (t + h * (s->extents / s->hosts)) % s->extents;
	struct staging_file *f = staging_file_of(s, e);
	const int owner = staging_owner(s, e);
	if (t < s->extents)
		return owner == staging_me(s) ? staging_settle(f, e - f->first) : 0;
	if (staging_owner_host(s, e) == h || staging_rank_for(s, h, e) != staging_me(s) ||
	    staging_kept(f, e - f->first))
		return 0;
	return staging_copy_extent(f, e - f->first);
}

/* Errors are ignored here: a reader that needs the same bytes will report them. */
static void *fill_all(void *arg)
{
	struct staging *s = arg;
	const int64_t turns = s->config.copy == STAGING_ALL ? 2 * s->extents : s->extents;
	int rc = 0;
	while (rc != E_UNAVAILABLE && !atomic_load(&s->ends)) {
		const int64_t t = atomic_fetch_add(&s->next, 1);

		if (t >= turns)
			break;
		rc = fill_turn(s, t);
		err_clear();
	}
	return NULL;
}

/* If no thread can be created, readers do all the work. */
static void start_fillers(struct staging *s)
{
	while (s->fillers < STAGING_FILLERS &&
	       thread_start(&s->filler[s->fillers], fill_all, s) == 0)
		s->fillers++;
}

int staging_begin(struct staging *s)
{
	int rc;
	TRY(staging_meet(s));
	share_room(s);
	if (s->c) {
		rc = comm_agree(s->c, fetch_open(&s->fetch, s->c, STAGING_ANSWERERS, staging_answer, s),
		                "staging");
		if (rc < 0) {
			fetch_close(s->fetch, true);
			s->fetch = NULL;
			return rc;
		}
	}
	for (int i = 0; i < s->nfile; i++)
		record_read_from(s->file[i].r, &s->file[i].source);
	start_fillers(s);
	return 0;
}

/* --- the end --- */

void staging_give_up(struct staging *s)
{
	if (s && s->fetch)
		fetch_give_up(s->fetch);
}

static void join_fillers(struct staging *s)
{
	atomic_store(&s->ends, true);
	while (s->fillers > 0)
		pthread_join(s->filler[--s->fillers], NULL);
}

static void tell(const struct staging *s)
{
	const struct staging_counts n = staging_counts(s);
	if (s->hosts && debug.stage_counts)
		fprintf(stderr, "stage: rank %d read %lld sent %lld received %lld kept %lld "
		        "repaired %lld\n", staging_me(s), (long long)n.read, (long long)n.sent,
		        (long long)n.received, (long long)n.kept, (long long)n.repaired);
}

void staging_close(struct staging *s, bool alone)
{
	if (!s)
		return;
	if (alone)
		staging_give_up(s);
	join_fillers(s);
	if (s->fetch && !alone)
		comm_barrier(s->c, "the end of reading data");
	tell(s);
	fetch_close(s->fetch, alone);
	staging_files_free(s);
	pthread_cond_destroy(&s->settled);
	pthread_mutex_destroy(&s->lock);
	mem_free(s->host);
	mem_free(s->rank);
	mem_free(s->holder);
	mem_free(s);
}

struct staging_counts staging_counts(const struct staging *s)
{
	struct fetch_counts f = fetch_counts(s ? s->fetch : NULL);
	if (!s)
		return (struct staging_counts){ 0 };
	return (struct staging_counts){ s->read, f.sent, f.received, s->kept, s->repaired };
}
