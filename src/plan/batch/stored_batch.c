/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For a device with its own memory the size of a batch matters: the bus is slow, and two batches
 * are held at once. So the loader for a GPU does not transform stored values. One node of the plan
 * casts, normalises and transposes inputs, another one widens labels. On a CPU the loader's threads
 * do this during the step.
 *
 * Values stored in more than 16 bits are rounded by the loader if the network reads only 16 bits
 * (pass/rounded_input.h): a sample of cosmoflow, 128^3 with 4 channels, then has 16.8 MB instead of
 * 33.6. */
#include "plan/batch/stored_batch.h"

#include <string.h>

#include "base/buf.h"
#include "base/debug.h"
#include "data/transform.h"
#include "op/normalize_input.h"
#include "op/reorder.h"

bool stored_batch_wanted(const struct device *dev)
{
	return dev->driver && !(debug.input && strcmp(debug.input, "host") == 0);
}

static struct graph_context enter(struct graph *g, const struct run_config *c, const char *name)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	g->cur_name = name;
	g->cur_phase = PHASE_FORWARD;
	g->cur_loc = *config_place(c, "data", "transforms");
	return saved;
}

int stored_batch_input(struct graph *g, const struct plan_request *r, tid input, tid *out)
{
	const struct transform_rest *rest = r->data->rest[r->mode];
	*out = input;
	if (!rest || !rest->values)
		return 0;
	struct graph_context saved = enter(g, r->config, "input");
	int rc = emit_normalize_input(g, input, rest->mask, rest->steps, rest->table, out);
	graph_leave(g, saved);
	return rc;
}

int stored_batch_target(struct graph *g, const struct plan_request *r, tid target, tid *out)
{
	const struct cast_attr at = { loss_wants_labels(r->objective->loss) ? DTYPE_I32 : DTYPE_F32 };
	*out = target;
	if (graph_t(g, target)->dtype == (enum dtype)at.dtype)
		return 0;
	struct graph_context saved = enter(g, r->config, "target");
	int rc = graph_emit1(g, "cast", &at, 1, &target, out);
	graph_leave(g, saved);
	return rc;
}

static void describe_made(const struct plan *p, const struct node *made, enum dtype input,
                          struct buf *out)
{
	enum dtype type = graph_t(p->g, made->out[0])->dtype;
	bool normalised = made->in[1] != NONE;
	if (type != input)
		buf_printf(out, ", cast to %s%s on the GPU", dtype_name(type),
		           normalised ? " and normalised" : "");
	else if (normalised)
		buf_puts(out, ", normalised on the GPU");
}

void stored_batch_describe(const struct plan *p, struct buf *out)
{
	const tid read = plan_in(p, "input"), compared = plan_in(p, "target");
	const struct node *made = NULL;
	for (int i = 0; i < p->g->nnode && !made; i++)
		if (strcmp(p->g->node[i]->op->name, "normalize_input") == 0 &&
		    p->g->node[i]->in[0] == read)
			made = p->g->node[i];
	enum dtype input = graph_t(p->g, read)->dtype,
	           target = compared == NONE ? DTYPE_I32 : graph_t(p->g, compared)->dtype;
	bool short_target = dtype_size(target) < sizeof(int32_t);
	if (!made && !short_target && (input == DTYPE_F32 || input == DTYPE_F64))
		return;
	buf_printf(out, "              travels as %s", dtype_name(input));
	if (made)
		describe_made(p, made, input, out);
	else if (input != DTYPE_F32)
		buf_puts(out, ", rounded by the host");
	if (short_target)
		buf_printf(out, "; targets as %s", dtype_name(target));
	buf_putc(out, '\n');
}
