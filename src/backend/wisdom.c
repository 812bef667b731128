/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines in order of (problem, device, library), looked up by halving. */
#include "backend/wisdom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

enum { PROBLEM, DEVICE, LIBRARY, KEYS, ENGINE = KEYS, TEXTS };

#define TURN 10000             /* microseconds between looks at a lock */
#define TURNS 100

struct wisdom_line {
	const char *text[TEXTS];
	double microseconds;
};

struct wisdom *wisdom_new(void)
{
	return mem_calloc(1, sizeof(struct wisdom));
}

void wisdom_free(struct wisdom *w)
{
	if (!w)
		return;
	mem_free(w->line);
	mem_free(w->kept);
	mem_free(w);
}

static int order(const char *const *a, const char *const *b)
{
	int d = 0;
	for (int i = 0; i < KEYS && d == 0; i++)
		d = strcmp(a[i], b[i]);
	return d;
}

/* The first line that is not before the key. */
static int place_of(const struct wisdom *w, const char *const *key)
{
	int lo = 0, hi = w->n;
	while (lo < hi) {
		int mid = (lo + hi) / 2;
		if (order(w->line[mid].text, key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool is_at(const struct wisdom *w, int at, const char *const *key)
{
	return at < w->n && order(w->line[at].text, key) == 0;
}

const char *wisdom_find(const struct wisdom *w, const char *problem, const char *device,
                        const char *library)
{
	const char *const key[] = { problem, device, library };
	int at = w ? place_of(w, key) : 0;
	return w && is_at(w, at, key) ? w->line[at].text[ENGINE] : NULL;
}

void wisdom_add(struct wisdom *w, const char *problem, const char *device, const char *library,
                const char *engine, double microseconds)
{
	const char *const key[] = { problem, device, library };
	int at = place_of(w, key);
	if (!is_at(w, at, key)) {
		if (w->n == w->cap) {
			w->cap = w->cap ? 2 * w->cap : 64;
			w->line = mem_realloc(w->line, sizeof *w->line * (size_t)w->cap);
		}
		memmove(w->line + at + 1, w->line + at, sizeof *w->line * (size_t)(w->n - at));
		w->n++;
	}
	w->line[at] = (struct wisdom_line){ { str_intern(problem), str_intern(device),
		str_intern(library),
	                                      str_intern(engine) }, microseconds };
	w->changed = true;
}

/* --- as text --- */

static int parse_line(struct wisdom *w, char *line, const char *name, int number)
{
	const struct loc where = { .file = str_intern(name), .line = number };
	char *text[TEXTS], *end;
	for (int i = 0; i < TEXTS; i++) {
		text[i] = line;
		line = strchr(line, '\t');
		if (!line || line == text[i])
			return ERR(E_DATA, &where, "no line of wisdom: problem, device, library, engine and "
			           "microseconds were expected, with tabs between them");
		*line++ = '\0';
	}
	double us = strtod(line, &end);
	if (end == line || *end || !(us >= 0))
		return ERR(E_DATA, &where, "no line of wisdom: '%s' is no number of microseconds", line);
	wisdom_add(w, text[PROBLEM], text[DEVICE], text[LIBRARY], text[ENGINE], us);
	return 0;
}

int wisdom_parse(struct wisdom *w, const char *text, const char *name)
{
	const bool changed = w->changed;
	char *copy = mem_strdup(text), *next;
	int rc = 0, number = 1;
	for (char *line = copy; line && *line && rc == 0; line = next, number++) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (*line && *line != '#')
			rc = parse_line(w, line, name, number);
	}
	w->changed = changed;
	mem_free(copy);
	return rc;
}

int wisdom_read(struct wisdom *w, const char *path)
{
	struct buf text = BUF_INIT;
	if (!io_exists(path))
		return 0;
	int rc = io_read_text(path, &text);
	if (rc == 0 && memchr(text.data, '\0', text.len))
		rc = ERR(E_DATA, NULL, "'%s' is no text", path);
	if (rc == 0)
		rc = wisdom_parse(w, text.data, path);
	buf_release(&text);
	return rc;
}

void wisdom_print(struct wisdom *w, struct buf *out)
{
	buf_puts(out, "# dlx wisdom: problem, device, library, engine, microseconds\n");
	for (int i = 0; i < w->n; i++) {
		const struct wisdom_line *l = &w->line[i];
		buf_printf(out, "%s\t%s\t%s\t%s\t%.4g\n", l->text[PROBLEM], l->text[DEVICE],
		           l->text[LIBRARY], l->text[ENGINE], l->microseconds);
	}
}

/* Processes that write the same file take turns, by a lock on its folder; where the file system
 * has no locks, or the other process does not go on, a line may get lost, which costs its
 * measuring. Returns a descriptor to close, or -1. */
static int take_turn(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = mem_strdup(slash == path ? "/" : slash ? path : ".");
	if (slash > path)
		folder[slash - path] = '\0';
	int fd = io_open(folder, O_RDONLY | O_DIRECTORY, 0);
	for (int i = 0; i < TURNS && fd >= 0; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			break;
		usleep(TURN);
	}
	mem_free(folder);
	return fd;
}

/* Writes the lines that the file has now, with w's lines added. */
static int write_both(const struct wisdom *w, const char *path)
{
	struct wisdom *all = wisdom_new();
	struct buf text = BUF_INIT;
	int rc = io_is_regular(path) ? wisdom_read(all, path) : 0;
	for (int i = 0; i < w->n; i++) {
		const struct wisdom_line *l = &w->line[i];
		wisdom_add(all, l->text[PROBLEM], l->text[DEVICE], l->text[LIBRARY], l->text[ENGINE],
		           l->microseconds);
	}
	wisdom_print(all, &text);
	if (rc == 0)
		rc = io_write_file(path, text.data, text.len);
	buf_release(&text);
	wisdom_free(all);
	return rc;
}

int wisdom_write(struct wisdom *w, const char *path)
{
	if (!w->changed)
		return 0;
	int turn = take_turn(path), rc = write_both(w, path);
	if (turn >= 0)
		close(turn);
	w->changed = rc < 0;
	return rc;
}

void wisdom_measured(struct wisdom *w, const char *problem, const char *device,
                     const char *library, const char *engine, double microseconds)
{
	const int mark = err_count();
	wisdom_add(w, problem, device, library, engine, microseconds);
	if (w->path && wisdom_write(w, w->path) < 0)
		w->measure = false;
	err_truncate(mark);
}

bool wisdom_may_measure(const struct wisdom *w)
{
	return w && w->measure && w->spent < w->seconds;
}

void wisdom_left(struct wisdom *w)
{
	if (w && w->measure && w->spent >= w->seconds)
		w->left++;
}
