/* SPDX-License-Identifier: BSD-3-Clause */
#include "ckpt/plain.h"

#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

/* What the file has for weight i: itself, or another tensor in its place. */
static const struct ckpt_tensor *stands_for(const struct ckpt_state *state, int i)
{
	const struct ckpt_tensor *w = &state->tensor[i];
	for (int k = 0; !w->plain && k < state->ntensors; k++)
		if (state->tensor[k].plain && strcmp(state->tensor[k].plain, w->name) == 0)
			return &state->tensor[k];
	return w;
}

void plain_stage(struct plain *p, struct arena *a, const struct ckpt_state *state)
{
	*p = (struct plain){ .tensor = ARENA_ARRAY(a, struct st_tensor, state->ntensors + 1),
		.meta = ARENA_ARRAY(a, const char *, 2 * state->nmeta + 2), .nmeta = state->nmeta };
	for (int i = 0; i < state->ntensors; i++) {
		if (!state->tensor[i].weight)
			continue;
		const struct ckpt_tensor *t = stands_for(state, i);
		p->tensor[p->n++] = (struct st_tensor){ arena_strdup(a, state->tensor[i].name), t->dtype,
			t->shape, t->data };
	}
	for (int i = 0; i < 2 * state->nmeta; i++)
		p->meta[i] = arena_strdup(a, state->meta[i]);
	p->meta[2 * p->nmeta++] = "checkpoint";
}

int plain_write(const struct plain *p, const char *dir, const char *id)
{
	char *path = io_join(dir, PLAIN_FILE);
	p->meta[2 * p->nmeta - 1] = id;
	int rc = st_write_file(path, p->tensor, p->n, p->meta, p->nmeta);
	mem_free(path);
	return rc;
}
