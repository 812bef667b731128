/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the planes lie depends on the strides of the network, so the windows of loaders follow from
 * the graph as its builder makes it. */
#include "plan/spatial/spatial.h"

#include <string.h>

#include "backend/device.h"
#include "base/err.h"
#include "comm/comm.h"
#include "comm/nccl.h"
#include "data/sources.h"
#include "plan/program.h"
#include "plan/spatial/plan_cut.h"
#include "plan/sums/sync_group.h"

static const struct loc *place_of(const struct run_config *c)
{
	return config_place(c, "parallel", "spatial");
}

/* --- the key --- */

static int wrong(const struct ynode *n)
{
	return ERR(E_CONFIG, &n->loc, "'spatial' must be auto, or a list of one to three numbers, the "
	           "subdomains along each spatial axis of a sample, as in [4, 1, 1]");
}

bool spatial_is_auto(const struct ynode *n)
{
	return n && n->kind == Y_SCALAR && strcmp(n->text, "auto") == 0;
}

int spatial_parse(const struct ynode *n, struct cut_grid *grid)
{
	int64_t parts, all = 1;
	*grid = (struct cut_grid){ 0, { 1, 1, 1 } };
	if (!n || y_is_null(n) || spatial_is_auto(n))
		return 0;
	if (n->kind != Y_SEQ || n->n < 1 || n->n > CUT_AXES)
		return wrong(n);
	for (int k = 0; k < n->n; k++) {
		if (!y_int(n->item[k], &parts) || parts < 1 || parts > SPATIAL_MOST)
			return wrong(n->item[k]);
		grid->parts[k] = (int)parts;
		all *= parts;
	}
	if (all > SPATIAL_MOST)
		return ERR(E_CONFIG, &n->loc, "'spatial' divides a sample into %lld subdomains; expected "
		           "at most %d", (long long)all, SPATIAL_MOST);
	grid->axes = all > 1 ? n->n : 0;
	return 0;
}

int spatial_check(const struct run_config *c)
{
	static const char with[] = "is not possible with 'parallel.spatial', which divides each sample "
	                           "among ranks";
	const struct ynode *shuffle = c->data.shuffle;
	enum data_shuffle kind;
	struct cut_grid grid;
	TRY(spatial_parse(c->parallel.spatial, &grid));
	if (grid.axes == 0 && !spatial_is_auto(c->parallel.spatial))
		return 0;
	if (c->parallel.reproducible)
		return ERR(E_CONFIG, config_place(c, "parallel", "reproducible"), "'reproducible' %s",
		           with);
	if (mixup_wanted(&c->data.mixup))
		return ERR(E_CONFIG, config_place(c, "data", "mixup"), "'mixup' %s", with);
	TRY(shuffle_parse(shuffle, &kind));
	if (kind == SHUFFLE_WITHIN_HOST)
		return ERR(E_CONFIG, &shuffle->loc, "'shuffle: {within: host}' %s", with);
	return 0;
}

/* --- ranks --- */

int spatial_ranks(const struct run_config *c)
{
	struct cut_grid grid;
	return spatial_parse(c->parallel.spatial, &grid) == 0 && grid.axes ? cut_parts(&grid) : 1;
}

void spatial_set_cut(struct session *s, const struct cut_grid *grid)
{
	const int rank = s->comm ? s->comm->rank : 0;
	s->cut.grid = *grid;
	s->parts = cut_parts(grid);
	if (s->parts == 1)
		s->cut.grid.axes = 0;
	s->cut.subdomain = rank % s->parts;
	s->nteams = s->nranks / s->parts;
	s->team = rank / s->parts;
}

int spatial_begin(struct session *s)
{
	struct cut_grid grid;
	TRY(spatial_parse(s->config->parallel.spatial, &grid));
	if (run_is_export(s))
		grid = (struct cut_grid){ 0, { 1, 1, 1 } };
	spatial_set_cut(s, &grid);
	if (s->nranks % s->parts == 0)
		return 0;
	struct buf text = BUF_INIT;
	spatial_text(&grid, &text);
	const int rc = ERR(E_CONFIG, place_of(s->config), "'spatial' %s needs a multiple of %d ranks, "
	                   "there %s %d; with 'spatial: null' each rank has whole samples", text.data,
	                   s->parts, s->nranks == 1 ? "is" : "are", s->nranks);
	buf_release(&text);
	return rc;
}

int spatial_check_device(const struct session *s)
{
	const struct loc *at = place_of(s->config);
	int group;
	if (s->parts == 1)
		return 0;
	TRY(sync_group_size(s->config, s->nranks, s->parts, &group));
	if (s->need & SESSION_DUMP)
		return ERR(E_UNSUPPORTED, at, "a step is dumped with whole samples only: 'spatial: null'");
	return 0;
}

int spatial_meet(struct session *s)
{
	if (s->parts == 1 || !comm_many(s->comm))
		return 0;
	comm_subgroup(&s->sample, s->comm, s->team);
	if (!s->dev->driver || !(s->need & SESSION_RUN))
		return 0;
	return nccl_open(&s->sample_nccl, s->sample, s->dev, s->reduction.nccl);
}

/* --- data --- */

/* Sets the windows of one loader, whose samples a plan of this mode computes. */
static int set_windows(const struct session *s, struct loader *l, enum plan_mode mode,
                       const struct plan_data *data)
{
	struct plan_request r = session_request(s, mode, loader_batch_size(l));
	struct loader_window input, target;
	r.data = data;
	TRY(plan_cut_windows(&r, &input, &target));
	return loader_set_windows(l, &input, &target);
}

int spatial_typical(const struct session *s, int *subdomain, int *largest)
{
	const struct plan_request r = session_request(s, s->need & SESSION_TRAIN ? PLAN_TRAIN :
	                                              s->need & SESSION_PREDICT ? PLAN_PREDICT :
	                                              PLAN_EVALUATE, s->config->train.batch_size);
	return plan_cut_typical(&r, subdomain, largest);
}

/* Of the ranks that are only planned for, a typical one is. */
static int choose_rank(struct session *s)
{
	int largest;
	return comm_many(s->comm) ? 0 : spatial_typical(s, &s->cut.subdomain, &largest);
}

int spatial_set_windows(struct session *s)
{
	const enum plan_mode other = s->need & SESSION_PREDICT ? PLAN_PREDICT : PLAN_EVALUATE;
	if (s->parts == 1)
		return 0;
	if (s->tiles)
		return ERR(E_UNSUPPORTED, place_of(s->config), "'--tile' is not possible with 'spatial', "
		           "since each of them divides samples; '--set parallel.spatial=null' predicts "
		           "tiles");
	if (s->ntrain_size)
		return ERR(E_CONFIG, place_of(s->config), "'spatial' is not possible with training samples "
		           "of several sizes: '- crop: {size: ...}' takes windows of one size");
	TRY(choose_rank(s));
	if (s->train)
		TRY(set_windows(s, s->train, PLAN_TRAIN, &s->data));
	if (s->validation)
		TRY(set_windows(s, s->validation, other, &s->data));
	for (int k = 0; k < s->nsize; k++) {
		struct plan_data d = s->data;
		d.field = s->size[k].field;
		TRY(set_windows(s, s->size[k].loader, other, &d));
	}
	return 0;
}
