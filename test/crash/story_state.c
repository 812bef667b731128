/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See story_state.h. "frozen" is the same in all states and "slow" changes with every other save:
 * their chunks are shared. */
#include "story_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "crash_states.h"

static void fill(void *p, size_t bytes, uint64_t seed)
{
	uint64_t x;
	for (size_t i = 0; i < bytes; i += sizeof x) {
		x = crash_draw(&seed);
		memcpy((char *)p + i, &x, bytes - i < sizeof x ? bytes - i : sizeof x);
	}
}

static struct ckpt_tensor tensor(const char *name, enum dtype type, int64_t n, const void *data,
                                 bool weight)
{
	return (struct ckpt_tensor){ name, type, shape_of(1, &n), data, weight };
}

void story_state_make(struct story_state *f, int run, int save, int size)
{
	static const int64_t empty[2] = { 0, 4 };
	const uint64_t seed = (uint64_t)run * 1000003 + (uint64_t)save * 7919;
	memset(f, 0, sizeof *f);
	f->weight = mem_alloc((size_t)size * sizeof *f->weight);
	fill(f->weight, (size_t)size * sizeof *f->weight, seed);
	fill(f->frozen, sizeof f->frozen, 1);
	fill(f->slow, sizeof f->slow, 77 + (uint64_t)run * 100 + (uint64_t)save / 2);
	fill(f->moment, sizeof f->moment, seed + 1);
	fill(f->half, sizeof f->half, seed + 2);
	f->tensor[0] = tensor("moment", DTYPE_F64, 3, f->moment, false);
	f->tensor[1] = tensor("frozen", DTYPE_F32, 160, f->frozen, true);
	f->tensor[2] = tensor("weight", DTYPE_F32, size, f->weight, true);
	f->tensor[3] = tensor("slow", DTYPE_F32, 150, f->slow, true);
	f->tensor[4] = tensor("half", DTYPE_F16, 5, f->half, false);
	f->tensor[5] = (struct ckpt_tensor){ "empty", DTYPE_F32, shape_of(2, empty), NULL, true };
	snprintf(f->text[0], sizeof f->text[0], "%d", run);
	snprintf(f->text[1], sizeof f->text[1], "%d", save);
	snprintf(f->config, sizeof f->config, "run: %d\n# save %d\n", run, save);
	f->scalar[0] = (struct ckpt_scalar){ "run", f->text[0] };
	f->scalar[1] = (struct ckpt_scalar){ "save", f->text[1] };
	f->metric = (struct ckpt_metric){ "score", (double)save / 8 };
	f->state = (struct ckpt_state){
		.step = 10 * save, .epoch = save, .metric = f->metric.value, .metric_name = "score",
		.nmetrics = 1, .metrics = &f->metric, .config = f->config, .program = "test",
		.data = "none", .ntensors = STORY_TENSORS, .tensor = f->tensor,
		.nscalars = STORY_SCALARS, .scalar = f->scalar,
	};
}

void story_state_release(struct story_state *f)
{
	mem_free(f->weight);
}

static bool same_tensor(const struct ckpt_version *v, const struct ckpt_tensor *want)
{
	const struct ckpt_tensor *t = ckpt_version_find(v, want->name);
	const size_t bytes = (size_t)shape_count(&want->shape) * dtype_size(want->dtype);
	return t && t->dtype == want->dtype && t->weight == want->weight &&
	       shape_equal(&t->shape, &want->shape) &&
	       (bytes == 0 || memcmp(t->data, want->data, bytes) == 0);
}

static bool same_text(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static bool same_state(const struct ckpt_version *v, const struct ckpt_state *want, struct buf *why)
{
	const struct ckpt_state *s = ckpt_version_state(v);
	if (s->step != want->step || s->epoch != want->epoch || s->ntensors != want->ntensors ||
	    s->nscalars != want->nscalars || !same_text(s->config, want->config) ||
	    s->metric != want->metric) {
		buf_printf(why, "step %lld, epoch %lld, %d tensors, metric %g", (long long)s->step,
		           (long long)s->epoch, s->ntensors, s->metric);
		return false;
	}
	for (int i = 0; i < want->ntensors; i++)
		if (!same_tensor(v, &want->tensor[i])) {
			buf_printf(why, "tensor '%s' has other bits", want->tensor[i].name);
			return false;
		}
	return true;
}

bool story_state_is(const struct ckpt_version *v, int *run, int *save, int size, struct buf *why)
{
	const char *r = ckpt_version_scalar(v, "run"), *s = ckpt_version_scalar(v, "save");
	struct story_state want;
	if (!r || !s) {
		buf_puts(why, "scalars are missing");
		return false;
	}
	*run = atoi(r);
	*save = atoi(s);
	story_state_make(&want, *run, *save, size);
	bool is = same_state(v, &want.state, why);
	if (!is)
		buf_printf(why, " (save %d of run %d)", *save, *run);
	story_state_release(&want);
	return is;
}
