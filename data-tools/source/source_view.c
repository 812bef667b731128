/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/source/source_view.h"

#include <string.h>

struct source_view source_view_plain(const struct shape *stored)
{
	struct source_view v = { .nd = stored->nd };
	for (int i = 0; i < v.nd; i++) {
		v.stored[i] = i;
		v.stored_n[i] = v.n[i] = stored->d[i];
	}
	return v;
}

bool source_view_is_plain(const struct source_view *v)
{
	for (int i = 0; i < v->nd; i++)
		if (v->stored[i] != i || v->element[i])
			return false;
	return true;
}

void source_view_permute(struct source_view *v, const int *order)
{
	const struct source_view old = *v;
	for (int i = 0; i < v->nd; i++) {
		v->stored[i] = old.stored[order[i]];
		v->n[i] = old.n[order[i]];
		v->element[i] = old.element[order[i]];
	}
}

void source_view_choose(struct source_view *v, struct arena *a, int axis, const int64_t *element,
                        int64_t n)
{
	const int64_t *old = v->element[axis];
	int64_t *table = ARENA_ARRAY(a, int64_t, n + 1);
	for (int64_t i = 0; i < n; i++)
		table[i] = old ? old[element[i]] : element[i];
	v->element[axis] = table;
	v->n[axis] = n;
}

void source_view_box(const struct source_view *v, const int64_t *start, const int64_t *count,
                     int64_t *stored_start, int64_t *stored_count)
{
	for (int i = 0; i < v->nd; i++) {
		const int64_t *element = v->element[i];
		int64_t low = start[i], high = start[i] + count[i] - 1;

		for (int64_t k = start[i]; element && k < start[i] + count[i]; k++) {
			low = k == start[i] || element[k] < low ? element[k] : low;
			high = k == start[i] || element[k] > high ? element[k] : high;
		}
		stored_start[v->stored[i]] = low;
		stored_count[v->stored[i]] = high - low + 1;
	}
}

/* Where the first value of the box is, and how far apart two are along each axis as read. */
struct walk {
	const struct source_view *v;
	const int64_t *start, *count, *low;
	size_t size, step[MAXD];
};

static void gather(const struct walk *w, int axis, const uint8_t *from, uint8_t **out)
{
	const struct source_view *v = w->v;
	const int64_t *element = v->element[axis];
	const bool last = axis == v->nd - 1;
	if (last && !element && w->step[axis] == w->size) {
		const size_t bytes = (size_t)w->count[axis] * w->size;

		memcpy(*out, from, bytes);
		*out += bytes;
		return;
	}
	for (int64_t k = 0; k < w->count[axis]; k++) {
		const int64_t at = element ? element[w->start[axis] + k] - w->low[v->stored[axis]] : k;
		const uint8_t *one = from + (size_t)at * w->step[axis];

		if (!last) {
			gather(w, axis + 1, one, out);
			continue;
		}
		memcpy(*out, one, w->size);
		*out += w->size;
	}
}

void source_view_gather(const struct source_view *v, const int64_t *start, const int64_t *count,
                        const int64_t *stored_start, const int64_t *stored_count, const void *from,
                        size_t size, void *out)
{
	struct walk w = { v, start, count, stored_start, size, { 0 } };
	uint8_t *to = out;
	size_t stored_step[MAXD], step = size;
	for (int i = v->nd - 1; i >= 0; i--) {
		stored_step[i] = step;
		step *= (size_t)stored_count[i];
	}
	for (int i = 0; i < v->nd; i++)
		w.step[i] = stored_step[v->stored[i]];
	gather(&w, 0, from, &to);
}
