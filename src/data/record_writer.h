/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A writer's state, which record_write.c and record_add.c share. */
#ifndef DLX_DATA_RECORD_WRITER_H
#define DLX_DATA_RECORD_WRITER_H

#include "base/buf.h"
#include "data/record.h"
#include "data/record_format.h"
#include "data/record_measure.h"

struct again;
struct record_coded;

struct record_writer {
	struct arena *a;
	struct record_info info;      /* description; a new size is added when a sample of that size is
	                               * written */
	struct record_array *extra;
	struct record_size *size;
	int size_room;
	struct io_file *file;
	char *path;
	int level;
	struct record_coder *coder;   /* coder of record_add; NULL before its first use */
	struct measure measure;
	uint8_t *chunk;               /* the strips of a chunk, one after another */
	size_t chunk_room;
	struct record_row *row;
	uint64_t *hash;               /* hash of each sample's values; as many as rows */
	struct record_chunk *index;
	int64_t n, row_room, chunks, index_room;
	struct buf texts;
	uint64_t group;               /* byte offset in texts of the last sample's group */
	uint64_t at;
	struct again *again;          /* state of record_again; NULL: no earlier file is continued */
	bool uncut;                   /* the file still has old bytes after `at` */
};

void record_again_free(struct again *a);         /* NULL is fine */
/* Ends record_again: truncates the file after the pieces that were reused. */
int record_again_end(struct record_writer *w);
/* The common part of record_put and record_again: adds a chunk to the statistics and the index. */
int record_count_piece(struct record_writer *w, const struct record_coded *c,
                       const struct record_chunk *chunk);

#endif
