/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables are marked up as such, so that a page is read by programs that speak, too. */
#include "data-tools/report/html.h"

#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/io.h"
#include "report/svg.h"

static const char style[] =
	"body{font:15px/1.5 system-ui,sans-serif;color:#1c2126;background:#fff;max-width:72rem;"
	"margin:0 auto;padding:1.5rem}\n"
	"h1{font-size:1.7rem;margin:0 0 .3rem}\n"
	"h2{font-size:1.2rem;margin:2.2rem 0 .6rem;padding-bottom:.2rem;"
	"border-bottom:1px solid #d5dbe1}\n"
	"p{margin:.4rem 0;max-width:60rem}\n"
	".wide{overflow-x:auto}\n"
	"table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}\n"
	"th,td{padding:.22rem .7rem;text-align:right;white-space:nowrap;"
	"border-bottom:1px solid #e6eaee}\n"
	"th{font-weight:600;vertical-align:bottom}\n"
	"thead th{border-bottom:2px solid #aab4be}\n"
	".l{text-align:left}\n"
	"tbody tr:nth-child(even){background:#f6f8fa}\n"
	"figure{margin:.8rem 0}\n"
	"figure svg,figure img{max-width:100%;height:auto}\n"
	"figcaption{font-size:.88rem;color:#4a545e;max-width:60rem}\n"
	".row{display:flex;flex-wrap:wrap;gap:1rem}\n"
	".row figure{margin:0}\n"
	".row img{max-width:20rem;border:1px solid #d5dbe1}\n"
	"pre{font-size:.82rem;background:#f6f8fa;padding:.8rem;overflow-x:auto}\n"
	"summary{cursor:pointer;color:#0b5394}\n"
	"@media print{body{max-width:none;padding:0;font-size:11px}figure,tr{break-inside:avoid}"
	"h2{break-after:avoid}.wide{overflow:visible}th,td{white-space:normal;padding:.15rem .3rem;"
	"overflow-wrap:anywhere}.row img{max-width:13rem}}\n";

void html_begin(struct buf *b, const char *title)
{
	buf_puts(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	         "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
	         "<link rel=\"icon\" href=\"data:,\">\n<title>");
	svg_escaped(b, title);
	buf_printf(b, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", style);
	svg_escaped(b, title);
	buf_puts(b, "</h1>\n");
}

void html_end(struct buf *b)
{
	buf_puts(b, "</body>\n</html>\n");
}

void html_section(struct buf *b, const char *title)
{
	buf_puts(b, "<h2>");
	svg_escaped(b, title);
	buf_puts(b, "</h2>\n");
}

void html_text(struct buf *b, const char *text)
{
	buf_puts(b, "<p>");
	svg_escaped(b, text);
	buf_puts(b, "</p>\n");
}

static void put_cell(struct buf *b, const struct text_table *t, int row, int column)
{
	const char *tag = row == 0 ? "th scope=\"col\"" : column == 0 ? "th scope=\"row\"" : "td";
	buf_printf(b, "<%s%s>", tag, t->left[column] ? " class=\"l\"" : "");
	svg_escaped(b, t->cell[row * t->columns + column]);
	buf_printf(b, "</%.2s>", tag);
}

void html_table(struct buf *b, const struct text_table *t)
{
	buf_puts(b, "<div class=\"wide\"><table>\n");
	for (int r = 0; r < t->rows; r++) {
		buf_puts(b, r == 0 ? "<thead><tr>" : r == 1 ? "<tbody>\n<tr>" : "<tr>");
		for (int k = 0; k < t->columns; k++)
			put_cell(b, t, r, k);
		buf_puts(b, r == 0 ? "</tr></thead>\n" : "</tr>\n");
	}
	buf_puts(b, t->rows > 1 ? "</tbody></table></div>\n" : "</table></div>\n");
}

void html_fold_begin(struct buf *b, const char *title)
{
	buf_puts(b, "<details><summary>");
	svg_escaped(b, title);
	buf_puts(b, "</summary>\n");
}

void html_fold_end(struct buf *b)
{
	buf_puts(b, "</details>\n");
}

void html_lines(struct buf *b, const char *text)
{
	buf_puts(b, "<pre>");
	while (*text) {
		const size_t n = strcspn(text, "\n");
		struct buf line = BUF_INIT;
		buf_add(&line, text, n);
		svg_escaped(b, line.data);
		buf_putc(b, '\n');
		buf_release(&line);
		text += n + (text[n] == '\n');
	}
	buf_puts(b, "</pre>\n");
}

static void put_caption(struct buf *b, const char *caption)
{
	buf_puts(b, "<figcaption>");
	svg_escaped(b, caption);
	buf_puts(b, "</figcaption></figure>\n");
}

void html_figure(struct buf *b, const char *svg, const char *caption)
{
	buf_puts(b, "<figure>\n");
	buf_puts(b, svg);
	put_caption(b, caption);
}

bool html_picture(struct buf *b, const char *path, const char *caption)
{
	const char *type = io_ends_in(path, ".svg") ? "svg+xml" : "png";
	struct buf file = BUF_INIT;
	const int mark = err_count();
	const bool there = io_read_file(path, &file) == 0 && file.len <= HTML_PICTURE_MOST;
	err_truncate(mark);
	if (there) {
		buf_puts(b, "<figure><img alt=\"");
		svg_escaped(b, caption);
		buf_printf(b, "\" src=\"data:image/%s;base64,", type);
		base64_write(b, (const uint8_t *)file.data, file.len);
		buf_puts(b, "\">");
		put_caption(b, caption);
	}
	buf_release(&file);
	return there;
}
