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
	struct record_info info;      /* its sizes grow as samples of new ones come */
	struct record_array *extra;
	struct record_size *size;
	int size_room;
	struct io_file *file;
	char *path;
	int level;
	struct record_coder *coder;   /* of record_add; NULL before */
	struct measure measure;
	uint8_t *chunk;               /* the strips of a chunk in a row */
	size_t chunk_room;
	struct record_row *row;
	uint64_t *hash;               /* of each sample's values; as many as rows */
	struct record_chunk *index;
	int64_t n, row_room, chunks, index_room;
	struct buf texts;
	uint64_t group;               /* the last sample's */
	uint64_t at;
	struct again *again;          /* NULL: nothing that was there is taken over */
	bool uncut;                   /* what is after `at` is not yet gone */
};

void record_again_free(struct again *a);         /* NULL is fine */
/* Ends record_again: what is after the pieces that it took is gone. */
int record_again_end(struct record_writer *w);
/* What record_put and record_again share: adds a chunk to statistics and index. */
int record_count_piece(struct record_writer *w, const struct record_coded *c,
                       const struct record_chunk *chunk);

#endif
