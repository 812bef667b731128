/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Damaged files of a store: every bit of every file of a small one flipped, every file cut at every
 * length and exchanged for others; random bits, bursts and exchanged blocks of a larger one. What
 * loads is what was saved, bit for bit, or it does not load and says so. */
#include "crash_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "ckpt/refs.h"
#include "stories.h"

#define LARGE 20000                    /* elements of the larger store's one large tensor */
#define BLOCK 4096
#define SAVES 3

struct damage {
	struct story t;
	char id[SAVES + 1][64];            /* of each save */
	struct disk *d;
	int file[64];                      /* numbers of all files in the image */
	char path[64][SIM_NAME];
	int nfiles;
	long cases, found, wrong;
	uint64_t random;
};

static void add_file(void *arg, const char *path, int file)
{
	struct damage *g = arg;
	if (g->t.s->now.file[file].folder || g->t.s->now.file[file].size == 0)
		return;
	BUG_IF(g->nfiles == 64, "more than 64 files");
	snprintf(g->path[g->nfiles], SIM_NAME, "%s", path);
	g->file[g->nfiles++] = file;
}

static bool begin(struct damage *g, int size, uint64_t seed)
{
	*g = (struct damage){ .random = seed };
	story_begin(&g->t, false, SAVES);
	g->t.size = size;
	story_open(&g->t, 0);
	for (int save = 1; save <= SAVES; save++) {
		story_save(&g->t, 0, save);
		memcpy(g->id[save], g->t.last[0], sizeof g->id[save]);
		if (save == 1)
			story_tag(&g->t, 0, "gold", 1);
		if (save == 2)
			story_pin(&g->t, 0);
	}
	story_close(&g->t, 0);
	g->d = sim_process(g->t.s);
	sim_image_walk(&g->t.s->now, add_file, g);
	return !g->t.failed;
}

static struct sim_file *file_at(const struct damage *g, int i)
{
	return &g->t.s->now.file[g->file[i]];
}

/* --- what is read of a damaged store --- */

/* save: the one that has to load, 0: any of the run. Whether it did, or else an error did. */
static bool right(struct damage *g, const char *which, int save, struct buf *why)
{
	struct ckpt_version *v;
	int run = 0, got = 0;
	if (ckpt_load_on(&v, g->d, story_dir(0), which) < 0 || !v) {
		bool said = err_count() > 0;
		g->found++;
		if (!said)
			buf_puts(why, "it does not load and no error says why");
		err_clear();
		return said;
	}
	bool same = story_state_is(v, &run, &got, g->t.size, why) && (save == 0 || got == save);
	ckpt_version_free(v);
	err_clear();
	return same;
}

static bool refs_right(struct damage *g, struct buf *why)
{
	struct refs r;
	if (refs_read(&r, g->d, story_root(&g->t, 0)) < 0) {
		g->found++;
		err_clear();
		return true;
	}
	const char *gold = refs_find(&r, "gold");
	bool same = r.n == 2 && gold && strcmp(gold, g->id[1]) == 0 && refs_keep(&r, g->id[2]);
	refs_release(&r);
	if (!same)
		buf_puts(why, "tags and pins are read, but are others");
	return same;
}

static void judge(struct damage *g, int i, const char *what, size_t at)
{
	struct buf why = BUF_INIT;
	bool ref = strstr(g->path[i], "/tags/") || strstr(g->path[i], "/pins/");
	bool good = ref ? refs_right(g, &why) :
	            right(g, g->id[SAVES], SAVES, &why) &&
	            (g->t.size == LARGE || right(g, "auto", 0, &why));
	g->cases++;
	if (!good && g->wrong++ < 5)
		printf("wrong: %s at %zu of '%s': %s\n", what, at, g->path[i], why.data);
	buf_release(&why);
}

/* --- damage, which is made good again --- */

static void flip(struct damage *g, int i, size_t bit)
{
	uint8_t *byte = &file_at(g, i)->data[bit / 8];
	*byte = (uint8_t)(*byte ^ 1 << bit % 8);
	judge(g, i, "a flipped bit", bit);
	*byte = (uint8_t)(*byte ^ 1 << bit % 8);
}

static void cut(struct damage *g, int i, size_t size)
{
	struct sim_file *f = file_at(g, i);
	const size_t whole = f->size;
	f->size = size;
	judge(g, i, "a cut", size);
	f->size = whole;
}

static void exchange(struct damage *g, int i, int k)
{
	struct sim_file *a = file_at(g, i), *b = file_at(g, k), keep = *a;
	*a = *b;
	judge(g, i, "another file's content", (size_t)k);
	*b = keep;
	judge(g, i, "two files exchanged", (size_t)k);
	*b = *a;
	*a = keep;
}

static size_t below(struct damage *g, size_t n)
{
	return (size_t)(crash_draw(&g->random) % n);
}

static void burst(struct damage *g, int i)
{
	struct sim_file *f = file_at(g, i);
	uint8_t keep[64];
	const size_t most = f->size < sizeof keep ? f->size : sizeof keep;
	const size_t n = 1 + below(g, most), at = below(g, f->size - n + 1);
	memcpy(keep, f->data + at, n);
	for (size_t k = 0; k < n; k++)
		f->data[at + k] = (uint8_t)crash_draw(&g->random);
	judge(g, i, "a burst", at);
	memcpy(f->data + at, keep, n);
}

static void exchange_blocks(struct damage *g, int i)
{
	struct sim_file *f = file_at(g, i);
	uint8_t keep[BLOCK];
	if (f->size < 2 * BLOCK)
		return;
	const size_t n = f->size / BLOCK, a = below(g, n) * BLOCK, b = below(g, n) * BLOCK;
	memcpy(keep, f->data + a, BLOCK);
	memmove(f->data + a, f->data + b, BLOCK);
	memcpy(f->data + b, keep, BLOCK);
	judge(g, i, "two blocks exchanged", a);
	memcpy(keep, f->data + a, BLOCK);
	memmove(f->data + a, f->data + b, BLOCK);
	memcpy(f->data + b, keep, BLOCK);
}

/* --- the store --- */

static void small_store(struct damage *g, size_t step)
{
	for (int i = 0; i < g->nfiles; i++) {
		const size_t size = file_at(g, i)->size;
		for (size_t bit = below(g, step); bit < size * 8; bit += step)
			flip(g, i, bit);
		for (size_t n = below(g, step); n < size; n += step)
			cut(g, i, n);
		for (int k = 0; k < g->nfiles; k++)
			if (k != i)
				exchange(g, i, k);
	}
}

/* A file is drawn by its size. */
static int draw_file(struct damage *g)
{
	size_t all = 0, at;
	int i = 0;
	for (int k = 0; k < g->nfiles; k++)
		all += file_at(g, k)->size;
	for (at = below(g, all); at >= file_at(g, i)->size; i++)
		at -= file_at(g, i)->size;
	return i;
}

static void large_store(struct damage *g, long flips, long others)
{
	for (long k = 0; k < flips; k++) {
		const int i = draw_file(g);
		flip(g, i, below(g, file_at(g, i)->size * 8));
	}
	for (long k = 0; k < others; k++) {
		burst(g, draw_file(g));
		exchange_blocks(g, draw_file(g));
	}
}

long crash_part_flips(const struct crash_form *f)
{
	struct damage g;
	long wrong = 0;
	for (int large = 0; large < 2; large++) {
		const double start = io_seconds();
		bool begun = begin(&g, large ? LARGE : STORY_SIZE, f->seed);
		if (begun && large)
			large_store(&g, f->all ? 1000000 : 200, f->all ? 20000 : 20);
		else if (begun)
			small_store(&g, f->all ? 1 : 211);
		else
			printf("the store to damage cannot be made\n");
		printf("damage of a %s store: %ld, found: %ld, wrong: %ld (%.1f s)\n",
		       large ? "larger" : "small", g.cases, g.found, g.wrong, io_seconds() - start);
		wrong += begun ? g.wrong : 1;
		story_end(&g.t);
	}
	return wrong;
}
