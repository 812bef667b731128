/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/predict/legend.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "report/csv.h"
#include "report/png.h"
#include "report/svg.h"
#include "train/predict/evaluate.h"

#define LINE 24
#define BOX 16
#define LETTER 8               /* about, in pixels */

struct legend {
	struct buf svg, csv;
	int lines;
};

/* number: of the class, "" of what is none. */
static void add(struct legend *l, const char *number, const char *name, const uint8_t rgb[3])
{
	char colour[8], style[48];
	const double y = 8 + LINE * l->lines++;
	snprintf(colour, sizeof colour, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
	snprintf(style, sizeof style, "fill=\"%s\" stroke=\"#333\"", colour);
	svg_rect(&l->svg, 8, y, BOX, BOX, style);
	svg_text(&l->svg, 8 + BOX + 8, y + 13, "start", name);
	buf_printf(&l->csv, "%s,", number);
	csv_text(&l->csv, name);
	buf_printf(&l->csv, ",%s\n", colour);
}

static void add_class(struct legend *l, const struct dataset_info *data, int64_t k)
{
	struct buf name = BUF_INIT;
	uint8_t rgb[3];
	char number[24];
	colour_class(k, rgb);
	snprintf(number, sizeof number, "%" PRId64, k);
	evaluation_part_name(data, METRIC_BY_CLASS, (int)k, &name);
	add(l, number, name.data, rgb);
	buf_release(&name);
}

static int longest_name(const struct dataset_info *data, int64_t classes)
{
	size_t longest = strlen("class 1000");
	for (int64_t k = 0; data->classes && k < data->nclasses && k < classes; k++)
		if (strlen(data->classes[k]) > longest)
			longest = strlen(data->classes[k]);
	return (int)longest;
}

static int write(const char *folder, const char *name, const struct buf *text)
{
	char *path = io_join(folder, name);
	int rc = io_write_file(path, text->data, text->len);
	mem_free(path);
	return rc;
}

int legend_write(const char *folder, const struct dataset_info *data, int64_t classes, bool missing)
{
	struct legend l = { .svg = BUF_INIT, .csv = BUF_INIT };
	svg_begin(&l.svg, 8 + BOX + 16 + LETTER * longest_name(data, classes),
	          8 + LINE * (int)(classes + missing));
	buf_puts(&l.csv, "class,name,colour\n");
	for (int64_t k = 0; k < classes; k++)
		add_class(&l, data, k);
	if (missing)
		add(&l, "", "ignored", colour_missing);
	svg_end(&l.svg);
	int rc = write(folder, "legend.svg", &l.svg);
	if (rc == 0)
		rc = write(folder, "classes.csv", &l.csv);
	buf_release(&l.svg);
	buf_release(&l.csv);
	return rc;
}
