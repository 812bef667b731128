/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Converts between dlx's layouts and oneDNN's memory descriptors, for dnn.c. Differences between
 * the two versions of the C API stay in dnn_md.c, except for how a descriptor is passed
 * (DNN_MD). */
#ifndef DLX_BACKEND_DNN_DNN_MD_H
#define DLX_BACKEND_DNN_DNN_MD_H

#include <dnnl.h>

#include "base/types.h"
#include "graph/layout.h"

struct dnn_md {
	dnnl_memory_desc_t d;
};
#if DNNL_VERSION_MAJOR < 3
#define DNN_MD(m) (&(m)->d)
typedef const dnnl_memory_desc_t *dnn_md_given;
#else
#define DNN_MD(m) ((m)->d)
typedef const_dnnl_memory_desc_t dnn_md_given;
#endif

dnnl_data_type_t dnn_type(enum dtype t);         /* dnnl_data_type_undef: oneDNN has none */
/* The descriptor of a tensor of these dims in layout l; l NULL: oneDNN chooses the layout. */
dnnl_status_t dnn_md_init(struct dnn_md *m, int nd, const dnnl_dim_t *dims, enum dtype t,
                          const struct layout *l);
dnnl_status_t dnn_md_strided(struct dnn_md *m, int nd, const dnnl_dim_t *dims, dnnl_data_type_t t,
                             const dnnl_dim_t *stride);
dnnl_status_t dnn_md_dense(struct dnn_md *m, dnnl_dim_t n);      /* a vector in f32 */
void dnn_md_release(struct dnn_md *m);           /* a zeroed one is fine */
/* E_UNSUPPORTED if struct layout cannot say it. */
int dnn_md_layout(dnn_md_given d, struct layout *out);

#endif
