/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target for the metadata of Zarr arrays, of both versions, and for their chunks: an input is
 * the metadata up to the first zero byte, then the bytes of the first chunk. They go into a folder
 * of this process. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "data-tools/source/source.h"

#define MAX_VALUES ((int64_t)1 << 22)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz_zarr-XXXXXX";
static const char *const files[] = { ".zarray", "zarr.json", ".zattrs", "0.0", "c/0/0", "0" };
#define NFILES (sizeof files / sizeof *files)

static void leave(void)
{
	for (size_t i = 0; i < NFILES; i++)
		unlink(files[i]);
	rmdir("c/0");
	rmdir("c");
	if (chdir("/") == 0)
		rmdir(folder);
}

static void enter(void)
{
	static bool there;
	if (there)
		return;
	there = true;
	if (!mkdtemp(folder) || chdir(folder) != 0 || mkdir("c", 0700) != 0 || mkdir("c/0", 0700) != 0)
		abort();
	atexit(leave);
}

static void put(const char *name, const void *p, size_t n)
{
	const int f = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (f < 0 || write(f, p, n) != (ssize_t)n)
		abort();
	close(f);
}

static void read_array(void)
{
	struct source *s;
	if (source_open(&s, folder, "zarr", NULL, false) == 0) {
		const int64_t n = shape_count(&s->shape);
		void *values = n <= MAX_VALUES ? mem_alloc((size_t)n * sizeof(double)) : NULL;

		if (values && source_read_all(s, values) == 0 && s->shape.nd > 0)
			(void)source_read(s, s->shape.d[0] - 1, 1, values);
		mem_free(values);
		source_close(s);
	}
	err_clear();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
	const size_t n = zero ? (size_t)(zero - data) : size;
	enter();
	for (size_t i = 0; i < NFILES; i++)
		unlink(files[i]);
	for (size_t i = 3; zero && i < NFILES; i++)
		put(files[i], zero + 1, size - n - 1);
	put(".zarray", data, n);
	put(".zattrs", data, n);
	read_array();
	unlink(".zarray");
	put("zarr.json", data, n);
	read_array();
	return 0;
}
