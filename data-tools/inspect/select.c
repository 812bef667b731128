/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads a selection of samples. */
#include "data-tools/inspect/select.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

static int malformed(const char *text)
{
	return ERR(E_USAGE, NULL,
	           "--samples: cannot read '%s'; expected numbers and ranges as in 0,4,8:12 or "
	           "!1,4",
	           text);
}

/* An optional whole number at *p. */
static bool number(const char **p, int64_t *v)
{
	char *end;
	long long x;
	errno = 0;
	x = strtoll(*p, &end, 10);
	if (end == *p || errno || **p == ' ')
		return false;
	*p = end;
	*v = x;
	return true;
}

static int64_t clip(int64_t i, int64_t n)
{
	i = i < 0 ? i + n : i;
	return i < 0 ? 0 : i > n ? n : i;
}

static int mark_range(const char **p, int64_t first, int64_t n, bool *on)
{
	int64_t end = n, step = 1;
	(*p)++;
	number(p, &end);
	if (**p == ':') {
		(*p)++;
		if (!number(p, &step) || step < 1)
			return -1;
	}
	end = clip(end, n);
	for (int64_t i = clip(first, n); i < end; i += step < n ? step : n)
		on[i] = true;
	return 0;
}

static int mark_item(const char *text, const char **p, int64_t n, bool *on)
{
	int64_t first = 0;
	const bool given = number(p, &first);
	if (**p == ':')
		return mark_range(p, first, n, on) < 0 ? malformed(text) : 0;
	if (!given)
		return malformed(text);
	if (first < -n || first >= n)
		return ERR(E_USAGE, NULL, "--samples: there is no sample %lld; the input has %lld, from 0",
		           (long long)first, (long long)n);
	on[first < 0 ? first + n : first] = true;
	return 0;
}

static int mark(const char *text, int64_t n, bool *on)
{
	const char *p = text + (*text == '!');
	for (;;) {
		TRY(mark_item(text, &p, n, on));
		if (*p == '\0')
			return 0;
		if (*p++ != ',')
			return malformed(text);
	}
}

int select_samples(const char *text, int64_t n, int64_t **out, int64_t *count)
{
	bool *on = mem_calloc((size_t)n + 1, sizeof(*on));
	const bool chosen = !text || *text != '!';
	int rc = text ? mark(text, n, on) : 0;
	*out = mem_calloc((size_t)n + 1, sizeof(**out));
	*count = 0;
	for (int64_t i = 0; i < n; i++)
		if (!text || on[i] == chosen)
			(*out)[(*count)++] = i;
	if (rc == 0 && *count == 0)
		rc = ERR(E_USAGE, NULL, "--samples: '%s' leaves none of the %lld samples", text ? text : "",
		         (long long)n);
	mem_free(on);
	return rc;
}

/* brackets: a comma between '[' and ']' separates nothing. */
static int split(const char *s, bool brackets, const char ***v)
{
	const size_t len = strlen(s);
	int n = 1, k = 0, depth = 0;
	char *text;
	for (const char *p = s; *p; p++)
		n += *p == ',';
	*v = mem_alloc((size_t)n * sizeof(**v) + len + 1);
	text = (char *)(*v + n);
	memcpy(text, s, len + 1);
	if (len == 0)
		return 0;
	(*v)[k++] = text;
	for (char *p = text; *p; p++) {
		depth += brackets && *p == '[' ? 1 : brackets && *p == ']' && depth ? -1 : 0;
		if (*p != ',' || depth)
			continue;
		*p = '\0';
		(*v)[k++] = p + 1;
	}
	return k;
}

int split_commas(const char *s, const char ***v)
{
	return split(s, false, v);
}

int split_names(const char *s, const char ***v)
{
	return split(s, true, v);
}
