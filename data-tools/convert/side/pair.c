/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/convert/side/pair.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *const pair_by_text[] = { "by what differs in their names", "by their names",
	                                 "by the numbers in their names", "by their order" };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* n bytes of a name, in which a number has no zeros at the front. */
static const char *normal(struct arena *a, const char *p, size_t n)
{
	char *out = arena_alloc(a, n + 1), *to = out;
	const char *const begin = p, *const end = p + n;
	for (; p < end; p++) {
		if (is_digit(*p) && (p == begin || !is_digit(p[-1])))
			while (*p == '0' && p + 1 < end && is_digit(p[1]))
				p++;
		*to++ = *p;
	}
	*to = '\0';
	return out;
}

/* --- what names are compared by --- */

/* How many bytes all names begin with, without a part of a number. */
static size_t common_begin(const char *const *v, int64_t n)
{
	size_t same = strlen(v[0]);
	for (int64_t i = 1; i < n; i++) {
		size_t k = 0;

		while (k < same && v[i][k] == v[0][k])
			k++;
		same = k;
	}
	while (same && is_digit(v[0][same - 1]))
		same--;
	return same;
}

/* How many bytes all end with, of those after the first `begin`. */
static size_t common_end(const char *const *v, int64_t n, size_t begin)
{
	const size_t length = strlen(v[0]);
	size_t same = length - begin;
	for (int64_t i = 1; i < n; i++) {
		const size_t other = strlen(v[i]);
		size_t k = 0;

		while (k < same && k < other - begin && v[i][other - 1 - k] == v[0][length - 1 - k])
			k++;
		same = k;
	}
	while (same && is_digit(v[0][length - same]))
		same--;
	return same;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static const char *stem(struct arena *a, const char *path)
{
	const char *name = base_name(path), *dot = strrchr(name, '.');
	return arena_printf(a, "%.*s", (int)(dot && dot > name ? (size_t)(dot - name) : strlen(name)),
	                    name);
}

/* "12-3" of scan12_slice003; an extension's number, as in .h5, is none. */
static const char *numbers(struct arena *a, const char *path)
{
	const char *name = stem(a, path);
	char *out = arena_alloc(a, 2 * strlen(name) + 1), *to = out;
	for (const char *p = name; *p;) {
		if (!is_digit(*p)) {
			p++;
			continue;
		}
		const size_t n = strspn(p, "0123456789");
		const char *number = normal(a, p, n);

		if (to > out)
			*to++ = '-';
		to = stpcpy(to, number);
		p += n;
	}
	*to = '\0';
	return out;
}

static const char **keys(struct arena *a, enum pair_by by, const char *const *v, int64_t n)
{
	const char **key = ARENA_ARRAY(a, const char *, n + 1);
	const size_t begin = by == PAIR_DIFFERENCE ? common_begin(v, n) : 0,
	             end = by == PAIR_DIFFERENCE ? common_end(v, n, begin) : 0;
	for (int64_t i = 0; i < n; i++)
		key[i] = by == PAIR_DIFFERENCE ? normal(a, v[i] + begin, strlen(v[i]) - begin - end) :
		         by == PAIR_STEM ? stem(a, v[i]) : numbers(a, v[i]);
	return key;
}

/* --- finding partners --- */

struct keyed {
	const char *key;
	int64_t at;
};

static int compare(const void *x, const void *y)
{
	return strcmp(((const struct keyed *)x)->key, ((const struct keyed *)y)->key);
}

/* NULL: two of the names have one key. */
static struct keyed *sort(struct arena *a, enum pair_by by, const char *const *v, int64_t n)
{
	const char **key = keys(a, by, v, n);
	struct keyed *list = ARENA_ARRAY(a, struct keyed, n + 1);
	for (int64_t i = 0; i < n; i++)
		list[i] = (struct keyed){ key[i], i };
	qsort(list, (size_t)n, sizeof *list, compare);
	for (int64_t i = 1; i < n; i++)
		if (strcmp(list[i - 1].key, list[i].key) == 0)
			return NULL;
	return list;
}

static struct pairing by_order(struct arena *a, int64_t nx, int64_t ny)
{
	int64_t *partner = ARENA_ARRAY(a, int64_t, nx + 1);
	for (int64_t i = 0; i < nx; i++)
		partner[i] = i < ny ? i : -1;
	return (struct pairing){ PAIR_ORDER, nx < ny ? nx : ny, partner };
}

static struct pairing pair_by(struct arena *a, enum pair_by by, const char *const *x, int64_t nx,
                              const char *const *y, int64_t ny)
{
	const struct keyed *xs = sort(a, by, x, nx), *ys = sort(a, by, y, ny);
	int64_t *partner = ARENA_ARRAY(a, int64_t, nx + 1);
	struct pairing p = { by, 0, partner };
	for (int64_t i = 0; i < nx; i++)
		partner[i] = -1;
	for (int64_t i = 0, j = 0; xs && ys && i < nx && j < ny;) {
		const int order = strcmp(xs[i].key, ys[j].key);

		if (order == 0 && *xs[i].key) {
			partner[xs[i].at] = ys[j].at;
			p.found++;
		}
		i += order <= 0;
		j += order >= 0;
	}
	return p;
}

struct pairing pair_names(struct arena *a, const char *const *x, int64_t nx, const char *const *y,
                          int64_t ny)
{
	struct pairing best = by_order(a, nx, ny);
	int64_t found = 0;
	if (nx == 1 && ny == 1)
		return best;
	for (enum pair_by by = PAIR_DIFFERENCE; by < PAIR_ORDER; by++) {
		const struct pairing p = pair_by(a, by, x, nx, y, ny);

		if (p.found > found) {
			best = p;
			found = p.found;
		}
	}
	return best;
}
