# SPDX-License-Identifier: BSD-3-Clause
#
# The part of src/report in the one Makefile (Makefile.am).

libdlx_a_SOURCES += src/report/crc32c.c src/report/crc32c.h src/report/csv.c src/report/csv.h \
	src/report/drawing.c src/report/drawing.h src/report/figure.c src/report/figure.h \
	src/report/glyphs.c src/report/glyphs.h \
	src/report/jsonl.c src/report/jsonl.h \
	src/report/netcdf_file.c src/report/netcdf_file.h src/report/npy_file.c \
	src/report/npy_file.h src/report/png.c src/report/png.h \
	src/report/progress.c src/report/progress.h src/report/svg.c src/report/svg.h \
	src/report/tfevents.c src/report/tfevents.h src/report/trace_file.c \
	src/report/trace_file.h src/report/zip_file.c src/report/zip_file.h
