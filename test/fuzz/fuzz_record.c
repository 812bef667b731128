/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target: any bytes as a record file. Each input is read as it is, which the hashes almost
 * always refuse, and once more with magics, size and the footer's hash made right, so that all
 * checks after them are reached. */
#include <stdint.h>
#include <string.h>

#include "base/err.h"
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
	for (int64_t i = 0; i < record_info(r)->samples && i < 64; i++) {
		(void)record_read(r, d, i, raw);
		if (record_axis(record_info(r), 0) >= 0)
			(void)record_read_rows(r, d, i, 0, 0, 1, raw);
		for (int64_t k = 0; k < record_chunks(r, i) && k < 64; k++)
			(void)record_chunk_get(r, i, k);
		for (const char *key = record_key(r, i); key && *key; key++)
			continue;
	}
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

static void repair(uint8_t *p, size_t size)
{
	const uint64_t end = size - FOOTER_BYTES;
	struct record_footer f;
	record_preamble(p);
	record_footer_read(p + end, &f);
	f.size = size;
	f.description = f.description > end ? f.description % (end + 1) : f.description;
	record_footer_put(p + end, &f);
	f.hash = record_footer_hash(p, p + f.description, end - f.description, p + end);
	record_footer_put(p + end, &f);
}

static void try_repaired(const uint8_t *data, size_t size)
{
	uint8_t *copy;
	if (size < PREAMBLE_BYTES + FOOTER_BYTES)
		return;
	copy = mem_alloc(size);
	memcpy(copy, data, size);
	repair(copy, size);
	try_image(copy, size);
	mem_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_image(data, size);
	try_repaired(data, size);
	return 0;
}
