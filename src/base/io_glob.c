/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Patterns of file names. A mistyped pattern with "*" for every folder can search the whole file
 * system, so the search prints its progress after some seconds and has a limit. */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"

#define MAX_FOLDERS 1000000
#define MAX_ENTRIES 100000000
#define FIRST_NOTE 2.0          /* seconds; later ones after twice the time each */

/* glob's functions for folders take no argument of their caller's. */
static _Thread_local struct {
	const char *pattern;
	int64_t folders, entries;
	double began, next_note;
	bool too_many;
} search;

static void tell(void)
{
	const double now = io_seconds() - search.began;
	if (now < search.next_note)
		return;
	search.next_note = 2 * now;
	note("still looking for '%s': %lld folders and %lld names so far", search.pattern,
	     (long long)search.folders, (long long)search.entries);
}

static void *open_folder(const char *path)
{
	if (++search.folders > MAX_FOLDERS || search.entries > MAX_ENTRIES) {
		search.too_many = true;
		errno = EMFILE;
		return NULL;
	}
	tell();
	return opendir(path);
}

static struct dirent *read_folder(void *folder)
{
	if ((++search.entries & 1023) == 0)
		tell();
	return readdir(folder);
}

static void close_folder(void *folder)
{
	closedir(folder);
}

/* A folder that may not be read has no matches; of the last one the search ends. */
static int on_error(const char *path, int reason)
{
	return search.too_many;
}

static int give(struct io_paths *out, size_t n, char *const *v)
{
	out->v = mem_realloc(out->v, (out->n + n + 1) * sizeof *out->v);
	for (size_t i = 0; i < n; i++)
		out->v[out->n++] = mem_strdup(v[i]);
	return 0;
}

/* The end of the digits at p, and in *digits how many there are without zeros at the front. */
static const char *skip_number(const char **p, size_t *digits)
{
	const char *end;
	while (**p == '0' && (*p)[1] >= '0' && (*p)[1] <= '9')
		(*p)++;
	for (end = *p; *end >= '0' && *end <= '9'; end++)
		;
	*digits = (size_t)(end - *p);
	return end;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Runs of digits compare as numbers: scan_2 is before scan_10, as in the time that it shows. */
static int compare_names(const void *x, const void *y)
{
	const char *a = *(char *const *)x, *b = *(char *const *)y;
	while (*a && *b) {
		if (!is_digit(*a) || !is_digit(*b)) {
			if (*a != *b)
				return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
			a++;
			b++;
			continue;
		}
		size_t na, nb;
		const char *a_end = skip_number(&a, &na), *b_end = skip_number(&b, &nb);
		const int order = na != nb ? (na < nb ? -1 : 1) : memcmp(a, b, na);

		if (order)
			return order;
		a = a_end;
		b = b_end;
	}
	if (*a || *b)
		return *a ? 1 : -1;
	return strcmp(*(char *const *)x, *(char *const *)y);
}

static int expand(struct io_paths *out, const char *pattern)
{
	glob_t g = { .gl_opendir = open_folder, .gl_readdir = read_folder, .gl_closedir = close_folder,
	             .gl_stat = stat, .gl_lstat = lstat };
	int rc;
	memset(&search, 0, sizeof search);
	search.pattern = pattern;
	search.began = io_seconds();
	search.next_note = FIRST_NOTE;
	rc = glob(pattern, GLOB_ALTDIRFUNC, on_error, &g);
	if (rc == 0) {
		qsort(g.gl_pathv, g.gl_pathc, sizeof *g.gl_pathv, compare_names);
		rc = give(out, g.gl_pathc, g.gl_pathv);
	} else if (search.too_many)
		rc = ERR(E_NOINPUT, NULL, "'%s' leads through more than %d folders; name fewer", pattern,
		         MAX_FOLDERS);
	else if (rc == GLOB_NOMATCH)
		rc = ERR(E_NOINPUT, NULL, "no file matches '%s'", pattern);
	else
		rc = ERR(E_IO, NULL, "cannot expand '%s'", pattern);
	globfree(&g);
	return rc;
}

/* The '}' of the braces that begin at p, if they have a comma outside of inner ones, else NULL. */
static const char *brace_end(const char *p)
{
	bool comma = false;
	int depth = 0;
	for (; *p; p++) {
		depth += (*p == '{') - (*p == '}');
		comma |= *p == ',' && depth == 1;
		if (depth == 0)
			return comma ? p : NULL;
	}
	return NULL;
}

/* The first braces that are a list, or NULL. */
static const char *find_braces(const char *pattern)
{
	const char *p = pattern;
	while ((p = strchr(p, '{')) && !brace_end(p))
		p++;
	return p;
}

static int expand_one(struct io_paths *out, const char *path)
{
	if (io_exists(path))
		return give(out, 1, &(char *){ (char *)path });
	return expand(out, path);
}

/* Each of the alternatives in braces by itself: one of which nothing is there is an error. */
static int expand_list(struct io_paths *out, const char *pattern)
{
	const char *open = find_braces(pattern), *close = open ? brace_end(open) : NULL, *p = open;
	int rc = open ? 0 : expand_one(out, pattern);
	while (rc == 0 && p && p < close) {
		const char *begin = ++p;
		struct buf one = BUF_INIT;

		for (int depth = 0; p < close && (*p != ',' || depth); p++)
			depth += (*p == '{') - (*p == '}');
		buf_add(&one, pattern, (size_t)(open - pattern));
		buf_add(&one, begin, (size_t)(p - begin));
		buf_puts(&one, close + 1);
		rc = expand_list(out, one.data);
		buf_release(&one);
	}
	return rc;
}

int io_expand(struct io_paths *out, const char *pattern)
{
	memset(out, 0, sizeof *out);
	out->is_pattern = !io_exists(pattern) && (strpbrk(pattern, "*?[") || find_braces(pattern));
	return out->is_pattern ? expand_list(out, pattern) :
	       give(out, 1, &(char *){ (char *)pattern });
}

void io_paths_release(struct io_paths *p)
{
	for (size_t i = 0; i < p->n; i++)
		mem_free(p->v[i]);
	mem_free(p->v);
	memset(p, 0, sizeof *p);
}
