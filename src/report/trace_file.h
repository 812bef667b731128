/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The record of base/trace.h as a file of trace events, which Perfetto (ui.perfetto.dev) and
 * chrome://tracing show as lanes along time: JSON, complete events ("ph": "X") with times in
 * microseconds. */
#ifndef DLX_REPORT_TRACE_FILE_H
#define DLX_REPORT_TRACE_FILE_H

/* Ends recording and writes what there is; the file is there whole or not at all. process: the name
 * of the process, such as the run's; rank: its number; begin: io_seconds of time 0. E_CANTCREATE,
 * E_IO. */
int trace_file_write(const char *path, const char *process, int rank, double begin);

#endif
