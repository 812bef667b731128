/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers have nine digits, from which a float32 can be restored exactly. */
#include "train/predict/predict_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "report/csv.h"

static bool has_class(const struct predict_table *t)
{
	return t->kind == TARGET_LABELS && t->as != PREDICT_LOGITS;
}

static bool has_values(const struct predict_table *t)
{
	return t->as != PREDICT_CLASSES;
}

static const char *name_of(const struct predict_table *t, int64_t c)
{
	return t->names && c < t->nnames && *t->names[c] ? t->names[c] : NULL;
}

static void put_column(struct buf *b, const struct predict_table *t, int64_t c)
{
	const char *name = name_of(t, c);
	buf_putc(b, ',');
	if (name)
		csv_text(b, name);
	else
		buf_printf(b, "%s_%" PRId64, t->kind == TARGET_VALUES ? "output" : "class", c);
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
	const char *name = name_of(t, c);
	buf_putc(b, ',');
	if (name)
		csv_text(b, name);
	else
		buf_printf(b, "%" PRId64, c);
}

static void put_value(struct buf *b, const struct predict_table *t, const float *v)
{
	int32_t flag;
	memcpy(&flag, v, sizeof flag);
	if (t->as == PREDICT_FLAGS)
		buf_printf(b, ",%" PRId32, flag);
	else
		buf_printf(b, ",%.9g", (double)*v);
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
		put_value(&b, t, output + c);
	return put_line(t, &b);
}
