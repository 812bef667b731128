/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target for TFRecord files, plain or compressed, and for the messages in them: an input is
 * read as a file, and as the one message of a file whose checksums are right, which few mutations
 * of files have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "data-tools/source/source.h"
#include "report/crc32c.h"

#define MAX_VALUES ((int64_t)1 << 22)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_variable(const char *path, const char *variable)
{
	struct source *s;
	if (source_open(&s, path, "tfrecord", variable, false) == 0) {
		const int64_t n = shape_count(&s->shape);
		void *values = n <= MAX_VALUES ? mem_alloc((size_t)n * sizeof(double)) : NULL;

		if (values && source_read_all(s, values) == 0 && s->shape.d[0] > 1)
			(void)source_read(s, 0, 1, values);
		mem_free(values);
		source_close(s);
	}
	err_clear();
}

static void try_file(const void *data, size_t size)
{
	static const char *const variables[] = { "x[u8]", "x[i16,2,3]", "y", "k[1]" };
	static size_t turn;              /* one of them for both files of an input */
	const int f = memfd_create("fuzz", 0);
	char path[64];
	if (f < 0 || write(f, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", f);
	try_variable(path, NULL);
	try_variable(path, variables[turn++ / 2 % (sizeof variables / sizeof *variables)]);
	close(f);
}

static void put(uint8_t *p, uint64_t v, int n)
{
	for (int i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *framed = mem_alloc(size + 16);
	put(framed, size, 8);
	put(framed + 8, crc32c_masked(framed, 8), 4);
	memcpy(framed + 12, data, size);
	put(framed + 12 + size, crc32c_masked(data, size), 4);
	try_file(framed, size + 16);
	mem_free(framed);
	try_file(data, size);
	return 0;
}
