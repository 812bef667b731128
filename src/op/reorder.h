/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of cast, for whoever emits it. */
#ifndef DLX_OP_REORDER_H
#define DLX_OP_REORDER_H

struct cast_attr {
	int dtype;           /* enum dtype of the result */
};

#endif
