/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Carries out a planned conversion: writes the pieces that convert_pipe.c makes to the files of
 * convert_files.c. */
#include <math.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/shown.h"
#include "data-tools/convert/convert_files.h"
#include "data-tools/convert/convert_pipe.h"
#include "data-tools/convert/convert_progress.h"
#include "data-tools/convert/convert_resume.h"

struct run {
	const struct conversion *c;
	struct files *files;
	struct convert_progress *progress;
	struct journal *journal;       /* NULL: there is none */
	int64_t done;                  /* samples that were complete */
	struct record_writer *w;       /* of the sample whose pieces come; NULL: none has begun */
	struct journal_sample sample;  /* what the journal is to say of it */
	struct piece_counts counts;
	struct target_seen *target_seen;
};

/* What is complete is put down before another sample begins, perhaps in another file. */
static int end_sample(struct run *r)
{
	if (!r->journal || !r->w)
		return 0;
	const struct record_chunk *chunks = record_last_chunks(r->w, &r->sample.nchunks);
	r->w = NULL;
	TRY(journal_add(r->journal, &r->sample, chunks));
	io_crash_point("convert_sample");
	return 0;
}

static int begin_sample(struct run *r, const struct piece *p)
{
	const struct record_sample s = resume_sample(r->c, p->at, p->shape);
	TRY(end_sample(r));
	TRY(files_next(r->files, p->at, &r->w));
	r->sample = (struct journal_sample){ .shape = { p->shape[0], p->shape[1] } };
	return record_begin(r->w, &s);
}

static int write_piece(void *user, struct piece *p)
{
	struct run *r = user;
	if (p->first)
		TRY(begin_sample(r, p));
	piece_counts_add(&r->counts, &p->counts);
	piece_counts_add(&r->sample.counts, &p->counts);
	TRY(record_put(r->w, &p->coded));
	convert_progress_add(r->progress, p);
	return 0;
}

static void warn_of_values(const struct run *r)
{
	const struct conversion *c = r->c;
	const struct piece_counts *n = &r->counts;
	if (!c)
		return;
	/* A network's channels are as they are, and its statistics those of its training set. */
	if (n->filled_input && !c->validity_mask && !isnan(c->fill))
		warn("%lld missing input values became %g%s", (long long)n->filled_input, c->fill,
		     c->like_file ? "" : " and count in the statistics; --validity-mask keeps them apart");
	if (n->rounded)
		warn("%lld values were rounded to whole numbers", (long long)n->rounded);
	if (c->labels && !c->nedges && !c->class_names && c->ignore == RECORD_NO_IGNORE)
		target_seen_tell_labels(r->target_seen);
	else if (!c->labels && c->info.target.shape.d[0] == 1)
		target_seen_tell_field(r->target_seen);
	if (n->filled_target)
		warn("%lld missing target values became %g%s", (long long)n->filled_target, c->fill,
		     isnan(c->fill) ? "" : "; with --fill nan they stay apart, and a loss with 'mask: nan' "
		                           "leaves them out");
}

static struct run *new_run(const struct conversion *c, const char *path, struct journal *journal)
{
	struct run *r = mem_calloc(1, sizeof *r);
	r->files = files_new(c, path, journal);
	r->journal = journal;
	r->target_seen = mem_calloc(1, sizeof(*r->target_seen));
	return r;
}

struct run *run_new(const struct conversion *c, const char *path)
{
	return new_run(c, path, NULL);
}

static bool is_wanted(void *user, int64_t at)
{
	const struct run *r = user;
	return at >= r->done;
}

int run_add(struct run *r, const struct conversion *c)
{
	r->c = c;
	files_use(r->files, c);
	r->progress = convert_progress_new(c, r->done);
	const int rc = pipe_run(&(struct pipe_options){
		.c = c, .threads = (int)c->threads, .wants = is_wanted, .write = write_piece, .user = r,
		.seen = r->target_seen });
	convert_progress_free(r->progress);
	return rc == 0 ? end_sample(r) : rc;
}

int run_close(struct run *r, int rc, bool tell)
{
	if (!r)
		return rc;
	rc = files_commit(r->files, rc);
	if (rc == 0)
		warn_of_values(r);
	if (rc == 0 && tell)
		rc = files_tell(r->files);
	journal_close(r->journal, rc);
	files_free(r->files);
	mem_free(r->target_seen);
	mem_free(r);
	return rc;
}

static int take_over(struct run *r, const struct conversion *c)
{
	if (!c->resume)
		return 0;
	TRY(resume_take(r->files, r->journal, c, &r->done, &r->counts));
	if (r->done && !c->quiet)
		note("%lld of %lld samples are complete and verified", (long long)r->done,
		     (long long)c->nsamples);
	return 0;
}

/* Which is not there to be gone on with if its process is killed. */
static bool is_in_place(const struct conversion *c)
{
	return !c->split.n && !c->shard && io_exists(c->output) && !io_is_regular(c->output) &&
	       !io_is_folder(c->output);
}

int convert_run(struct conversion *c)
{
	struct journal *journal = NULL;
	if (c->resume && is_in_place(c))
		return ERR(E_USAGE, NULL, "--resume: '%s' is no regular file", c->output);
	if (!is_in_place(c))
		TRY(journal_open(&journal, c->output, resume_identity(c), c->resume));
	struct run *r = new_run(c, c->output, journal);
	int rc = take_over(r, c);
	if (rc == 0)
		rc = run_add(r, c);
	rc = run_close(r, rc, !c->quiet);
	if (rc < 0 && c->resume)
		note("what is complete of '%s' is kept for --resume", shown(c->output));
	return rc;
}
