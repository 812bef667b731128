/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nine digits give a float32 back as it was. */
#include "train/predict_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "report/csv.h"

static bool has_class(const struct predict_table *t)
{
	return t->classes && t->as != PREDICT_LOGITS;
}

static bool has_values(const struct predict_table *t)
{
	return t->as != PREDICT_CLASSES;
}

static const char *class_name(const struct predict_table *t, int64_t c)
{
	return t->data->classes && c < t->data->nclasses ? t->data->classes[c] : NULL;
}

/* Of a field, as the target that the network was trained on calls them. */
static const char *output_name(const struct predict_table *t, int64_t c)
{
	const struct dataset_info *i = t->data;
	const bool named = i->target_channels && i->target.nd > 0 && i->target.d[0] == t->channels;
	return named && *i->target_channels[c] ? i->target_channels[c] : NULL;
}

static void put_column(struct buf *b, const struct predict_table *t, int64_t c)
{
	const char *name = t->classes ? class_name(t, c) : output_name(t, c);

	buf_putc(b, ',');
	if (name)
		csv_text(b, name);
	else
		buf_printf(b, "%s_%" PRId64, t->classes ? "class" : "output", c);
}

static int put_line(const struct predict_table *t, struct buf *b)
{
	int rc;

	buf_putc(b, '\n');
	rc = io_write(t->file, b->data, b->len);
	buf_release(b);
	return rc;
}

int predict_table_head(const struct predict_table *t)
{
	struct buf b = BUF_INIT;

	buf_puts(&b, has_class(t) ? "sample,class" : "sample");
	for (int64_t c = 0; has_values(t) && c < t->channels; c++)
		put_column(&b, t, c);
	return put_line(t, &b);
}

static void put_class(struct buf *b, const struct predict_table *t, int64_t c)
{
	const char *name = class_name(t, c);

	buf_putc(b, ',');
	if (name)
		csv_text(b, name);
	else
		buf_printf(b, "%" PRId64, c);
}

int predict_table_line(const struct predict_table *t, int64_t sample, float *output)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "%" PRId64, sample);
	if (has_class(t))
		put_class(&b, t, predict_largest(output, t->channels, 1));
	if (has_values(t))
		predict_as_change(t->as, output, t->channels, 1);
	for (int64_t c = 0; has_values(t) && c < t->channels; c++)
		buf_printf(&b, ",%.9g", (double)output[c]);
	return put_line(t, &b);
}
