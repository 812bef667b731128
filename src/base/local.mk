# SPDX-License-Identifier: BSD-3-Clause
#
# The part of src/base in the one Makefile (Makefile.am).

libdlx_a_SOURCES += src/base/arena.c src/base/arena.h src/base/base64.c src/base/base64.h src/base/buf.c src/base/buf.h \
	src/base/cache_dir.c src/base/cache_dir.h \
	src/base/deadline.h src/base/debug.c src/base/debug.h src/base/debug_read.c src/base/disk.c \
	src/base/disk.h \
	src/base/disk_system.c src/base/ensemble.c src/base/ensemble.h src/base/err.c src/base/err.h \
	src/base/err_print.c src/base/fault.c src/base/fault.h src/base/file_kind.c \
	src/base/file_kind.h src/base/half.c src/base/half.h src/base/hash.c src/base/hash.h \
	src/base/host.c src/base/host.h src/base/intern.c src/base/io.c src/base/io.h \
	src/base/io_dir.c src/base/io_glob.c src/base/io_inputs.c src/base/io_out.c \
	src/base/io_reader.c src/base/io_reader.h src/base/io_scratch.c src/base/isa.c src/base/isa.h src/base/json.c src/base/json.h \
	src/base/launcher.c src/base/launcher.h src/base/library.c src/base/library.h \
	src/base/log.c src/base/log.h src/base/mem.c src/base/mem.h src/base/model_clock.c src/base/model_clock.h src/base/option.c \
	src/base/option.h src/base/pool.c src/base/pool.h src/base/rng.c src/base/rng.h \
	src/base/round.h src/base/shown.c src/base/shown.h src/base/signals.c src/base/signals.h \
	src/base/simd.h src/base/suggest.c src/base/suggest.h src/base/thread.c \
	src/base/thread.h src/base/time_limit.c src/base/time_limit.h src/base/trace.c src/base/trace.h src/base/types.c src/base/types.h \
	src/base/utf8.c src/base/utf8.h
