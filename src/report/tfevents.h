/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scalars for TensorBoard: an events.out.tfevents.* file, written by hand.
 *
 *   file   = record...                                   TFRecord framing, little-endian
 *   record = u64 length, u32 crc(length), length bytes, u32 crc(bytes)        crc: masked CRC-32C
 *   bytes  = protobuf Event {1: double wall_time, 2: int64 step,
 *                            3: string file_version | 5: Summary | 7: SessionLog}
 *   Summary    = {1: Value {1: string tag, 2: float simple_value}}
 *   SessionLog = {1: status, START = 1}: TensorBoard then forgets what earlier files say of this
 *                step and later ones, which a resumed run repeats. */
#ifndef DLX_REPORT_TFEVENTS_H
#define DLX_REPORT_TFEVENTS_H

#include <stdint.h>

struct tfevents;

#define TFEVENTS_FRESH (-1)

/* Creates a file in dir, named by time, host and process as TensorBoard expects. resume_step: the
 * last step of an earlier process that is kept, or TFEVENTS_FRESH. E_CANTCREATE, E_IO. */
int tfevents_open(struct tfevents **out, const char *dir, int64_t resume_step);
void tfevents_close(struct tfevents *t);      /* NULL is fine */
/* Appends one value; visible to readers on return. Allocates nothing once its buffers have grown.
 * E_IO. */
int tfevents_scalar(struct tfevents *t, int64_t step, const char *tag, double value);
const char *tfevents_path(const struct tfevents *t);      /* for tests */

#endif
