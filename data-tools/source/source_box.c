/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads boxes of a source's array. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "data-tools/source/source.h"

/* Whether the box is all of the axes from axis i on. */
static bool is_full(const struct source *s, const int64_t *count, int i)
{
	while (i < s->shape.nd && count[i] == s->shape.d[i])
		i++;
	return i >= s->shape.nd;
}

/* Rows of the first axis, into s->whole unless they are there. */
static int keep_rows(struct source *s, int64_t first, int64_t n)
{
	const int64_t row = s->shape.nd ? shape_count(&s->shape) / s->shape.d[0] : 1;
	const size_t bytes = (size_t)(n * row) * dtype_size(s->dtype);
	if (s->whole && s->whole_first == first && s->whole_n == n)
		return 0;
	s->whole_n = 0;
	if (bytes > s->whole_room) {
		mem_free(s->whole);
		s->whole = mem_alloc(bytes);
		s->whole_room = bytes;
	}
	TRY(s->shape.nd ? source_read(s, first, n, s->whole) : source_read_all(s, s->whole));
	s->whole_first = first;
	s->whole_n = n;
	return 0;
}

/* `from` has all of the axes from axis i on, but of the first axis the box's rows alone. */
static void copy_box(const struct source *s, int i, const int64_t *start, const int64_t *count,
                     const uint8_t *from, uint8_t *to)
{
	size_t inner = dtype_size(s->dtype), step = inner;
	for (int k = i + 1; k < s->shape.nd; k++) {
		inner *= (size_t)s->shape.d[k];
		step *= (size_t)count[k];
	}
	from += i ? (size_t)start[i] * inner : 0;
	if (is_full(s, count, i + 1)) {
		memcpy(to, from, inner * (size_t)count[i]);
		return;
	}
	for (int64_t k = 0; k < count[i]; k++)
		copy_box(s, i + 1, start, count, from + (size_t)k * inner, to + (size_t)k * step);
}

int source_read_box(struct source *s, const int64_t *start, const int64_t *count, void *out)
{
	for (int i = 0; i < s->shape.nd; i++)
		if (start[i] < 0 || count[i] < 1 || start[i] > s->shape.d[i] - count[i])
			return source_bad(s, "no such values");
	if (s->shape.nd == 0 || is_full(s, count, 0))
		return source_read_all(s, out);
	if (is_full(s, count, 1))
		return source_read(s, start[0], count[0], out);
	if (s->format->read_box) {
		int64_t n = 1;

		for (int i = 0; i < s->shape.nd; i++)
			n *= count[i];
		TRY(s->format->read_box(s, start, count, out));
		return source_check(s, out, n);
	}
	TRY(keep_rows(s, start[0], count[0]));
	copy_box(s, 0, start, count, s->whole, out);
	return 0;
}

/* The axes from `run` on are whole: what is chosen of the axis before it lies in a row. */
int source_read_runs(struct source *s, const int64_t *start, const int64_t *count, void *out,
                     int (*read_run)(struct source *s, int64_t from, int64_t n, void *out))
{
	const int nd = s->shape.nd;
	int64_t at[MAXD] = { 0 }, values = 1;
	int run = nd;
	while (run > 0 && count[run - 1] == s->shape.d[run - 1])
		values *= s->shape.d[--run];
	values *= run ? count[--run] : 1;
	for (uint8_t *to = out;; to += (size_t)values * dtype_size(s->dtype)) {
		int64_t from = 0;
		int k = run - 1;

		for (int i = 0; i < nd; i++)
			from = from * s->shape.d[i] + start[i] + at[i];
		TRY(read_run(s, from, values, to));
		while (k >= 0 && ++at[k] == count[k])
			at[k--] = 0;
		if (k < 0)
			return 0;
	}
}
