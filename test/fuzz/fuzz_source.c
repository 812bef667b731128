/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target for the readers of foreign files that are our own: .npy, .npz and IDX, plain or
 * gzipped; and that of PNG, which is ours around libpng. The readers take paths, so each input goes
 * through a file in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "data-tools/source/source.h"

#define MAX_VALUES ((int64_t)1 << 22)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_source(struct source *s)
{
	const int64_t n = shape_count(&s->shape);
	int64_t start[MAXD], count[MAXD];
	void *values;
	if (n > MAX_VALUES)
		return;
	values = mem_alloc((size_t)n * sizeof(double));
	(void)source_read_all(s, values);
	if (s->shape.nd > 0)
		(void)source_read(s, s->shape.d[0] - 1, 1, values);
	for (int i = 0; i < s->shape.nd; i++) {
		start[i] = s->shape.d[i] / 2;
		count[i] = s->shape.d[i] - start[i];
	}
	(void)source_read_box(s, start, count, values);
	mem_free(values);
}

static void try_source(const char *path, const char *format, const char *variable)
{
	struct source *s;
	if (source_open(&s, path, format, variable, false) == 0) {
		read_source(s);
		source_close(s);
	}
	err_clear();
}

/* The format is that of the first byte, so that a mutation does not try a format for nothing. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char first = size ? (char)data[0] : 0;
	char path[64];
	const int f = memfd_create("fuzz", 0);
	if (f < 0 || write(f, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", f);
	if (first == 'P')
		try_source(path, "npz", "x");
	if (first == '\x89')
		try_source(path, "png", "index");
	try_source(path, first == 'P' ? "npz" : first == '\x93' ? "npy" :
	           first == '\x89' ? "png" : "idx", NULL);
	close(f);
	return 0;
}
