/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Known faults of implementations in oneDNN, and the selection of one without faults. */
#ifndef DLX_BACKEND_DNN_DNN_QUIRKS_H
#define DLX_BACKEND_DNN_DNN_QUIRKS_H

#include <dnnl.h>

#include "backend/dnn/dnn.h"

/* Why implementation `impl` (oneDNN's name for it) of the oneDNN library of major version `major`
 * must not be used for this convolution with this many threads: a short text ("the gradient of the
 * weights is wrong for rows shorter than a step"), or NULL if nothing is known against it. Pure:
 * depends on its arguments alone. */
const char *dnn_known_fault(int major, const char *impl, const struct dnn_conv *c, int threads);

/* Whether implementation pd may be used: it has no known fault for the convolution c (NULL: it is
 * no convolution), and it is not passed over for the problem (backend/proof/passed.h). */
bool dnn_is_allowed(dnnl_primitive_desc_t pd, const struct dnn_conv *c, uint64_t problem);
/* *pd: the first implementation that may be used. */
#if DNNL_VERSION_MAJOR < 3
dnnl_status_t dnn_first_allowed(dnnl_primitive_desc_t *pd, const_dnnl_op_desc_t d,
                                const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                const struct dnn_conv *c, uint64_t problem);
#else
/* Advances pd from oneDNN's first implementation to the first one that may be used. */
dnnl_status_t dnn_next_allowed(dnnl_primitive_desc_t pd, const struct dnn_conv *c,
                               uint64_t problem);
#endif
/* Whether the order of oneDNN's sums depends on the extent of y. */
bool dnn_order_varies(const struct dnn_prim *p, const struct dnn_conv *c);

#endif
