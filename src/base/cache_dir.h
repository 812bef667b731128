/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The user's folder for what dlx has found out and can find out again: nothing there is needed, and
 * it may be removed at any time. */
#ifndef DLX_BASE_CACHE_DIR_H
#define DLX_BASE_CACHE_DIR_H

#include "base/buf.h"

/* Appends $XDG_CACHE_HOME/dlx, or ~/.cache/dlx where that variable is unset, empty or relative; the
 * folder is made if it is not there. E_UNAVAILABLE with the reason, and *out as it was: neither
 * that variable nor HOME leads to a folder that can be written. */
int cache_dir(struct buf *out);

#endif
