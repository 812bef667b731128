/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Carries out a planned conversion: pieces as convert_pipe.c makes them go to the files of
 * convert_files.c. */
#include <math.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "convert_files.h"
#include "convert_pipe.h"

struct run {
	const struct conversion *c;
	struct files *files;
	struct record_writer *w;       /* of the sample whose pieces come */
	struct piece_counts counts;
	struct target_seen *target_seen;
};

static int begin_sample(struct run *r, const struct piece *p)
{
	const struct conversion *c = r->c;
	TRY(files_next(r->files, p->at, &r->w));
	return record_begin(r->w, &(struct record_sample){
		.shape = p->shape, .key = side_key(c->input, p->sample),
		.group = c->split.group ? c->split.group[p->sample] : NULL });
}

static int write_piece(void *user, struct piece *p)
{
	struct run *r = user;
	if (p->first)
		TRY(begin_sample(r, p));
	r->counts.filled_input += p->counts.filled_input;
	r->counts.filled_target += p->counts.filled_target;
	r->counts.rounded += p->counts.rounded;
	return record_put(r->w, &p->coded);
}

static void warn_of_values(const struct run *r)
{
	const struct conversion *c = r->c;
	const struct piece_counts *n = &r->counts;
	if (!c)
		return;
	if (n->filled_input && !c->validity_mask && !isnan(c->fill))
		warn("%lld missing input values became %g and count in the statistics; --validity-mask "
		     "keeps them "
		     "apart",
		     (long long)n->filled_input, c->fill);
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

struct run *run_new(const struct conversion *c, const char *path)
{
	struct run *r = mem_calloc(1, sizeof *r);
	r->files = files_new(c, path);
	r->target_seen = mem_calloc(1, sizeof(*r->target_seen));
	return r;
}

int run_add(struct run *r, const struct conversion *c)
{
	r->c = c;
	files_use(r->files, c);
	return pipe_run(&(struct pipe_options){ .c = c, .threads = (int)c->threads,
	                                       .write = write_piece, .user = r,
	                                       .seen = r->target_seen });
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
	files_free(r->files);
	mem_free(r->target_seen);
	mem_free(r);
	return rc;
}

int convert_run(struct conversion *c)
{
	struct run *r = run_new(c, c->output);
	return run_close(r, run_add(r, c), !c->quiet);
}
