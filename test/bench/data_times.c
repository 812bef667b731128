/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How fast a loader makes batches of a record file that the system has in memory.
 *
 *   data_times FILE BATCH THREADS SECONDS TRANSFORMS
 *
 * TRANSFORMS: as `data.transforms`, or "[]". Prints samples a second of wall time, samples a second
 * of processor time of all threads, and GB of raw samples a second of that, of the batches after
 * the first ones. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/io.h"
#include "data/loader.h"

#define WARM 4                     /* batches: the ring is full, memory was touched */

static double processor(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int time_batches(struct loader *l, double seconds, double raw)
{
	double wall = 0, busy = 0, samples = 0;
	const struct batch *b;
	for (int i = 0; i < WARM || io_seconds() - wall < seconds; i++) {
		TRY(loader_next(l, &b));
		samples += (double)b->n;
		if (i + 1 < WARM)
			continue;
		if (i + 1 == WARM) {
			wall = io_seconds();
			busy = processor();
			samples = 0;
		}
	}
	busy = processor() - busy;
	wall = io_seconds() - wall;
	printf("%.6g samples/s, %.6g samples/s a core, %.4g GB/s a core\n", samples / wall,
	       samples / busy, samples * raw / busy / 1e9);
	return 0;
}

static double bytes_of(const struct shape *s, enum dtype t)
{
	return (double)shape_count(s) * (double)dtype_size(t);
}

static int measure(struct arena *a, char **argv)
{
	const char *text = arena_printf(a, "{train: '%s', threads: %s, keep_short_batch: false, "
	                                "transforms: %s}", argv[1], argv[3], argv[5]);
	struct data_config c;
	struct dataset *d;
	struct loader *l;
	struct ynode *n;
	TRY(ytree_parse(a, "command line", text, &n));
	TRY(schema_read(a, n, data_fields, "'data'", &n->loc, &c));
	TRY(dataset_open_sources(&d, &c.train));
	const struct dataset_info *i = dataset_info(d);
	const struct loader_options o = { .config = &c, .training = true, .batch_size = atoll(argv[2]),
		.target_dtype = dtype_is_float(i->target_dtype) ? DTYPE_F32 : DTYPE_I32 };
	int rc = loader_new(&l, d, &o);
	if (rc == 0)
		rc = time_batches(l, atof(argv[4]), bytes_of(&i->input, i->input_dtype) +
		                  bytes_of(&i->target, i->target_dtype));
	if (rc == 0)
		loader_free(l);
	dataset_free(d);
	return rc;
}

int main(int argc, char **argv)
{
	struct arena *a = arena_new();
	int rc;
	if (argc != 6 || atoi(argv[2]) < 1) {
		fprintf(stderr, "usage: data_times FILE BATCH THREADS SECONDS TRANSFORMS\n");
		return 64;
	}
	rc = measure(a, argv);
	if (rc < 0)
		err_print(stderr, "data_times");
	arena_free(a);
	return err_exit_status(rc);
}
