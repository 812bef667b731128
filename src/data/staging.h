/* SPDX-License-Identifier: BSD-3-Clause
 *
 * data.stage: samples leave the file system that all hosts share once, by one rank, are kept on a
 * disk of each host and reach other ranks by MPI. Readers see the same bytes as without.
 *
 * The samples of each record file are cut into extents of whole chunks. An extent has an owner (of
 * a host that keeps it already, else hosts take turns, and so do the ranks of a host), and only
 * the owner reads it from the source: in the background, in order, or at once when a reader of any
 * rank wants some of it. Then it is on the disk of the owner's host (data/staging_cache.h).
 * Readers of that host take it from there, those of others ask the owner (comm/fetch.h) for the
 * bytes of a chunk as they are stored, and check them by the chunk's hash; with copy: all each
 * host gets the other hosts' extents in the background, too. What has no room stays at the source:
 * the owner reads the bytes of a chunk whenever they are wanted.
 *
 * Damaged bytes are asked for once more: then the owner reads them from the source, and they
 * replace what the disks have. */
#ifndef DLX_DATA_STAGING_H
#define DLX_DATA_STAGING_H

#include "comm/comm.h"
#include "yaml/schema.h"

enum staging_copy { STAGING_SHARE, STAGING_ALL };

struct staging_config {
	const char *dir;             /* NULL, or the word false: no staging */
	int copy;                    /* enum staging_copy */
	int64_t limit;               /* bytes on a host's disk; INT64_MIN: no limit */
};
extern const struct field staging_fields[];

bool staging_wanted(const struct staging_config *c);

struct dataset;
struct staging;

/* Opening record files keeps what it reads of them in config->dir, or finds it there; on: until it
 * is called without. For the rank that opens them for all. */
void staging_keep_heads(const struct staging_config *config, const struct comm *c, bool on);
/* What a rank can do alone: opens the copies of the files of n sets (NULL or without samples: left
 * out) in config->dir, which is made if it is not there. The sets must outlive it. c: the
 * ranks, NULL: alone. E_CANTCREATE if the folder cannot be written. */
int staging_open(struct staging **out, struct comm *c, const struct staging_config *config,
               struct dataset *const *set, int n);
/* The rest, collective: agrees on owners, and from now on the sets read by it, and it goes on to
 * fill in the background. E_CONFIG if ranks have other data, E_NOMEM. */
int staging_begin(struct staging *s);
/* For a rank that has failed alone: no reader waits for other ranks any more. NULL is fine. */
void staging_give_up(struct staging *s);
/* After all readers. Collective, unless this rank has failed alone. NULL is fine. */
void staging_close(struct staging *s, bool alone);

/* Bytes of this rank so far. */
struct staging_counts {
	int64_t read;                /* from the files of the sets */
	int64_t sent, received;      /* between ranks */
	int64_t kept;                /* written to the disk of the host */
	int64_t repaired;            /* damaged and read anew */
};
struct staging_counts staging_counts(const struct staging *s);     /* NULL: zeros */

#endif
