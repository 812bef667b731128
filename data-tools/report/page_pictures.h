/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pictures that are in runs' folders: of predictions, of the plan. */
#ifndef DLX_DATA_TOOLS_PAGE_PICTURES_H
#define DLX_DATA_TOOLS_PAGE_PICTURES_H

#include "base/buf.h"
#include "data-tools/report/report.h"

/* Appends a row of pictures for each run that has some in its folder or in folders in it. Returns
 * the number of pictures. */
int page_pictures(struct buf *b, const struct report *o);

#endif
