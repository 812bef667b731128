/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The input file of a prediction is not known here, so the prediction is described for a file like
 * the training data. */
#include "plan/describe/describe_seen.h"

#include <inttypes.h>

#include "base/err.h"
#include "data/transform.h"
#include "plan/extent/tile_size.h"
#include "plan/extent/whole.h"
#include "plan/describe/sizes.h"

static void put_extents(struct buf *out, const int64_t *d, int n)
{
	for (int k = 0; k < n; k++)
		buf_printf(out, "%s%" PRId64, k ? " x " : "", d[k]);
}

static bool smaller(const struct shape *a, const struct shape *b)
{
	for (int k = 1; k < a->nd && k < b->nd; k++)
		if (a->d[k] < b->d[k])
			return true;
	return false;
}

static void put_seen(struct buf *out, const char *mode, const struct shape *seen,
                     const struct dataset *set, const char *where)
{
	const struct shape *stored = &dataset_info(set)->input;
	const int others = dataset_sizes(set) - 1;
	const bool part = others > 0 || smaller(seen, stored);
	buf_printf(out, "%-12s %s of ", mode, part ? "windows" : "whole samples");
	put_extents(out, seen->d + 1, seen->nd - 1);
	if (part) {
		buf_printf(out, ", %s ", where);
		put_extents(out, stored->d + 1, stored->nd - 1);
		if (others > 0)
			buf_printf(out, " and %d other size%s", others, others > 1 ? "s" : "");
	}
}

static void put_padded(struct buf *out, const struct plan_field *f)
{
	const struct shape p = field_padded(f);
	if (shape_equal(&p, &f->input))
		return;
	buf_puts(out, ", padded to ");
	put_extents(out, p.d + 1, p.nd - 1);
}

static void put_size(struct buf *out, const struct session *s, const struct plan_field *f)
{
	const struct shape *seen = f->input.nd ? &f->input : &s->data.input;
	put_extents(out, seen->d + 1, seen->nd - 1);
	if (f->input.nd)
		put_padded(out, f);
}

/* Whole samples of several sizes; first: the first of them. */
static void put_sizes(const struct session *s, const struct plan_field *first, struct buf *out)
{
	buf_puts(out, "\n              validation whole samples, batches of one size each: ");
	put_size(out, s, first);
	for (int i = 0; i < s->nsize; i++) {
		buf_puts(out, "; ");
		put_size(out, s, &s->size[i].field);
	}
}

void describe_train_sizes(const struct session *s, struct buf *out)
{
	int64_t left = 0;
	for (int k = 0; k <= s->ntrain_size && s->ntrain_size; k++) {
		const struct loader_size of = loader_size(s->train, k);
		buf_puts(out, k ? "; " : "");
		put_extents(out, of.input->d + 1, of.input->nd - 1);
		buf_printf(out, " (%" PRId64 " sample%s, %" PRId64 " batch%s)", of.samples,
		           of.samples == 1 ? "" : "s", of.batches, of.batches == 1 ? "" : "es");
		left += of.samples;
	}
	if (s->ntrain_size)
		left -= loader_samples_before(s->train, 0, loader_batches(s->train));
	if (left > 0)
		buf_printf(out, "; an epoch leaves out %" PRId64 " sample%s, which fill no batch", left,
		           left == 1 ? "" : "s");
}

/* What a prediction sees of a sample like those of training. */
static int imagine(const struct session *s, struct plan_field *f)
{
	struct transform_options o = { .data = s->train_set, .training = false,
		.seed = (uint64_t)s->config->run.seed,
		.target_dtype = loss_wants_labels(&s->config->loss) ? DTYPE_I32 : DTYPE_F32 };
	struct transform_chain *t;
	transform_choose_list(&o, &s->config->data);
	TRY(transform_chain_new(&t, &o));
	*f = (struct plan_field){ .input = *transform_input_shape(t) };
	transform_chain_free(t);
	if (shape_equal(&f->input, &s->data.input))
		return 0;
	return whole_pad(s, f);
}

static void describe_tile(const struct session *s, const struct plan_field *f, struct buf *out)
{
	int64_t tile[RECEPTIVE_AXES], bytes;
	char a[32];
	bool whole;
	int mark = err_count();
	buf_puts(out, "\n              ");
	if (tile_fit(s, f, tile, &bytes, &whole) < 0)
		buf_printf(out, "that cannot be predicted: %s", err_get(mark)->text);
	else if (whole)
		buf_printf(out, "whole samples fit: arena of a prediction %s",
		           bytes_text((double)bytes, a));
	else
		buf_puts(out, "whole samples do not fit, but these tiles do: --tile ");
	for (int k = 0; err_count() == mark && !whole && k + 1 < f->input.nd; k++)
		buf_printf(out, "%s%" PRId64, k ? "x" : "", tile[k]);
	if (err_count() == mark && !whole)
		buf_printf(out, ", arena %s", bytes_text((double)bytes, a));
	err_truncate(mark);
}

static void describe_prediction(const struct session *s, bool tiles, struct buf *out)
{
	struct plan_field f;
	int mark = err_count();
	if (imagine(s, &f) == 0) {
		const bool part = smaller(&f.input, &dataset_info(s->train_set)->input);
		const char *what = part                              ? "windows of"
		                   : dataset_sizes(s->train_set) > 1 ? "whole samples, such as those of"
		                                                     : "whole samples of";
		buf_printf(out, "\n              prediction %s ", what);
		put_extents(out, f.input.d + 1, f.input.nd - 1);
		if (part)
			buf_puts(out, ", in the centre");
		put_padded(out, &f);
		if (tiles && s->parts == 1 && !shape_equal(&f.input, &s->data.input))
			describe_tile(s, &f, out);
	}
	err_truncate(mark);
}

/* What is done to samples of training, or of validation and prediction. */
static void put_transforms(const struct session *s, bool training, struct buf *out)
{
	struct transform_options o = { .training = training };
	struct arena *a = arena_new();
	transform_choose_list(&o, &s->config->data);
	transform_names(a, o.list, training, out);
	if (training && mixup_wanted(&s->config->data.mixup))
		buf_puts(out, "; mixup");
	arena_free(a);
}

void describe_seen(const struct session *s, bool tiles, struct buf *out)
{
	if (!s->train_set || s->data.input.nd < 2)
		return;
	if (s->ntrain_size) {
		buf_puts(out, "sees          training   whole samples, batches of one size each: ");
		describe_train_sizes(s, out);
	} else {
		put_seen(out, "sees          training  ", &s->data.input, s->train_set, "at random in");
	}
	put_transforms(s, true, out);
	if (s->validation) {
		const struct plan_field same = { .input = s->data.input },
		                        *f = whole_differs(s) ? &s->data.field : &same;
		if (s->nsize)
			put_sizes(s, f, out);
		else
			put_seen(out, "\n              validation", &f->input, s->validation_set,
			         "in the centre of");
		if (!s->nsize)
			put_padded(out, f);
		put_transforms(s, false, out);
	}
	describe_prediction(s, tiles, out);
	buf_putc(out, '\n');
}

/* --- for programs --- */

static void put_list(struct buf *out, const char *name, const int64_t *d, int n)
{
	buf_printf(out, ", \"%s\": [", name);
	for (int k = 0; k < n; k++)
		buf_printf(out, "%s%" PRId64, k ? ", " : "", d[k]);
	buf_putc(out, ']');
}

/* The further sizes of whole samples in validation. */
static void put_further(const struct session *s, struct buf *out)
{
	const struct plan_field same = { .input = s->data.input };
	for (int i = 0; i < s->nsize; i++) {
		const struct plan_field *f = s->size[i].field.input.nd ? &s->size[i].field : &same;
		const struct shape p = field_padded(f);
		buf_printf(out, "%s{\"windows\": false", i ? ", " : ", \"further\": [");
		put_list(out, "size", f->input.d + 1, f->input.nd - 1);
		put_list(out, "padded", p.d + 1, p.nd - 1);
		buf_puts(out, i + 1 < s->nsize ? "}" : "}]");
	}
}

static void put_mode(struct buf *out, const char *mode, bool part, const struct plan_field *f)
{
	const struct shape p = field_padded(f);
	buf_printf(out, "\"%s\": {\"windows\": %s", mode, part ? "true" : "false");
	put_list(out, "size", f->input.d + 1, f->input.nd - 1);
	put_list(out, "padded", p.d + 1, p.nd - 1);
}

static void put_set(struct buf *out, const char *mode, const struct plan_field *f,
                    const struct dataset *set, const struct session *sizes)
{
	const struct shape *stored = &dataset_info(set)->input;
	const int others = dataset_sizes(set) - 1;
	const bool whole = sizes && sizes->nsize;
	put_mode(out, mode, !whole && (others > 0 || smaller(&f->input, stored)), f);
	put_list(out, "of", stored->d + 1, stored->nd - 1);
	buf_printf(out, ", \"other_sizes\": %d", others);
	if (sizes)
		put_further(sizes, out);
	buf_putc(out, '}');
}

static void put_train_sizes(const struct session *s, struct buf *out)
{
	for (int k = 0; k <= s->ntrain_size; k++) {
		const struct loader_size of = loader_size(s->train, k);
		const struct plan_field f = { .input = *of.input };
		if (k == 0)
			put_mode(out, "training", false, &f);
		else
			buf_printf(out, "%s{\"windows\": false", k > 1 ? ", " : ", \"further\": [");
		if (k > 0)
			put_list(out, "size", f.input.d + 1, f.input.nd - 1);
		buf_printf(out, ", \"samples\": %" PRId64 ", \"batches\": %" PRId64 "%s", of.samples,
		           of.batches, k ? "}" : "");
	}
	buf_puts(out, "]}");
}

static void put_tile(const struct session *s, const struct plan_field *f, struct buf *out)
{
	int64_t tile[RECEPTIVE_AXES], bytes;
	bool whole;
	int mark = err_count();
	buf_puts(out, ", \"tile\": ");
	if (tile_fit(s, f, tile, &bytes, &whole) < 0) {
		buf_puts(out, "{\"error\": ");
		buf_json_string(out, err_get(mark)->text);
	} else {
		buf_printf(out, "{\"whole\": %s", whole ? "true" : "false");
		put_list(out, "size", tile, f->input.nd - 1);
		buf_printf(out, ", \"arena\": %" PRId64, bytes);
	}
	buf_putc(out, '}');
	err_truncate(mark);
}

static void put_prediction(const struct session *s, struct buf *out)
{
	struct plan_field f;
	int mark = err_count();
	if (imagine(s, &f) == 0) {
		buf_puts(out, ",\n  ");
		put_mode(out, "prediction", smaller(&f.input, &dataset_info(s->train_set)->input), &f);
		if (s->parts == 1 && !shape_equal(&f.input, &s->data.input))
			put_tile(s, &f, out);
		buf_putc(out, '}');
	}
	err_truncate(mark);
}

void describe_seen_json(const struct session *s, struct buf *out)
{
	if (!s->train_set || s->data.input.nd < 2)
		return;
	const struct plan_field same = { .input = s->data.input };
	buf_puts(out, " \"sees\": {");
	if (s->ntrain_size)
		put_train_sizes(s, out);
	else
		put_set(out, "training", &same, s->train_set, NULL);
	if (s->validation) {
		buf_puts(out, ",\n  ");
		put_set(out, "validation", whole_differs(s) ? &s->data.field : &same, s->validation_set,
		        s);
	}
	put_prediction(s, out);
	buf_puts(out, "},\n");
}
