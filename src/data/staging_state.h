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

#define STAGING_EXTENT (8 << 20)       /* bytes of an extent at least, but for the last of a file */
#define STAGING_FILLERS 2              /* threads of a rank that fill the copy in the background */
#define STAGING_ANSWERERS 2            /* and that answer other ranks */

/* An extent as this rank knows it. */
enum extent_state {
	EXTENT_UNKNOWN,
	EXTENT_BUSY,                 /* a thread of the owner reads it */
	EXTENT_KEPT,                 /* whole, on the disk of this host */
	EXTENT_LOOSE,                /* the disk has no room: at the source (of the owner's alone) */
};

struct staging_file {
	struct staging *s;
	struct record *r;
	int64_t number;              /* among those of all sets */
	int64_t first, n;            /* its extents, counted over all files; n 0: another file has the
	                              * same content, and is read in its place */
	uint64_t *start;             /* n + 1 */
	_Atomic uint8_t *state;      /* enum extent_state */
	struct staging_cache cache;
	struct record_source source;
};

struct staging {
	struct comm *c;              /* NULL: alone */
	struct staging_config config;
	struct staging_file *file;
	int nfile;
	int64_t extents;             /* of all files */
	/* The ranks of host h are rank[host[h]] to rank[host[h + 1] - 1]. */
	int *host, *rank;
	int hosts;
	int *holder;                 /* by extent, the owner's host; NULL: in turn */
	struct fetch *fetch;         /* NULL: alone */
	_Atomic int64_t room;        /* bytes that this rank may still add to the disk */
	_Atomic bool full, ends;
	_Atomic int64_t next;        /* what fillers take next: extents of this rank, then of others */
	_Atomic int64_t read, kept, repaired;
	pthread_mutex_t lock;
	pthread_cond_t settled;      /* an extent is no longer busy */
	pthread_t filler[STAGING_FILLERS];
	int fillers;
};

/* staging_files.c: the files of the sets, cut into extents. */
void staging_files_find(struct staging *s, struct dataset *const *set, int n);
void staging_files_free(struct staging *s);
/* The number within f of the extent that has byte `at`. */
int64_t staging_extent_of(const struct staging_file *f, uint64_t at);
static inline uint64_t staging_extent_bytes(const struct staging_file *f, int64_t k)
{
	return f->start[k + 1] - f->start[k];
}
struct staging_file *staging_file_of(const struct staging *s, int64_t extent);
/* staging_owners.c. Collective: finds out which ranks there are, and gives each extent an owner.
 * E_CONFIG on all ranks if they have not the same files. */
int staging_meet(struct staging *s);
/* The rank that owns an extent, and its host. */
int staging_owner(const struct staging *s, int64_t extent);
int staging_owner_host(const struct staging *s, int64_t extent);
/* The rank of a host that keeps an extent there. */
int staging_rank_for(const struct staging *s, int host, int64_t extent);
static inline int staging_my_host(const struct staging *s)
{
	return s->c ? s->c->host : 0;
}
static inline int staging_me(const struct staging *s)
{
	return s->c ? s->c->rank : 0;
}

/* staging_read.c: n bytes of a chunk of f, for the readers of this rank; and for other ranks, which
 * this one owns. */
int staging_read(void *file, uint64_t at, void *p, size_t n, bool fresh);
int staging_answer(void *staging, const struct fetch_range *range, void *p);
/* Whether extent k of f is on this host's disk. */
bool staging_kept(struct staging_file *f, int64_t k);
/* Reads extent k of f, which this rank owns, unless that was done. */
int staging_settle(struct staging_file *f, int64_t k);
/* Extent k of f, which is another rank's, onto the disk of this host. */
int staging_copy_extent(struct staging_file *f, int64_t k);

#endif
