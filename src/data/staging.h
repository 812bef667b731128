/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Staging (data.stage): the samples are read only once, by one rank, from the file system that all
 * hosts share. They are kept on local disks of the hosts and sent to other ranks by MPI. Readers
 * get the same bytes as without staging.
 *
 * The samples of each record file are divided into extents of whole chunks. Each extent has an
 * owner, a rank: on a host that keeps the extent already, or else chosen round-robin over hosts and
 * the ranks of a host. Only the owner reads the extent from the source file: in the background and
 * in order, or immediately when a reader on any rank needs part of it. The extent is then on the
 * local disk of the owner's host (data/staging_cache.h). Readers on that host read it there.
 * Readers on other hosts request the stored bytes of a chunk from the owner (comm/fetch.h) and
 * check them by the chunk's hash; with `copy: all` each host also copies the other hosts' extents
 * in the background. If the disk has no room for an extent, the owner reads each requested chunk
 * from the source file.
 *
 * Damaged bytes are requested once more: then the owner reads them from the source file, and they
 * replace the copies on the disks. */
#ifndef DLX_DATA_STAGING_H
#define DLX_DATA_STAGING_H

#include "comm/comm.h"
#include "yaml/schema.h"

enum staging_copy { STAGING_SHARE, STAGING_ALL };

struct staging_config {
	const char *dir;             /* folder of the copies; NULL, or the word false: no staging */
	int copy;                    /* enum staging_copy */
	int64_t limit;               /* most bytes on a host's disk; INT64_MIN: no limit */
};
extern const struct field staging_fields[];

bool staging_wanted(const struct staging_config *c);

struct dataset;
struct staging;

/* While `on` is true, opening record files uses and updates a cache of their metadata in
 * config->dir (record_heads.h); call it again with false to end this. For the rank that opens files
 * for all. */
void staging_keep_heads(const struct staging_config *config, const struct comm *c, bool on);
/* The first phase, which each rank does alone: opens the copies of the files of n sets (NULL or
 * without samples: ignored) in config->dir, which is created if missing. The sets must outlive it.
 * c: the ranks; NULL: a single process. E_CANTCREATE if the folder cannot be written. */
int staging_open(struct staging **out, struct comm *c, const struct staging_config *config,
               struct dataset *const *set, int n);
/* The second phase, collective: agrees on owners. From now on the sets are read through staging,
 * and copies are made in the background. E_CONFIG if ranks have different data, E_NOMEM. */
int staging_begin(struct staging *s);
/* Lets the files of n more sets (NULL: ignored) be read through staging too, where it has files of
 * the same content: for one of several runs over the same data. The sets are closed before
 * staging. */
void staging_lend(struct staging *s, struct dataset *const *set, int n);
/* For a rank that failed while the others did not: its readers no longer wait for other ranks. NULL
 * is fine. */
void staging_give_up(struct staging *s);
/* Ends staging, after all readers. Collective, unless only this rank has failed (alone). NULL is
 * fine. */
void staging_close(struct staging *s, bool alone);

/* Bytes that this rank has handled so far. */
struct staging_counts {
	int64_t read;                /* from the files of the sets */
	int64_t sent, received;      /* between ranks */
	int64_t kept;                /* written to the disk of the host */
	int64_t repaired;            /* damaged and read anew */
};
struct staging_counts staging_counts(const struct staging *s);     /* NULL: zeros */

#endif
