/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target: any bytes as a record file. Each input is read as it is, which the hashes almost
 * always refuse, and once more with its magics, size and hashes made right, so that all checks
 * behind them are reached. */
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "data/record_format.h"

#define MAX_RAW ((size_t)16 << 20)    /* larger samples are legal but only cost time */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_samples(const struct record *r)
{
	const size_t n = record_raw_bytes(record_info(r));
	struct record_decoder *d;
	uint8_t *raw;

	if (n > MAX_RAW)
		return;
	d = record_decoder_new();
	raw = mem_alloc(n);
	for (int64_t i = 0; i < record_info(r)->samples && i < 64; i++)
		(void)record_read(r, d, i, raw);
	mem_free(raw);
	record_decoder_free(d);
}

static void try_image(const uint8_t *data, size_t size)
{
	struct record *r;

	if (record_parse(&r, "fuzz", data, size) == 0) {
		read_samples(r);
		record_free(r);
	}
	err_clear();
}

/* Hashes of the frames that lie within the file. */
static void repair_index(uint8_t *p, const struct record_footer *f, uint64_t end)
{
	struct record_entry e;

	for (uint64_t at = f->index; at + ENTRY_BYTES <= end; at += ENTRY_BYTES) {
		record_entry_read(p + at, &e);
		if (e.offset > end || e.frame_bytes > end - e.offset)
			continue;
		e.frame_hash = hash_bytes(p + e.offset, e.frame_bytes, 0);
		record_entry_put(p + at, &e);
	}
}

static void repair(uint8_t *p, size_t size)
{
	const uint64_t end = size - FOOTER_BYTES;
	struct record_footer f;

	record_preamble(p);
	record_footer_read(p + end, &f);
	f.size = size;
	f.description = f.description > end ? f.description % (end + 1) : f.description;
	if (f.index <= end)
		repair_index(p, &f, end);
	record_footer_put(p + end, &f);
	f.hash = record_footer_hash(p, p + f.description, end - f.description, p + end);
	record_footer_put(p + end, &f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	try_image(data, size);
	if (size < PREAMBLE_BYTES + FOOTER_BYTES)
		return 0;
	copy = mem_alloc(size);
	memcpy(copy, data, size);
	repair(copy, size);
	try_image(copy, size);
	mem_free(copy);
	return 0;
}
