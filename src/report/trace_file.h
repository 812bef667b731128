/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes the events recorded by base/trace.h as a trace file that Perfetto (ui.perfetto.dev) and
 * chrome://tracing display as timelines: JSON, complete events ("ph": "X") with times in
 * microseconds. */
#ifndef DLX_REPORT_TRACE_FILE_H
#define DLX_REPORT_TRACE_FILE_H

/* Ends the recording and writes the file, completely or not at all. process: a name for the
 * process, such as that of the run. rank: its number. begin: the value of io_seconds at time 0.
 * E_CANTCREATE, E_IO. */
int trace_file_write(const char *path, const char *process, int rank, double begin);

#endif
