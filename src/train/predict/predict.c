/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs prediction plans over the validation loader and passes each sample's output to a writer: of
 * one array for all samples (.npy, .npz, .nc, .h5), of a table (.csv), or of a picture per sample.
 * The predicted class is that of the largest logit. Rank 0 writes; the other ranks send it their
 * outputs of each batch, in order. */
#include "train/predict/predict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "report/netcdf_file.h"
#include "report/npy_file.h"
#include "report/png.h"
#include "report/zip_file.h"
#include "train/predict/legend.h"
#include "train/run/opening.h"
#include "train/predict/predict_array.h"
#include "train/predict/picture_names.h"
#include "train/predict/predict_table.h"
#include "train/run/ranks.h"

#define PREDICT_GAP 2          /* white rows between the two maps, in grid points */
/* small grids are drawn with several pixels a point, up to about this */
#define PREDICT_WIDTH 720

/* One sample: output (channels, [depth,] height, width) and target as the loader gives it. */
struct result {
	int64_t index;
	const struct shape *shape;       /* of output, without the sample axis */
	float *output;
	const void *target;
};

struct writer {
	struct session *s;
	const char *out;
	struct io_file *file;            /* .npy, .npz, .csv */
	struct zip_file zip;             /* .npz */
	struct netcdf_file *nc;          /* .nc */
	struct buf pixels, large;        /* pictures: a pixel a point, and enlarged */
	struct predict_table table;      /* .csv */
	enum predict_as as;
	struct predict_bad bad;
	const struct texts *names;       /* of pictures, or none */
	bool labels, truth;              /* pictures: of classes; below the
	                                  * prediction, the file's target */
	int64_t *sample;                 /* which of the set's samples each is; NULL: in order */
	struct predict_parts *parts;
	int (*write)(struct writer *w, const struct result *r);
};

/* --- .npy --- */

/* The sample in the requested form; returns how many elements of four bytes it has then. */
static size_t change(struct writer *w, const struct result *r)
{
	int64_t channels = r->shape->d[0];
	struct shape s = predict_as_shape(w->as, r->shape);
	predict_as_change(w->as, r->output, channels, shape_count(r->shape) / channels);
	return (size_t)shape_count(&s);
}

static int write_npy(struct writer *w, const struct result *r)
{
	return io_write(w->file, r->output, 4 * change(w, r));
}

static int write_npz(struct writer *w, const struct result *r)
{
	return zip_write(&w->zip, r->output, 4 * change(w, r));
}

static int write_nc(struct writer *w, const struct result *r)
{
	change(w, r);
	return netcdf_write(w->nc, r->index, r->output);
}

static int write_csv(struct writer *w, const struct result *r)
{
	return predict_table_line(&w->table, r->index, r->output);
}

/* --- pictures --- */

struct map {
	int64_t height, width, points;   /* of the plane that is drawn: the middle one of a volume */
	int64_t offset;                  /* of that plane */
	bool north_up;                   /* row 0 at the bottom */
};

static struct map plane(const struct shape *s)
{
	struct map m = { .height = 1, .width = s->d[s->nd - 1], .points = 1 };
	if (s->nd >= 3)
		m.height = s->d[s->nd - 2];
	for (int i = 1; i < s->nd; i++)
		m.points *= s->d[i];
	if (s->nd >= 4)
		m.offset = s->d[1] / 2 * m.height * m.width;
	return m;
}

/* Rows go down, as those of pictures do, unless their coordinates rise: those of a grid that begins
 * in the south. */
static bool north_up(const struct axes *axes)
{
	const struct axis *rows = axes->n >= 3 ? &axes->axis[axes->n - 2] : NULL;
	return rows && rows->values && rows->n > 1 && rows->values[0] < rows->values[rows->n - 1];
}

static uint8_t *pixel(struct buf *pixels, const struct map *m, int panel, int64_t y, int64_t x)
{
	int64_t row = panel * (m->height + PREDICT_GAP) + (m->north_up ? m->height - 1 - y : y);
	return (uint8_t *)pixels->data + 3 * (row * m->width + x);
}

static void draw_labels(struct writer *w, const struct result *r, const struct map *m,
                        int64_t ignore)
{
	const int32_t *target = w->truth ? r->target : NULL;
	for (int64_t y = 0; y < m->height; y++)
		for (int64_t x = 0; x < m->width; x++) {
			int64_t at = m->offset + y * m->width + x;
			bool none = target && target[at] == ignore;
			colour_class(predict_largest(r->output + at, r->shape->d[0], m->points),
			             pixel(&w->pixels, m, 0, y, x));
			if (target)
				colour_class(target[at], pixel(&w->pixels, m, 1, y, x));
			for (int panel = 0; none && panel < 2; panel++)
				memcpy(pixel(&w->pixels, m, panel, y, x), colour_missing, 3);
		}
}

static void draw_field(struct buf *pixels, const struct map *m, int panel, const float *v,
                       double low, double high)
{
	for (int64_t y = 0; y < m->height; y++)
		for (int64_t x = 0; x < m->width; x++) {
			double f = v[m->offset + y * m->width + x];
			colour_field(high > low ? (f - low) / (high - low) : 0.5,
			             pixel(pixels, m, panel, y, x));
		}
}

/* Both on the scale of the true field, if it is known. */
static void draw_fields(struct writer *w, const struct result *r, const struct map *m)
{
	const float *target = w->truth ? r->target : r->output;
	double low = INFINITY, high = -INFINITY;
	for (int64_t i = m->offset; i < m->offset + m->height * m->width; i++) {
		low = fmin(low, target[i]);
		high = fmax(high, target[i]);
	}
	draw_field(&w->pixels, m, 0, r->output, low, high);
	if (w->truth)
		draw_field(&w->pixels, m, 1, target, low, high);
}

/* Each point of small becomes a square of scale pixels. */
static void enlarge(const struct buf *small, int64_t width, int64_t rows, int64_t scale,
                    struct buf *large)
{
	buf_clear(large);
	buf_reserve(large, (size_t)(3 * rows * width * scale * scale));
	uint8_t *to = (uint8_t *)large->data;
	for (int64_t y = 0; y < rows * scale; y++)
		for (int64_t x = 0; x < width * scale; x++, to += 3)
			memcpy(to, small->data + 3 * (y / scale * width + x / scale), 3);
}

static int write_picture(struct writer *w, const struct result *r)
{
	struct map m = plane(r->shape);
	int64_t rows = w->truth ? 2 * m.height + PREDICT_GAP : m.height,
	        scale = m.width < PREDICT_WIDTH ? PREDICT_WIDTH / m.width : 1;
	const int64_t number = r->index;
	char numbered[64];
	m.north_up = north_up(&predict_data(w->s)->axes);
	buf_clear(&w->pixels);
	buf_reserve(&w->pixels, (size_t)(3 * rows * m.width));
	memset(w->pixels.data, 255, (size_t)(3 * rows * m.width));
	if (w->labels)
		draw_labels(w, r, &m, loss_ignore(&w->s->config->loss,
		                                  dataset_info(w->s->validation_set)->target_ignore));
	else
		draw_fields(w, r, &m);
	enlarge(&w->pixels, m.width, rows, scale, &w->large);
	snprintf(numbered, sizeof numbered, "%06" PRId64, number);
	char *path = picture_path(w->out, number < w->names->n ? w->names->v[number] : numbered);
	int rc = png_write_rgb(path, m.width * scale, rows * scale, (const uint8_t *)w->large.data);
	mem_free(path);
	return rc;
}

/* --- running --- */

static struct shape output_shape(const struct session *s)
{
	const struct plan *p = session_plan(s, PLAN_PREDICT);
	const struct shape *whole = &graph_t(p->g, plan_out(p, "output"))->shape;
	return shape_of(whole->nd - 1, whole->d + 1);
}

/* The n samples of a rank, from `first` on in the file. */
static int write_samples(struct writer *w, int64_t first, int64_t n, float *output,
                         const char *target)
{
	struct shape one = output_shape(w->s);
	int64_t each = shape_count(&one),
	        target_each = shape_count(loader_target_shape(w->s->validation));
	for (int64_t i = 0; i < n; i++) {
		const int64_t index = w->sample ? w->sample[first + i] : first + i;
		struct result r = { index, &one, output + i * each, target + 4 * i * target_each };

		predict_bad_look(&w->bad, index, r.output, each);
		TRY(w->write(w, &r));
	}
	return 0;
}

/* Samples in the host's memory: of this rank's batch, or of another's. */
struct share {
	float *output;
	char *target;
};

static struct share make_share(const struct session *s)
{
	struct shape one = output_shape(s);
	size_t batch = (size_t)loader_batch_size(s->validation),
	       target = (size_t)shape_count(loader_target_shape(s->validation));
	return (struct share){ mem_alloc(4 * batch * (size_t)shape_count(&one)),
		mem_alloc(4 * batch * target) };
}

static void free_share(struct share *s)
{
	mem_free(s->output);
	mem_free(s->target);
}

/* Broadcasts the share of the batch of each rank, or team of ranks, in turn. Only rank
 * 0 needs it, but broadcasts are the collective at hand. */
static int write_shares(struct writer *w, const struct batch *b, float *output, struct share *room)
{
	struct session *s = w->s;
	struct comm *c = s->comm;
	struct shape one = output_shape(s);
	size_t each = 4 * (size_t)shape_count(&one),
	       target_each = 4 * (size_t)shape_count(loader_target_shape(s->validation));
	int64_t begin = b->index * loader_batch_size(s->validation) * s->nteams;
	for (int t = 0; t < s->nteams; t++) {
		const int64_t at = loader_share(b->all, t, s->nteams),
		              n = loader_share(b->all, t + 1, s->nteams) - at;
		const int r = t * s->parts;
		if (n == 0)
			continue;
		if (r == c->rank) {
			memcpy(room->output, output, (size_t)n * each);
			memcpy(room->target, batch_target(b), (size_t)n * target_each);
		}
		comm_broadcast(c, room->output, (size_t)n * each, r, "predictions");
		if (target_each)
			comm_broadcast(c, room->target, (size_t)n * target_each, r, "targets");
		if (comm_first(c))
			TRY(write_samples(w, begin + at, n, room->output, room->target));
	}
	return 0;
}

/* A batch that has run: its samples, and what of them is in memory of dlx's. */
struct ran {
	struct batch batch;
	struct share share;
};

static int begin_batch(struct session *s, const struct batch *b)
{
	struct plan *p = session_plan_for(s, PLAN_PREDICT, 0, 0, b->n);
	TRY(plan_feed(p, s->config, b, NULL));
	return exec_run(p->exec, ~0u);
}

/* Waits for the batch that was begun. Its targets are copied, because the loader overwrites
 * them for the next batch. */
static int end_batch(struct session *s, const struct batch *b, struct ran *ran)
{
	const size_t target = 4 * (size_t)shape_count(loader_target_shape(s->validation));
	ran->batch = *b;
	if (b->absent)
		return 0;
	if (target)
		memcpy(ran->share.target, batch_target(b), (size_t)b->n * target);
	ran->batch.array[BATCH_TARGET].data = ran->share.target;
	const struct plan *p = session_plan_for(s, PLAN_PREDICT, 0, 0, b->n);
	return exec_read(p->exec, plan_out(p, "output"), DTYPE_F32, ran->share.output);
}

static int write_batch(struct writer *w, const struct ran *ran, struct share *room,
                       int64_t *written)
{
	const struct batch *b = &ran->batch;
	TRY(comm_many(w->s->comm) ? write_shares(w, b, ran->share.output, room) :
	    write_samples(w, b->first, b->n, ran->share.output, batch_target(b)));
	*written += b->all;
	return 0;
}

/* A batch is written while a GPU runs the next one. */
static int run_all(struct writer *w, int64_t *written)
{
	struct session *s = w->s;
	const int64_t n = loader_batches(s->validation);
	struct ran ran = { .share = make_share(s) };
	struct share theirs = make_share(s);
	int rc = loader_seek(s->validation, 0, 0);
	*written = 0;
	for (int64_t i = 0; i < n && rc == 0; i++) {
		const struct batch *b;
		rc = loader_next(s->validation, &b);
		if (rc == 0 && !b->absent)
			rc = begin_batch(s, b);
		if (rc == 0 && i > 0)
			rc = write_batch(w, &ran, &theirs, written);
		if (rc == 0)
			rc = end_batch(s, b, &ran);
	}
	if (rc == 0 && n > 0)
		rc = write_batch(w, &ran, &theirs, written);
	free_share(&ran.share);
	free_share(&theirs);
	return rc;
}

bool predict_to_file(const char *out)
{
	return io_ends_in(out, ".npy") || io_ends_in(out, ".npz") || io_ends_in(out, ".csv") ||
	       predict_is_netcdf(out);
}

/* One array, in a file of its own or as the member of an archive. */
static int open_numpy(struct writer *w)
{
	struct shape output = output_shape(w->s), one = predict_as_shape(w->as, &output);
	int64_t samples = predict_samples(w->s);
	struct buf h = BUF_INIT;
	TRY(io_create(&w->file, w->out));
	npy_header(&h, predict_as_dtype(w->as), samples, &one);
	int rc = 0;
	if (io_ends_in(w->out, ".npz")) {
		w->write = write_npz;
		w->zip = (struct zip_file){ .file = w->file, .name = "prediction.npy",
			.size = h.len + 4 * (uint64_t)samples * (uint64_t)shape_count(&one) };
		rc = zip_begin(&w->zip);
		if (rc == 0)
			rc = zip_write(&w->zip, h.data, h.len);
	} else {
		w->write = write_npy;
		rc = io_write(w->file, h.data, h.len);
	}
	buf_release(&h);
	return rc;
}

static int open_nc(struct writer *w)
{
	const struct shape output = output_shape(w->s);
	struct predict_array a;
	predict_array(&a, w->s, w->as, &output);
	w->write = write_nc;
	return netcdf_create(&w->nc, w->out, &a.array);
}

static int open_csv(struct writer *w)
{
	struct shape one = output_shape(w->s);
	char text[SHAPE_TEXT];
	const enum target_kind kind = loss_target(&w->s->config->loss);
	static const enum predict_as usual[] = { [TARGET_VALUES] = PREDICT_LOGITS,
		[TARGET_LABELS] = PREDICT_PROBABILITIES, [TARGET_FLAGS] = PREDICT_SIGMOID };
	int64_t n;
	const char *const *names = predict_channel_names(w->s, &n);
	if (one.nd != 1)
		return ERR(E_USAGE, NULL, "an output of shape %s for each sample is no line of a table; "
		           "use '-o FILE.npy' or '-o FILE.nc'", shape_text(&one, text));
	TRY(io_create(&w->file, w->out));
	w->write = write_csv;
	w->table = (struct predict_table){ .file = w->file, .kind = kind,
		.names = names,
		.nnames = n,
		.channels = one.d[0],
		.as = w->as ? w->as : usual[kind] };
	return predict_table_head(&w->table);
}

/* Whether the file's target can be drawn next to an output of this shape (N, C, [D,] H, W). If not,
 * it is no error: nothing is computed from the target. */
static bool target_fits(const struct session *s, bool labels, const struct shape *out)
{
	const struct shape *t = loader_target_shape(s->validation);
	int skip = labels ? 2 : 1;
	if (labels && dtype_is_float(dataset_info(s->validation_set)->target_dtype))
		return false;
	if (t->nd != out->nd - skip)
		return false;
	for (int i = 0; i < t->nd; i++)
		if (t->d[i] != out->d[i + skip])
			return false;
	return true;
}

static int open_pictures(struct writer *w)
{
	const struct plan *p = session_plan(w->s, PLAN_PREDICT);
	char text[SHAPE_TEXT];
	const struct shape *s = &graph_t(p->g, plan_out(p, "output"))->shape;
	if (w->as != PREDICT_DEFAULT)
		return ERR(E_USAGE, NULL, "'--as' is for files of numbers; pictures are of classes");
	if (s->nd < 3)
		return ERR(E_USAGE, NULL, "an output of shape %s cannot be drawn as pictures; use '-o "
		           "FILE.npy' or '-o FILE.nc'", shape_text(s, text));
	w->labels = loss_wants_labels(&w->s->config->loss);
	w->truth = target_fits(w->s, w->labels, s);
	if (!w->truth && dataset_info(w->s->validation_set)->has_target)
		note("the targets of the file do not fit the output; pictures show the prediction alone");
	w->write = write_picture;
	TRY(io_mkdirs(w->out));
	return w->labels ? legend_write(w->out, session_data(w->s), s->d[1], w->truth) : 0;
}

static int open_output(struct writer *w)
{
	if (!comm_first(w->s->comm))
		return 0;
	TRY(predict_choose_as(w->s, &w->as));
	if (io_ends_in(w->out, ".csv"))
		return open_csv(w);
	if (io_ends_in(w->out, ".npy") || io_ends_in(w->out, ".npz"))
		return open_numpy(w);
	return predict_is_netcdf(w->out) ? open_nc(w) : open_pictures(w);
}

/* --- samples of several sizes --- */

/* Whether predictions of several sizes go into one file. */
static bool one_file(const struct writer *w)
{
	return w->s->only_size && predict_to_file(w->out);
}

static int check_vectors(const struct writer *w)
{
	const struct shape one = output_shape(w->s);
	char text[SHAPE_TEXT];
	if (!one_file(w) || (one.nd == 1 && (!w->parts->each || w->parts->each == one.d[0])))
		return 0;
	return ERR(E_DATA, NULL, "the samples to predict from have several sizes: outputs are %s for "
	           "some, and '%s' holds those of one size%s", shape_text(&one, text), w->out,
	           one.nd > 2 ? "; '-o FOLDER' draws samples of all sizes" : "");
}

static int keep(struct writer *w, const struct result *r)
{
	const int64_t each = shape_count(r->shape);
	memcpy(w->parts->vectors + r->index * each, r->output, (size_t)each * sizeof(float));
	return 0;
}

static int write_kept(struct writer *w, int (*write)(struct writer *, const struct result *))
{
	const struct shape one = output_shape(w->s);
	const int64_t each = shape_count(&one), n = predict_samples(w->s);
	for (int64_t i = 0; i < n; i++) {
		const struct result r = { i, &one, w->parts->vectors + i * each, NULL };
		TRY(write(w, &r));
	}
	return 0;
}

static void find_samples(struct writer *w)
{
	const struct dataset *d = w->s->validation_set;
	const int64_t n = dataset_info(d)->samples;
	int64_t at = 0;
	w->sample = mem_calloc((size_t)loader_samples(w->s->validation) + 1, sizeof *w->sample);
	for (int64_t i = 0; i < n; i++)
		if (dataset_size_of(d, i) == w->s->only_size - 1)
			w->sample[at++] = i;
}

static int run_size(struct writer *w, int64_t *written)
{
	int (*write)(struct writer *, const struct result *) = w->write;
	const struct shape one = output_shape(w->s);
	const bool keeps = one_file(w) && comm_first(w->s->comm);
	find_samples(w);
	w->parts->each = shape_count(&one);
	if (keeps) {
		w->write = keep;
		if (!w->parts->vectors)
			w->parts->vectors = mem_calloc((size_t)(predict_samples(w->s) * shape_count(&one)),
			                               sizeof(float));
	}
	TRY(run_all(w, written));
	return keeps && !w->parts->more ? write_kept(w, write) : 0;
}

/* What was not finished does not appear under its name. */
static int close_output(struct writer *w, int rc)
{
	const bool whole = rc == 0 && !(one_file(w) && w->parts->more);
	if (w->zip.file && whole)
		rc = zip_end(&w->zip);
	if (w->file && rc == 0 && whole)
		rc = io_commit(w->file);
	else if (w->file)
		io_discard(w->file);
	if (w->nc && rc == 0 && whole)
		rc = netcdf_commit(w->nc);
	else if (w->nc)
		netcdf_discard(w->nc);
	return rc;
}

int predict(struct session *s, const char *out, enum predict_as as, const struct texts *names,
            struct predict_parts *parts, int64_t *written)
{
	struct writer w = { .s = s, .out = out, .as = as, .names = names, .parts = parts,
		.pixels = BUF_INIT, .large = BUF_INIT };
	int rc = check_vectors(&w);
	rc = ranks_agree(s->comm, rc < 0 ? rc : open_output(&w), "opening the output");
	if (rc == 0)
		rc = s->only_size ? run_size(&w, written) : run_all(&w, written);
	rc = close_output(&w, rc);
	if (rc == 0)
		predict_bad_warn(&w.bad, out);
	mem_free(w.sample);
	buf_release(&w.pixels);
	buf_release(&w.large);
	return rc;
}
