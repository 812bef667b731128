/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of staging; private to data/staging*.c. */
#ifndef DLX_DATA_STAGING_STATE_H
#define DLX_DATA_STAGING_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "comm/fetch.h"
#include "data/record.h"
#include "data/staging.h"
#include "data/staging_cache.h"

#define STAGING_EXTENT (8 << 20)       /* least bytes of an extent, except for the last one of a
                                        * file */
#define STAGING_FILLERS 2              /* threads of a rank that copy extents in the background */
#define STAGING_ANSWERERS 2            /* threads of a rank that serve requests of other ranks */

/* The state of an extent, as far as this rank knows. */
enum extent_state {
	EXTENT_UNKNOWN,
	EXTENT_BUSY,                 /* a thread of the owner is reading it */
	EXTENT_KEPT,                 /* complete, on the disk of this host */
	EXTENT_LOOSE,                /* only at the source, because the disk has no room (set by the
	                              * owner only) */
};

struct staging_file {
	struct staging *s;
	struct record *r;
	int64_t number;              /* number of the file among the files of all sets */
	int64_t first, n;            /* its extents, numbered over all files: first and count; n 0:
	                              * another file has the same content and is read instead */
	uint64_t *start;             /* first byte of each extent, n + 1 entries */
	_Atomic uint8_t *state;      /* enum extent_state */
	struct staging_cache cache;
	struct record_source source;
};

struct staging {
	struct comm *c;              /* NULL: a single process */
	struct staging_config config;
	struct staging_file *file;
	int nfile;
	int64_t extents;             /* number of extents of all files */
	/* The ranks of host h are rank[host[h]] to rank[host[h + 1] - 1]. */
	int *host, *rank;
	int hosts;
	int *holder;                 /* owner's host of each extent; NULL: round-robin */
	struct fetch *fetch;         /* NULL: a single process */
	_Atomic int64_t room;        /* bytes that this rank may still write to the disk */
	_Atomic bool full, ends;
	_Atomic int64_t next;        /* next task of the fillers: first this rank's extents, then other
	                              * ranks' */
	_Atomic int64_t read, kept, repaired;
	pthread_mutex_t lock;
	pthread_cond_t settled;      /* signalled when an extent is no longer busy */
	pthread_t filler[STAGING_FILLERS];
	int fillers;
};

/* staging_files.c: divides the files of the sets into extents. */
void staging_files_find(struct staging *s, struct dataset *const *set, int n);
void staging_files_free(struct staging *s);
/* The number within f of the extent that contains byte `at`. */
int64_t staging_extent_of(const struct staging_file *f, uint64_t at);
static inline uint64_t staging_extent_bytes(const struct staging_file *f, int64_t k)
{
	return f->start[k + 1] - f->start[k];
}
struct staging_file *staging_file_of(const struct staging *s, int64_t extent);
/* staging_owners.c. Collective: exchanges the hosts and extents of all ranks, and gives each extent
 * an owner. E_CONFIG on all ranks if they do not have the same files. */
int staging_meet(struct staging *s);
/* The rank that owns an extent, and its host. */
int staging_owner(const struct staging *s, int64_t extent);
int staging_owner_host(const struct staging *s, int64_t extent);
/* The rank of `host` that copies an extent to that host's disk. */
int staging_rank_for(const struct staging *s, int host, int64_t extent);
static inline int staging_my_host(const struct staging *s)
{
	return s->c ? s->c->host : 0;
}
static inline int staging_me(const struct staging *s)
{
	return s->c ? s->c->rank : 0;
}

/* staging_read.c: staging_read reads n bytes of a chunk for the readers of this rank.
 * staging_answer reads a range that this rank owns, at the request of another rank. */
int staging_read(void *file, uint64_t at, void *p, size_t n, bool fresh);
int staging_answer(void *staging, const struct fetch_range *range, void *p);
/* Whether extent k of f is on this host's disk. */
bool staging_kept(struct staging_file *f, int64_t k);
/* Copies extent k of f, which this rank owns, from the source to the disk, unless that was done
 * before. */
int staging_settle(struct staging_file *f, int64_t k);
/* Copies extent k of f, which another rank owns, to the disk of this host. */
int staging_copy_extent(struct staging_file *f, int64_t k);

#endif
