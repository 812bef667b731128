/* SPDX-License-Identifier: BSD-3-Clause
 *
 * After an error of a GPU's kernel the process cannot use the GPU any more, nor read its memory. */
#include "train/diagnose/gpu_failure.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "ckpt/version_id.h"
#include "comm/comm.h"
#include "train/run/opening.h"

void resume_point_set(struct resume_point *f, const char *id, int64_t step)
{
	snprintf(f->id, sizeof f->id, "%s", id);
	f->step = step;
}

int gpu_failure_explain(int rc, const struct session *s, int64_t done, int64_t submitted,
                        const struct resume_point *f)
{
	if (!s->dev->driver || !s->dev->driver->failed(s->dev))
		return rc;
	if (submitted == done)
		err_context(rc, "after step %" PRId64 "; the GPU's memory is lost", done);
	else if (submitted > done + 1)
		err_context(rc, "in step %" PRId64 " or %" PRId64 "; the GPU's memory is lost", done + 1,
		            submitted);
	else
		err_context(rc, "in step %" PRId64 "; the GPU's memory is lost", done + 1);
	if (*f->id)
		err_context(rc, "with it what was learned since checkpoint %s, of step %" PRId64
		            ": continue from there with --resume", version_bare_id(f->id), f->step);
	else if (comm_first(s->comm))
		err_context(rc, "no checkpoint was complete, so the run has to begin anew");
	return err_context(rc, "with CUDA_LAUNCH_BLOCKING=1 in the environment each node is waited "
	                   "for, and the one that fails is named");
}
