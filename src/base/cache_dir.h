/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The user's cache folder of dlx, for results that can be computed again (measurements, verdicts on
 * kernels). It may be removed at any time. */
#ifndef DLX_BASE_CACHE_DIR_H
#define DLX_BASE_CACHE_DIR_H

#include "base/buf.h"

/* Appends $XDG_CACHE_HOME/dlx, or ~/.cache/dlx if that variable is unset, empty or relative, and
 * makes the folder if it is missing. E_UNAVAILABLE with the reason, and *out unchanged, if there is
 * no such folder that can be written. */
int cache_dir(struct buf *out);

#endif
