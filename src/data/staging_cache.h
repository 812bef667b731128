/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The copy of a record file's samples on a disk of the host: a sparse file in the folder of
 * data.stage, named by user, host and the record's hash. It begins with a map of the extents that
 * are complete. Ranks and runs share it. An extent is marked only after its bytes are written, so
 * an extent that a killed process left incomplete is not used. Bytes are checked by their chunks'
 * hashes by the reader, not here.
 *
 *   0       magic "DLXSTAGE" | u64 hash of record and extents | u8 reported   64 bytes
 *   64      a byte for each extent: 1: whole
 *   base    the record file from byte 0 on, sparse
 *
 * Functions that return int return 0 or an errno, without an error record: bytes that cannot be
 * kept here are read from the source. Any thread. */
#ifndef DLX_DATA_STAGING_CACHE_H
#define DLX_DATA_STAGING_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct staging_cache {
	char *path;                  /* NULL: there is no copy */
	int fd;                      /* -1: opened for each use, as in base/io_reader.h */
	uint64_t base;
};

/* Appends the prefix of the files' names in dir: "DIR/dlx-stage-USER-HOST-". */
void staging_cache_name(struct buf *out, const char *dir, const char *host);
/* Opens the copy of the record with this hash, whose extent k is bytes start[k] to start[k + 1] -
 * 1. The copy is created if it is missing or has other extents. If that is impossible, E_CANTCREATE
 * with an error record; but if the disk is full the cache is left empty (path NULL). */
int staging_cache_open(struct staging_cache *c, const char *dir, const char *host, uint64_t hash,
                     const uint64_t *start, int64_t n);
void staging_cache_close(struct staging_cache *c);      /* a zeroed one is fine */
/* Reads the map of n extents, beginning with `first`, a byte each; zeros if it cannot be read. */
void staging_cache_map(const struct staging_cache *c, int64_t first, uint8_t *map, int64_t n);
int staging_cache_mark(const struct staging_cache *c, int64_t extent);
/* Read or write n bytes of the record, from its byte `at` on. */
int staging_cache_read(const struct staging_cache *c, uint64_t at, void *p, size_t n);
int staging_cache_write(const struct staging_cache *c, uint64_t at, const void *p, size_t n);
/* Frees the disk space of an extent that is not marked. */
void staging_cache_clear(const struct staging_cache *c, uint64_t at, uint64_t n);
/* True for the first caller since the copy was last opened, among all processes that use the
 * copy. */
bool staging_cache_tell(const struct staging_cache *c);

#endif
