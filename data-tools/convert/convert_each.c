/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-convert --separate: files one after the other, as they are predicted from. Those of one size
 * and type that follow each other share a record, so that a thousand pictures are no thousand
 * files. One that says what its axes are has a record of its own. */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/shown.h"
#include "data-tools/convert/convert.h"

struct each {
	const struct conversion *all;
	struct run *run;                 /* NULL: none is open */
	struct record_info info;         /* of its record; shapes and types alone */
	struct conversion *last;         /* whose samples it got last; the run needs it */
	struct arena *last_arena;
	int records;
	char *first;                     /* the first file */
	enum dtype dtype;                /* of its values */
	char *reading;                   /* how the file before was read */
	bool warned;
};

static void drop_last(struct each *e)
{
	if (e->last)
		convert_release(e->last);
	mem_free(e->last);
	arena_free(e->last_arena);
	e->last = NULL;
	e->last_arena = NULL;
}

static int close_record(struct each *e, int rc)
{
	rc = run_close(e->run, rc, false);
	e->run = NULL;
	return rc;
}

static void open_record(struct each *e, const struct conversion *c)
{
	const char *out = e->all->output;
	const int stem = (int)(strlen(out) - (io_ends_in(out, ".dlx") ? strlen(".dlx") : 0));
	struct buf path = BUF_INIT;
	buf_printf(&path, "%.*s-%06d.dlx", stem, out, e->records++);
	e->run = run_new(c, path.data);
	buf_release(&path);
	e->info = c->info;
}

/* Printed where it differs from that of the file before. */
static void tell_reading(struct each *e, const char *file, const struct conversion *c)
{
	struct buf text = BUF_INIT;
	side_reading(c->input, &text);
	if (text.len && !c->quiet && (!e->reading || strcmp(text.data, e->reading) != 0))
		note("'%s': %s", shown(file), text.data);
	mem_free(e->reading);
	e->reading = buf_detach(&text);
}

/* Numbers of another type are others: a picture of 16 bits is 257 times one of 8, and floats of one
 * are often from 0 to 1. */
static int check_type(struct each *e, const char *file, const struct conversion *c)
{
	const enum dtype t = c->info.input.dtype, trained = c->like.dtype;
	if (!e->first) {
		e->first = mem_strdup(file);
		e->dtype = t;
	}
	if (t != e->dtype)
		return ERR(E_DATA, NULL, "'%s' has values of type %s, but '%s' of %s: predict them apart",
		           file, dtype_name(t), e->first, dtype_name(e->dtype));
	if (c->like_file && !dtype_is_float(trained) && t != trained && !e->warned) {
		warn("'%s' has values of type %s, the network was trained on %s: they are taken as they "
		     "are", shown(file), dtype_name(t), dtype_name(trained));
		e->warned = true;
	}
	return 0;
}

/* The sources of a record are those of its first file: it is not kept. */
static int add_planned(struct each *e, const char *file, struct conversion *c)
{
	TRY(check_type(e, file, c));
	tell_reading(e, file, c);
	if (e->run && (e->info.axes.n || c->info.axes.n ||
	               !shape_equal(&c->info.input.shape, &e->info.input.shape)))
		TRY(close_record(e, 0));
	if (!e->run)
		open_record(e, c);
	return run_add(e->run, c);
}

/* names: ":NAME,NAME" after the file, or "". */
static int add_file(struct each *e, const char *file, const char *names)
{
	struct arena *a = arena_new();
	struct conversion *c = mem_alloc(sizeof *c);
	const char *spec = arena_printf(a, "%s%s", file, names);
	*c = *e->all;
	c->inputs = (struct texts){ .n = 1, .v = &spec };
	int rc = convert_plan(c, a);
	if (rc == 0)
		rc = add_planned(e, file, c);
	c->inputs = (struct texts){ 0 };
	if (rc < 0)
		rc = close_record(e, rc);
	drop_last(e);
	e->last = c;
	e->last_arena = a;
	return rc;
}

static int add_spec(struct each *e, const char *spec)
{
	const char *colon = io_exists(spec) ? NULL : strrchr(spec, ':');
	char *path = mem_strdup(spec);
	struct io_paths found;
	int rc;
	if (colon && colon > spec)
		path[colon - spec] = '\0';
	else
		colon = NULL;
	rc = io_expand(&found, path);
	for (size_t i = 0; i < found.n && rc == 0; i++)
		rc = add_file(e, found.v[i], colon ? colon : "");
	io_paths_release(&found);
	mem_free(path);
	return rc;
}

int convert_each(const struct conversion *c)
{
	struct each e = { .all = c };
	int rc = 0;
	for (int i = 0; i < c->inputs.n && rc == 0; i++)
		rc = add_spec(&e, c->inputs.v[i]);
	rc = close_record(&e, rc);
	drop_last(&e);
	mem_free(e.first);
	mem_free(e.reading);
	return rc;
}
