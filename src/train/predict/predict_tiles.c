/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arrays have the shape (channels, three axes); if a sample has fewer axes, the last ones have
 * extent 1. Windows are computed row by row along the first axis. The outputs of a row of windows
 * are collected in a slab, whose rows are written as soon as no later window adds to them. The rank
 * that computes a window broadcasts it; rank 0 puts windows into the slab in one order, so that the
 * bits do not depend on the number of ranks. */
#include "train/predict/predict.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "plan/extent/tile_size.h"
#include "train/run/opening.h"
#include "train/predict/predict_array.h"
#include "train/run/ranks.h"
#include "train/save/slabs.h"

#define AXES RECEPTIVE_AXES

struct tiles {
	struct session *s;
	struct tile_axis axis[AXES];
	bool blended;
	int64_t channels, out_channels;
	int64_t field[AXES];             /* inputs of a sample, without the zeros at its end */
	int64_t out[AXES];               /* outputs of a sample that are written */
	float *input, *output;           /* of the window that this rank computes */
	float *received;                 /* outputs of another rank's; NULL: there are none */
	int64_t rows, first;             /* number of rows of the slab; the row of the
	                                  * sample at which it begins */
	float *slab, *weight;            /* weight: sums of weights, of blended windows */
	float *packed;                   /* rows on their way to the file */
	struct slabs *file;
	enum predict_as as;
	struct predict_bad bad;
};

/* --- set-up --- */

/* An axis that a sample lacks: one window of one element. */
static void set_unit(struct tile_axis *x, struct arena *a)
{
	*x = (struct tile_axis){ 1, 1, 1, 1, 1, ARENA_NEW(a, int64_t), ARENA_NEW(a, int64_t),
		ARENA_NEW(a, int64_t), ARENA_NEW(a, int64_t) };
	x->end[0] = 1;
}

static void set_axes(struct tiles *t, const struct tile_plan *p, struct arena *a)
{
	for (int k = 0; k < AXES; k++) {
		const bool real = k < p->tiling.axes;
		t->field[k] = real ? p->field.input.d[k + 1] : 1;
		if (real)
			t->axis[k] = p->tiling.axis[k];
		else
			set_unit(&t->axis[k], a);
		t->out[k] = field_cut_extent(t->axis[k].out_whole, t->axis[k].whole, t->field[k]);
	}
}

static int64_t most_rows(const struct tile_axis *x, bool blended)
{
	int64_t most = blended ? x->out_tile : 0;
	for (int i = 0; i < x->n; i++)
		most = x->end[i] - x->begin[i] > most ? x->end[i] - x->begin[i] : most;
	return most;
}

static float *floats(int64_t channels, int64_t a, int64_t b, int64_t c)
{
	return mem_calloc((size_t)(channels * a * b * c), sizeof(float));
}

static void set_up(struct tiles *t, struct session *s)
{
	const struct tile_plan *p = s->tiles;
	const struct tile_axis *x = t->axis;
	t->s = s;
	t->blended = p->tiling.blended;
	set_axes(t, p, s->config->arena);
	t->channels = p->tile.d[0];
	const struct plan *plan = session_plan(s, PLAN_PREDICT);
	t->out_channels = graph_t(plan->g, plan_out(plan, "output"))->shape.d[1];
	t->rows = most_rows(&x[0], t->blended);
	t->input = floats(t->channels, x[0].tile, x[1].tile, x[2].tile);
	t->output = floats(t->out_channels, x[0].out_tile, x[1].out_tile, x[2].out_tile);
	if (comm_many(s->comm))
		t->received = floats(t->out_channels, x[0].out_tile, x[1].out_tile, x[2].out_tile);
	if (!comm_first(s->comm))
		return;
	t->slab = floats(t->out_channels, t->rows, t->out[1], t->out[2]);
	t->packed = floats(t->out_channels, t->rows, t->out[1], t->out[2]);
	t->weight = t->blended ? floats(1, t->rows, t->out[1], t->out[2]) : NULL;
}

static void tear_down(struct tiles *t)
{
	mem_free(t->input);
	mem_free(t->output);
	mem_free(t->received);
	mem_free(t->slab);
	mem_free(t->packed);
	mem_free(t->weight);
}

static int open_file(struct tiles *t, const char *out)
{
	const struct session *s = t->s;
	struct predict_array a;
	struct shape shape = { .nd = 1 + s->tiles->tiling.axes, .d = { t->out_channels } };
	if (!comm_first(s->comm))
		return 0;
	TRY(predict_choose_as(s, &t->as));
	memcpy(shape.d + 1, t->out, sizeof *t->out * (size_t)s->tiles->tiling.axes);
	predict_array(&a, s, t->as, &shape);
	return slabs_create(&t->file, out, &a.array);
}

/* --- one window --- */

/* Window (i, j, k) of the sample x, with zeros where it reaches beyond the field. */
static void gather(struct tiles *t, const float *x, const int at[AXES])
{
	const int64_t *f = t->field, d[AXES] = { t->axis[0].tile, t->axis[1].tile, t->axis[2].tile };
	const int64_t from[AXES] = { t->axis[0].from[at[0]], t->axis[1].from[at[1]],
		t->axis[2].from[at[2]] };
	const int64_t width = from[2] + d[2] < f[2] ? d[2] : f[2] - from[2];
	float *to = t->input;
	memset(to, 0, (size_t)(t->channels * d[0] * d[1] * d[2]) * sizeof *to);
	for (int64_t c = 0; c < t->channels; c++)
		for (int64_t a = 0; a < d[0] && from[0] + a < f[0]; a++)
			for (int64_t b = 0; b < d[1] && from[1] + b < f[1] && width > 0; b++)
				memcpy(to + ((c * d[0] + a) * d[1] + b) * d[2],
				       x + ((c * f[0] + from[0] + a) * f[1] + from[1] + b) * f[2] + from[2],
				       (size_t)width * sizeof *to);
}

static int compute(struct tiles *t, const float *x, const int at[AXES])
{
	struct plan *p = session_plan(t->s, PLAN_PREDICT);
	const struct batch b = { .n = 1, .all = 1, .narrays = 1,
		.array = { { .name = "input", .dtype = DTYPE_F32, .data = t->input } } };
	gather(t, x, at);
	TRY(plan_feed(p, t->s->config, &b, NULL));
	TRY(exec_run(p->exec, ~0u));
	return exec_read(p->exec, plan_out(p, "output"), DTYPE_F32, t->output);
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Adds a run of outputs that begins at o[], of the field, and has n elements. */
static void blend(struct tiles *t, const int at[AXES], const int64_t o[AXES], int64_t c, int64_t n,
                  const float *from, int64_t to)
{
	const double row = tile_weight(&t->axis[0], at[0], o[0]) * tile_weight(&t->axis[1],
	                                                                       at[1], o[1]);
	for (int64_t i = 0; i < n; i++) {
		const float w = (float)(row * tile_weight(&t->axis[2], at[2], o[2] + i));
		t->slab[(c * t->rows * t->out[1]) * t->out[2] + to + i] += w * from[i];
		if (c == 0)
			t->weight[to + i] += w;
	}
}

/* Puts a window's outputs into the slab, as far as they belong to the sample. */
static void insert(struct tiles *t, const int at[AXES], const float *output)
{
	const struct tile_axis *x = t->axis;
	int64_t begin[AXES], end[AXES], in[AXES];
	for (int k = 0; k < AXES; k++) {
		begin[k] = x[k].begin[at[k]];
		end[k] = least(x[k].end[at[k]], t->out[k]);
		in[k] = x[k].at[at[k]];
	}
	for (int64_t c = 0; c < t->out_channels && begin[2] < end[2]; c++)
		for (int64_t a = begin[0]; a < end[0]; a++)
			for (int64_t b = begin[1]; b < end[1]; b++) {
				const float *from = output +
				                    ((c * x[0].out_tile + in[0] + a - begin[0]) * x[1].out_tile +
				                     in[1] + b - begin[1]) * x[2].out_tile + in[2];
				const int64_t to = ((a - t->first) * t->out[1] + b) * t->out[2] + begin[2],
				              n = end[2] - begin[2];
				if (t->blended)
					blend(t, at, (int64_t[]){ a, b, begin[2] }, c, n, from, to);
				else
					memcpy(t->slab + c * t->rows * t->out[1] * t->out[2] + to, from,
					       (size_t)n * sizeof *from);
			}
}

/* --- one row of windows --- */

/* Window i of a row of windows. */
static void window_at(const struct tiles *t, int row, int i, int at[AXES])
{
	at[0] = row;
	at[1] = i / t->axis[2].n;
	at[2] = i % t->axis[2].n;
}

/* Each rank computes one of the next windows, all at the same time; then rank 0 gets them. */
static int run_row(struct tiles *t, const float *x, int row)
{
	struct comm *c = t->s->comm;
	const size_t bytes = sizeof(float) * (size_t)(t->out_channels * t->axis[0].out_tile *
	                                              t->axis[1].out_tile * t->axis[2].out_tile);
	const int windows = t->axis[1].n * t->axis[2].n, ranks = comm_count(c);
	int at[AXES];
	for (int first = 0; first < windows; first += ranks) {
		const int mine = first + (c ? c->rank : 0);
		window_at(t, row, mine, at);
		if (mine < windows)
			TRY(compute(t, x, at));
		for (int i = first; i < windows && i < first + ranks; i++) {
			float *output = i == mine ? t->output : t->received;
			window_at(t, row, i, at);
			if (comm_many(c))
				comm_broadcast(c, output, bytes, i - first, "predictions");
			if (comm_first(c))
				insert(t, at, output);
		}
	}
	return 0;
}

/* Rows first .. end - 1 of the sample are complete: writes them, and moves the others up. */
static int flush(struct tiles *t, int64_t sample, int64_t end)
{
	const int64_t n = end - t->first, plane = t->out[1] * t->out[2], kept = t->rows - n;
	if (n <= 0)
		return 0;
	for (int64_t c = 0; c < t->out_channels; c++) {
		float *from = t->slab + c * t->rows * plane, *to = t->packed + c * n * plane;
		for (int64_t i = 0; i < n * plane; i++)
			to[i] = t->blended ? from[i] / t->weight[i] : from[i];
		memmove(from, from + n * plane, (size_t)(kept * plane) * sizeof *from);
		memset(from + kept * plane, 0, (size_t)(n * plane) * sizeof *from);
	}
	if (t->blended) {
		memmove(t->weight, t->weight + n * plane, (size_t)(kept * plane) * sizeof *t->weight);
		memset(t->weight + kept * plane, 0, (size_t)(n * plane) * sizeof *t->weight);
	}
	predict_bad_look(&t->bad, sample, t->packed, t->out_channels * n * plane);
	predict_as_change(t->as, t->packed, t->out_channels, n * plane);
	TRY(slabs_write(t->file, sample, t->first, n, t->packed));
	t->first = end;
	return 0;
}

static int run_sample(struct tiles *t, const float *x, int64_t sample)
{
	const struct tile_axis *rows = &t->axis[0];
	t->first = 0;
	for (int i = 0; i < rows->n; i++) {
		const int64_t end = i + 1 < rows->n ? rows->begin[i + 1] : t->out[0];
		TRY(run_row(t, x, i));
		if (comm_first(t->s->comm))
			TRY(flush(t, sample, least(end, t->out[0])));
	}
	return 0;
}

static int run_all(struct tiles *t, int64_t *written)
{
	struct loader *l = t->s->validation;
	*written = 0;
	TRY(loader_seek(l, 0, 0));
	for (int64_t i = 0; i < loader_batches(l); i++) {
		const struct batch *b;
		TRY(loader_next(l, &b));
		TRY(run_sample(t, batch_input(b), i));
		*written += 1;
	}
	return 0;
}

int predict_tiles(struct session *s, const char *out, enum predict_as as, int64_t *written)
{
	struct tiles t = { .as = as };
	if (!slabs_takes(out))
		return ranks_agree(s->comm, ERR(E_USAGE, NULL, "'--tile' writes arrays; use '-o FILE.npy', "
		                                "'-o FILE.nc' or '-o FILE.h5'"), "opening the output");
	set_up(&t, s);
	int rc = ranks_agree(s->comm, open_file(&t, out), "opening the output");
	if (rc == 0)
		rc = run_all(&t, written);
	rc = slabs_close(t.file, rc);
	if (rc == 0)
		predict_bad_warn(&t.bad, out);
	tear_down(&t);
	return rc;
}
