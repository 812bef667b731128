/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See crash_states.h. */
#include "crash_states.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define MOST 256                       /* changes pending at a time */
#define PAIRED 12                      /* a change is paired with this many before it */
#define SHOWN 3                        /* wrong states that are printed */

struct seen {
	struct hash128 hash;
	int promised;
	bool used;
};

struct walk {
	const struct sim *s;
	const struct crash_limits *limits;
	const struct crash_judge *judge;
	struct crash_counts *counts;
	uint64_t random;
	struct seen *seen;                 /* a hash table */
	size_t nseen, seen_cap;
	int calls, npending;
	int pending[MOST];
	bool kept[MOST];
};

uint64_t crash_draw(uint64_t *state)
{
	uint64_t x = *state += 0x9E3779B97F4A7C15;
	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
	x = (x ^ x >> 27) * 0x94D049BB133111EB;
	return x ^ x >> 31;
}

static int below(struct walk *w, int n)
{
	return (int)(crash_draw(&w->random) % (uint64_t)n);
}

/* --- states that were judged --- */

static struct seen *place(struct seen *table, size_t cap, struct hash128 h, int promised)
{
	size_t i = (size_t)(h.low + (uint64_t)promised * 0x9E3779B97F4A7C15) % cap;
	while (table[i].used && (table[i].promised != promised || !hash128_equal(table[i].hash, h)))
		i = (i + 1) % cap;
	return &table[i];
}

static void grow(struct walk *w)
{
	const size_t cap = w->seen_cap ? 2 * w->seen_cap : 1024;
	struct seen *table = mem_calloc(cap, sizeof *table);
	for (size_t i = 0; i < w->seen_cap; i++)
		if (w->seen[i].used)
			*place(table, cap, w->seen[i].hash, w->seen[i].promised) = w->seen[i];
	mem_free(w->seen);
	w->seen = table;
	w->seen_cap = cap;
}

static bool is_new(struct walk *w, struct hash128 h, int promised)
{
	if (2 * w->nseen >= w->seen_cap)
		grow(w);
	struct seen *e = place(w->seen, w->seen_cap, h, promised);
	if (e->used)
		return false;
	*e = (struct seen){ h, promised, true };
	w->nseen++;
	return true;
}

/* --- one state --- */

static void show(const struct walk *w, const struct sim_crash *c, const char *why)
{
	struct buf text = BUF_INIT;
	struct sim *after = sim_after(w->s, c);
	sim_describe(&text, w->s, c);
	sim_list(&text, after);
	printf("wrong: %s\n%s", why, text.data);
	sim_free(after);
	buf_release(&text);
}

static void note_wrong(struct walk *w, const struct sim_crash *c, const char *why)
{
	if (w->counts->wrong == 0)
		snprintf(w->counts->why, sizeof w->counts->why, "%s", why);
	if (w->counts->wrong++ < SHOWN && !w->limits->quiet)
		show(w, c, why);
}

static void state(struct walk *w, int torn, struct sim_tear tear, bool backwards)
{
	const struct sim_crash c = { .calls = w->calls, .npending = w->npending,
		.pending = w->pending, .kept = w->kept, .torn = torn, .tear = tear,
		.backwards = backwards };
	if (w->limits->share > 1 && below(w, w->limits->share) != 0)
		return;
	struct sim *after = sim_after(w->s, &c);
	struct buf why = BUF_INIT;
	const int promised = w->judge->promised(w->judge->arg, w->calls);
	if (!is_new(w, sim_image_hash(&after->now, NULL), promised))
		w->counts->twice++;
	else {
		w->counts->states++;
		if (!w->judge->judge(w->judge->arg, after, w->calls, &why))
			note_wrong(w, &c, why.data);
	}
	buf_release(&why);
	sim_free(after);
}

static void plain(struct walk *w)
{
	state(w, -1, (struct sim_tear){ 0 }, false);
}

static void set_all(struct walk *w, bool kept)
{
	for (int i = 0; i < w->npending; i++)
		w->kept[i] = kept;
}

static void draw_subset(struct walk *w)
{
	const int of = 2 + below(w, 3);
	for (int i = 0; i < w->npending; i++)
		w->kept[i] = below(w, of) != 0;
}

/* --- all states after one call --- */

static bool is_data(const struct walk *w, int i)
{
	const struct sim_change *c = &w->s->change[w->pending[i]];
	return c->kind == SIM_WRITE || c->kind == SIM_CUT;
}

static void of_one_kind(struct walk *w)
{
	for (int data = 0; data < 2; data++) {
		for (int i = 0; i < w->npending; i++)
			w->kept[i] = is_data(w, i) == (data == 1);
		plain(w);
	}
}

/* Each one and each two lost where all others are kept, and the other way round. */
static void few(struct walk *w, bool others)
{
	set_all(w, others);
	plain(w);
	for (int i = 0; i < w->npending; i++) {
		w->kept[i] = !others;
		plain(w);
		for (int k = i > PAIRED ? i - PAIRED : 0; k < i; k++) {
			w->kept[k] = !others;
			plain(w);
			w->kept[k] = others;
		}
		w->kept[i] = others;
	}
}

static bool last_of_file(const struct walk *w, int i)
{
	const int file = w->s->change[w->pending[i]].file;
	for (int k = i + 1; k < w->npending; k++)
		if (is_data(w, k) && w->s->change[w->pending[k]].file == file)
			return false;
	return w->s->change[w->pending[i]].kind == SIM_WRITE;
}

static void torn(struct walk *w, int i)
{
	static const size_t sizes[] = { 0, 1, 511, 512, 4095, 4096, SIZE_MAX };
	const size_t n = w->s->change[w->pending[i]].n;
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		const size_t part = sizes[k] == SIZE_MAX ? n - 1 : sizes[k];
		if (n == 0 || part >= n)
			continue;
		for (int tail = SIM_TAIL_NONE; tail <= SIM_TAIL_GARBAGE; tail++) {
			const struct sim_tear tear = { part, (enum sim_tail)tail };
			set_all(w, true);
			state(w, i, tear, false);
			draw_subset(w);
			w->kept[i] = true;
			state(w, i, tear, false);
		}
	}
}

static void behind_call(struct walk *w)
{
	few(w, true);
	if (w->npending == 0)
		return;
	few(w, false);
	of_one_kind(w);
	for (int i = 0; i < w->npending; i++)
		if (is_data(w, i) && last_of_file(w, i))
			torn(w, i);
	for (int i = 0; i < w->limits->random; i++) {
		draw_subset(w);
		state(w, -1, (struct sim_tear){ 0 }, i % 2);
	}
	set_all(w, true);
	state(w, -1, (struct sim_tear){ 0 }, true);
}

void crash_walk(const struct sim *s, int from, int to, const struct crash_limits *limits,
                const struct crash_judge *judge, struct crash_counts *counts)
{
	struct walk w = { .s = s, .limits = limits, .judge = judge, .counts = counts,
		.random = limits->seed };
	for (int calls = from; calls <= to; calls++) {
		if (calls > from && calls < to && !(SIM_CHANGES >> s->call[calls - 1].kind & 1) &&
		    judge->promised(judge->arg, calls) == judge->promised(judge->arg, calls - 1))
			continue;
		w.calls = calls;
		w.npending = sim_pending(s, calls, w.pending, MOST);
		BUG_IF(w.npending > MOST, "%d changes without a sync", w.npending);
		behind_call(&w);
	}
	mem_free(w.seen);
}
