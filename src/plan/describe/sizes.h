/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bytes and flops as people read them: "1.5 GiB", "23 TFLOP". */
#ifndef DLX_PLAN_SIZES_H
#define DLX_PLAN_SIZES_H

/* Written to buf, of 32 bytes, which is returned. */
const char *bytes_text(double bytes, char *buf);
const char *flops_text(double flops, char *buf);

#endif
