/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A shard ends after the sample at which its size is nearest to the requested size, so its end
 * depends only on its content. */
#include "data-tools/convert/convert_files.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/shown.h"
#include "data-tools/convert/convert_journal.h"

#define SHARDS_MOST 1000000            /* that six digits number */

/* The files of a part, of which the last may be open. */
struct part {
	const char *name;                  /* NULL: there is no split */
	struct record_writer *w;           /* NULL: none is open */
	int64_t *at;                       /* the samples of it */
	int64_t nat, room;
	int nshards;                       /* begun */
	struct io_file **file;             /* of each but the open one: complete, without its name */
	int64_t samples;                   /* of those */
	uint64_t bytes;
};

struct files {
	const struct conversion *c;
	char *path;
	struct journal *journal;
	bool replay;
	int n;
	struct part *part;
};

struct files *files_new(const struct conversion *c, const char *path, struct journal *journal)
{
	struct files *f = mem_calloc(1, sizeof *f);
	f->c = c;
	f->journal = journal;
	f->path = mem_strdup(path);
	f->n = c->split.n ? c->split.n : 1;
	f->part = mem_calloc((size_t)f->n, sizeof *f->part);
	for (int k = 0; k < c->split.n; k++)
		f->part[k].name = c->split.part[k];
	return f;
}

void files_use(struct files *f, const struct conversion *c)
{
	f->c = c;
}

void files_replay(struct files *f, bool replay)
{
	f->replay = replay;
}

void files_drop(struct files *f)
{
	for (int k = 0; k < f->n; k++) {
		struct part *p = &f->part[k];

		for (int i = 0; i < p->nshards; i++)
			io_discard(p->file[i]);
		record_discard(p->w);
		mem_free(p->file);
		mem_free(p->at);
		*p = (struct part){ .name = p->name };
	}
}

static void put_path(struct buf *out, const struct files *f, const struct part *p, int shard)
{
	const bool ends = io_ends_in(f->path, ".dlx");
	if (!p->name && f->c->shard_bytes <= 0) {
		buf_puts(out, f->path);
		return;
	}
	buf_printf(out, "%.*s", (int)(strlen(f->path) - (ends ? strlen(".dlx") : 0)), f->path);
	if (p->name)
		buf_printf(out, "-%s", p->name);
	if (f->c->shard_bytes > 0)
		buf_printf(out, "-%06d", shard);
	buf_puts(out, ".dlx");
}

static int begin(struct files *f, struct part *p)
{
	struct record_info info = f->c->info;
	struct buf path = BUF_INIT;
	int rc = 0;
	if (p->nshards == SHARDS_MOST)
		return ERR(E_USAGE, NULL, "--shard: more than %d files", SHARDS_MOST);
	put_path(&path, f, p, p->nshards);
	if (f->journal && !f->replay)
		rc = journal_add_file(f->journal, path.data);
	if (rc == 0 && f->journal)
		rc = record_create_part(&p->w, path.data, &info, (int)f->c->level, f->c->resume);
	else if (rc == 0)
		rc = record_create(&p->w, path.data, &info, (int)f->c->level);
	buf_release(&path);
	p->nat = 0;
	p->file = mem_realloc(p->file, (size_t)(p->nshards + 1) * sizeof *p->file);
	p->file[p->nshards++] = NULL;
	return rc;
}

/* What is known of the axis of samples, for those in this file. */
static void choose_axes(const struct files *f, struct part *p)
{
	const struct axes *all = &f->c->info.axes;
	if (all->n == 0 || p->nat == all->axis[0].n)
		return;
	struct arena *a = arena_new();
	const struct axes chosen = axes_choose(a, all, p->at, p->nat);
	record_set_axes(p->w, &chosen);
	arena_free(a);
}

/* The files that the targets in this one are from. */
static void name_targets(const struct files *f, struct part *p)
{
	const struct conversion *c = f->c;
	if (!c->target || side_samples(c->target) < 2 || !side_key(c->target, 0))
		return;
	const char **name = mem_calloc((size_t)p->nat + 1, sizeof *name);
	for (int64_t i = 0; i < p->nat; i++)
		name[i] = side_key(c->target, c->sample[p->at[i]]);
	record_set_target_names(p->w, name);
	mem_free(name);
}

static int finish(struct files *f, struct part *p)
{
	uint64_t bytes;
	p->samples += record_written(p->w, &bytes);
	choose_axes(f, p);
	name_targets(f, p);
	struct record_writer *w = p->w;
	p->w = NULL;
	TRY(record_finish(w, &p->file[p->nshards - 1]));
	io_crash_point("convert_finished");
	p->bytes += bytes;
	return 0;
}

/* Whether another sample as those before would bring the file farther from its size. */
static bool is_full(const struct files *f, const struct part *p)
{
	uint64_t bytes;
	const int64_t n = record_written(p->w, &bytes);
	return f->c->shard_bytes > 0 && n > 0 &&
	       (double)bytes + 0.5 * (double)bytes / (double)n > f->c->shard_bytes;
}

int files_next(struct files *f, int64_t at, struct record_writer **w)
{
	const struct conversion *c = f->c;
	struct part *p = &f->part[c->split.n ? c->split.of[c->sample[at]] : 0];
	if (p->w && is_full(f, p))
		TRY(finish(f, p));
	if (!p->w)
		TRY(begin(f, p));
	if (p->nat == p->room) {
		p->room = p->room ? 2 * p->room : 256;
		p->at = mem_realloc(p->at, (size_t)p->room * sizeof *p->at);
	}
	p->at[p->nat++] = at;
	*w = p->w;
	return 0;
}

static int finish_all(struct files *f)
{
	for (int k = 0; k < f->n; k++) {
		struct part *p = &f->part[k];

		if (p->w)
			TRY(finish(f, p));
		else if (p->nshards == 0 && p->name)
			note("--samples has none of the part '%s', which is not written", p->name);
		else if (p->nshards == 0)
			return ERR(E_DATA, NULL, "'%s': no samples to write", f->path);
	}
	return 0;
}

static void warn_of_others(const struct files *f, const struct part *p)
{
	struct buf next = BUF_INIT;
	put_path(&next, f, p, p->nshards);
	if (f->c->shard_bytes > 0 && io_exists(next.data))
		warn("'%s' is there from an earlier conversion, and a pattern of these shards finds it too",
		     shown(next.data));
	buf_release(&next);
}

int files_commit(struct files *f, int rc)
{
	if (rc == 0)
		rc = finish_all(f);
	for (int k = 0; k < f->n; k++) {
		struct part *p = &f->part[k];

		for (int i = 0; i < p->nshards; i++) {
			if (rc == 0)
				rc = io_commit(p->file[i]);
			else
				io_discard(p->file[i]);
			p->file[i] = NULL;
		}
		record_discard(p->w);
		p->w = NULL;
		if (rc == 0)
			warn_of_others(f, p);
	}
	return rc;
}

void files_free(struct files *f)
{
	for (int k = 0; f && k < f->n; k++) {
		mem_free(f->part[k].at);
		mem_free(f->part[k].file);
	}
	if (f) {
		mem_free(f->part);
		mem_free(f->path);
	}
	mem_free(f);
}

/* --- the summary --- */

static void print_array(const char *name, const struct record_info *i, const struct record_array *a)
{
	char text[SHAPE_TEXT];
	printf("  %-7s %s %s", name, dtype_name(a->dtype), shape_text(&a->shape, text));
	if (i->nsizes > 1)
		printf(" and %d other size%s", i->nsizes - 1, i->nsizes > 2 ? "s" : "");
	for (int64_t k = 0; a->channels && k < (a->shape.nd ? a->shape.d[0] : 1) && k < 16; k++)
		printf("%s%s", k ? ", " : "  ", shown(a->channels[k]));
	printf("\n");
}

static void print_content(const struct record_info *i, bool all)
{
	print_array("input", i, &i->input);
	if (record_has_target(i))
		print_array("target", i, &i->target);
	for (int k = 0; all && i->class_counts && k < i->nclasses && k < 64; k++)
		printf("%s%s %lld", k ? ", " : "  classes ", i->classes ? shown(i->classes[k]) : "",
		       (long long)i->class_counts[k]);
	if (all && i->class_counts)
		printf("%s\n", i->nclasses > 64 ? ", ..." : "");
}

static int tell_part(const struct files *f, const struct part *p)
{
	struct buf first = BUF_INIT, last = BUF_INIT;
	struct record *r = NULL;
	put_path(&first, f, p, 0);
	put_path(&last, f, p, p->nshards - 1);
	/* a pipe or a device is not read again */
	int rc = io_is_regular(first.data) ? record_open(&r, first.data) : 0;
	if (rc == 0 && r) {
		const struct record_info *i = record_info(r);

		if (p->nshards > 1)
			printf("%s to %s: %lld samples, %.2f MiB\n", shown(first.data), shown(last.data),
			       (long long)p->samples, (double)p->bytes / 1048576);
		else
			printf("%s: %lld samples, %.2f MiB (%.2f MiB raw)\n", shown(first.data),
			       (long long)i->samples, (double)record_file_bytes(r) / 1048576,
			       record_all_bytes(i) / 1048576);
		print_content(i, p->nshards == 1);
	}
	record_free(r);
	buf_release(&first);
	buf_release(&last);
	return rc;
}

int files_tell(const struct files *f)
{
	for (int k = 0; k < f->n; k++)
		if (f->part[k].nshards > 0)
			TRY(tell_part(f, &f->part[k]));
	return 0;
}
