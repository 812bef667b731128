/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Elements of a page that is complete in itself: no script, nothing that is loaded. */
#ifndef DLX_DATA_TOOLS_HTML_H
#define DLX_DATA_TOOLS_HTML_H

#include "base/buf.h"
#include "data-tools/report/text_table.h"

void html_begin(struct buf *b, const char *title);
void html_end(struct buf *b);
/* A heading that begins a section. */
void html_section(struct buf *b, const char *title);
/* A paragraph. */
void html_text(struct buf *b, const char *text);
/* The first row has the titles; columns that are not `left` are right-aligned. */
void html_table(struct buf *b, const struct text_table *t);
/* Elements between begin and end are hidden until the reader opens them. */
void html_fold_begin(struct buf *b, const char *title);
void html_fold_end(struct buf *b);
/* A text in lines as they are. */
void html_lines(struct buf *b, const char *text);
/* An SVG picture, inline, whose text is complete. */
void html_figure(struct buf *b, const char *svg, const char *caption);
/* A picture file, PNG or SVG, in the page. Nothing is appended if it cannot be read or is larger
 * than HTML_PICTURE_MOST. Returns whether it was. */
#define HTML_PICTURE_MOST (4 << 20)
bool html_picture(struct buf *b, const char *path, const char *caption);

#endif
