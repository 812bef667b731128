/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The switches are apart from the code that reads them, which needs memory and errors: these
 * have switches of their own. */
#include "base/debug.h"

struct debug debug;
