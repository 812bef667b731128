/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes record files of version 1, which dlx reads but no longer writes: into memory, with
 * statistics of no valid values. */
#ifndef DLX_TEST_RECORD_VERSION1_H
#define DLX_TEST_RECORD_VERSION1_H

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "data/description.h"
#include "data/record_format.h"

struct version1 {
	struct record_info info;
	struct buf file, index;
	int level;
};

static inline void version1_begin(struct version1 *v, const struct record_info *info, int level)
{
	uint8_t preamble[PREAMBLE_BYTES];
	*v = (struct version1){ .info = *info, .level = level };
	v->info.samples = 0;
	record_preamble(preamble, 1);
	buf_add(&v->file, preamble, sizeof preamble);
}

static inline void version1_add(struct version1 *v, const void *input, const void *target)
{
	const size_t n = record_size_bytes(&v->info, 0), room = ZSTD_compressBound(n);
	uint8_t *raw = mem_calloc(n, 1), *frame = mem_alloc(room), entry[ENTRY_BYTES];
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	struct record_entry e = { .offset = v->file.len, .raw_bytes = n };

	memcpy(raw, input, record_array_bytes(&v->info, 0, 0));
	memcpy(raw + record_array_at(&v->info, 0, 1), target, record_array_bytes(&v->info, 0, 1));
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, v->level);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	e.frame_bytes = ZSTD_compress2(zstd, frame, room, raw, n);
	e.frame_hash = hash_bytes(frame, e.frame_bytes, 0);
	e.raw_hash = hash_bytes(raw, n, 0);
	buf_add(&v->file, frame, e.frame_bytes);
	record_entry_put(entry, &e);
	buf_add(&v->index, entry, sizeof entry);
	v->info.samples++;
	ZSTD_freeCCtx(zstd);
	mem_free(raw);
	mem_free(frame);
}

/* Leaves the file in v->file, which is to be released. */
static inline void version1_end(struct version1 *v)
{
	struct record_footer f = { .description = v->file.len, .samples = (uint64_t)v->info.samples };
	uint8_t footer[FOOTER_BYTES];
	struct channel_stats *none[2];
	for (int k = 0; k < 2; k++) {
		struct record_array *a = k ? &v->info.target : &v->info.input;

		a->nstats = k && !dtype_is_float(a->dtype) ? 0 : (int)record_channels(&v->info, k);
		a->stats = none[k] = mem_calloc((size_t)a->nstats + 1, sizeof **none);
	}
	description_write(&v->file, &v->info);
	while (v->file.len % 8)
		buf_putc(&v->file, ' ');
	f.index = v->file.len;
	buf_add(&v->file, v->index.data, v->index.len);
	f.size = v->file.len + FOOTER_BYTES;
	record_footer_put(footer, &f, 1);
	f.hash = record_footer_hash((uint8_t *)v->file.data, v->file.data + f.description,
	                            v->file.len - f.description, footer, 1);
	record_footer_put(footer, &f, 1);
	buf_add(&v->file, footer, sizeof footer);
	buf_release(&v->index);
	for (int k = 0; k < 2; k++)
		mem_free(none[k]);
}

#endif
