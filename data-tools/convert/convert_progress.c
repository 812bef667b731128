/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/convert/convert_progress.h"

#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "report/progress.h"

struct convert_progress {
	const struct conversion *c;
	struct progress *shown;        /* NULL: nothing is */
	int64_t done;
	double began, bytes;
	int64_t pieces;                /* written of the last sample */
};

struct convert_progress *convert_progress_new(const struct conversion *c, int64_t done)
{
	struct convert_progress *p = mem_calloc(1, sizeof *p);
	p->c = c;
	p->done = done;
	p->began = io_seconds();
	if (!c->quiet && !c->separate && isatty(STDOUT_FILENO))
		p->shown = progress_new(PROGRESS_BAR);
	return p;
}

void convert_progress_add(struct convert_progress *p, const struct piece *piece)
{
	const int64_t n = p->c->nsamples;
	if (!p->shown)
		return;
	p->bytes += (double)piece->cut.bytes;
	p->pieces = piece->first ? 1 : p->pieces + 1;
	const double part = (double)p->pieces / (double)record_pieces(&p->c->info, piece->shape),
	             seconds = io_seconds() - p->began, at = (double)piece->at + part,
	             new = at - (double)p->done;
	progress_update_work(p->shown, &(struct progress_work){
		.things = "samples", .done = piece->at + (part >= 1), .of = n, .share = at / (double)n,
		.bytes_per_second = seconds > 0 ? p->bytes / seconds : 0,
		.seconds_left = new > 0 ? seconds / new * ((double)n - at) : -1 });
}

void convert_progress_free(struct convert_progress *p)
{
	if (p)
		progress_free(p->shown);
	mem_free(p);
}
