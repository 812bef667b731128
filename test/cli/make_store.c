/* SPDX-License-Identifier: BSD-3-Clause
 *
 * make_store ROOT: a store with the versions that lines of the standard input describe:
 *
 *     RUN STEP EPOCH TIME SERIAL PARENTS fork|- SEED METRICS [CONFIG]
 *
 * RUN is a hexadecimal digit, of which the run's id is made; PARENTS are the numbers of lines
 * above, from 1, with commas, or -; METRICS are NAME=VALUE with commas, or -; the first is the one
 * that decides. Lines with one SEED have the same trained tensors; `frozen` has the same in all.
 * Prints the id of each. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "ckpt/manifest.h"
#include "ckpt/packs.h"

#define VERSIONS 100
#define TENSORS 5

static char id[VERSIONS][CKPT_ID];
static int versions;

struct line {
	char run, parents[100], fork[10], metrics[200], config[200];
	long long step, epoch, time, serial;
	int seed;
};

static const struct {
	const char *name;
	enum dtype dtype;
	struct shape shape;
	bool weight, trained;
} tensors[TENSORS] = {
	{ "conv.weight", DTYPE_F32, { 4, { 8, 3, 3, 3 } }, true, true },
	{ "frozen", DTYPE_F32, { 2, { 1200, 1000 } }, true, false },      /* two chunks */
	{ "half", DTYPE_BF16, { 1, { 5 } }, true, true },
	{ "conv.weight.m", DTYPE_F32, { 4, { 8, 3, 3, 3 } }, false, true },
	{ "count", DTYPE_I64, { 0, { 0 } }, false, true },
};

/* Value i of a tensor: 1 + i / 8, and the seed in 1/1024 of the first one. */
static void *values_of(struct arena *a, int k, int seed)
{
	const int64_t n = shape_count(&tensors[k].shape);
	void *p = arena_alloc(a, (size_t)n * dtype_size(tensors[k].dtype) + 1);
	for (int64_t i = 0; i < n; i++)
		dtype_set(tensors[k].dtype, p, i, 1 + (double)i / 8);
	if (tensors[k].trained && seed)
		dtype_set(tensors[k].dtype, p, 0, tensors[k].dtype == DTYPE_F32 ? 1 + seed / 1024.0 :
		          1 + seed);
	return p;
}

static int put_tensors(struct arena *a, const char *root, struct manifest *m, int seed)
{
	struct manifest_tensor *x = ARENA_ARRAY(a, struct manifest_tensor, TENSORS);
	struct pack_writer *w;
	struct packs *p;
	uint64_t bytes;
	TRY(packs_open(&p, disk_system(), root));
	TRY(pack_begin(&w, p, arena_printf(a, "made-%d", versions), 1));
	for (int k = 0; k < TENSORS; k++) {
		const size_t width = dtype_size(tensors[k].dtype);
		const size_t all = (size_t)shape_count(&tensors[k].shape) * width;
		const char *data = values_of(a, k, seed);
		struct hash128 *chunk = ARENA_ARRAY(a, struct hash128, all / CHUNK_RAW + 1);
		x[k] = (struct manifest_tensor){ tensors[k].name, tensors[k].dtype, tensors[k].shape,
			tensors[k].weight, 0, chunk };
		for (size_t at = 0; at < all; at += CHUNK_RAW) {
			const size_t n = all - at < CHUNK_RAW ? all - at : CHUNK_RAW;
			struct hash128 *h = &chunk[x[k].nchunks++];
			*h = hash128_bytes(data + at, n);
			if (!packs_has(p, *h, n))
				TRY(pack_put(w, *h, data + at, n, (int)width));
		}
	}
	TRY(pack_finish(w, &bytes));
	packs_close(p);
	m->tensor = x;
	m->ntensors = TENSORS;
	return 0;
}

static void put_parents(struct arena *a, struct manifest *m, char *text)
{
	const char **parent = ARENA_ARRAY(a, const char *, VERSIONS);
	m->parent = parent;
	for (char *word = strtok(text, ","); word && *word != '-'; word = strtok(NULL, ","))
		parent[m->nparents++] = atoi(word) ? id[atoi(word) - 1] : "000000000001-00000000";
}

static void put_metrics(struct arena *a, struct manifest *m, char *text)
{
	struct ckpt_metric *metric = ARENA_ARRAY(a, struct ckpt_metric, 20);
	m->metrics = metric;
	m->metric = NAN;
	for (char *word = strtok(text, ","); word && *word != '-'; word = strtok(NULL, ",")) {
		char *is = strchr(word, '=');
		*is = '\0';
		metric[m->nmetrics++] = (struct ckpt_metric){ word, atof(is + 1) };
	}
	if (m->nmetrics) {
		m->metric_name = metric[0].name;
		m->metric = metric[0].value;
	}
}

static int make(const char *root, struct line *l)
{
	struct arena *a = arena_new();
	char run[33] = "";
	const struct ckpt_scalar scalar[] = { { "seed", "1" },
		{ "seconds", arena_printf(a, "%lld", l->step) } };
	struct manifest m = { .serial = l->serial, .step = l->step, .epoch = l->epoch,
		.time = l->time, .fork = strcmp(l->fork, "fork") == 0, .nscalars = 2, .scalar = scalar,
		.config = l->config[0] ? arena_printf(a, "%s\n", l->config) : "", .program = "dlx test",
		.data = "made", .ranks = 2 };
	struct buf text = BUF_INIT;
	memset(run, l->run, 32);
	m.run = run;
	put_parents(a, &m, l->parents);
	put_metrics(a, &m, l->metrics);
	TRY(put_tensors(a, root, &m, l->seed));
	manifest_write(&text, &m);
	manifest_id(&m, id[versions]);
	TRY(disk_mkdirs(disk_system(), arena_printf(a, "%s/" VERSIONS_FOLDER, root)));
	TRY(disk_write_file(disk_system(), arena_printf(a, "%s/" VERSIONS_FOLDER "/%s" MANIFEST_SUFFIX,
	                                                root, id[versions]), text.data, text.len));
	puts(id[versions++]);
	buf_release(&text);
	arena_free(a);
	return 0;
}

int main(int argc, char **argv)
{
	char text[1000];
	int rc = 0;
	log_init("make_store", 0, 1);
	while (argc == 2 && rc == 0 && versions < VERSIONS && fgets(text, sizeof text, stdin)) {
		struct line l = { 0 };
		if (sscanf(text, "%c %lld %lld %lld %lld %99s %9s %d %199s %199[^\n]", &l.run, &l.step,
		           &l.epoch, &l.time, &l.serial, l.parents, l.fork, &l.seed, l.metrics,
		           l.config) < 9)
			rc = ERR(E_USAGE, NULL, "cannot understand '%s'", text);
		else
			rc = make(argv[1], &l);
	}
	if (rc < 0)
		err_print(stderr, "make_store");
	return err_exit_status(rc);
}
