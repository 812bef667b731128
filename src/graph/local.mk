# SPDX-License-Identifier: BSD-3-Clause
#
# The part of src/graph in the one Makefile (Makefile.am).

libdlx_a_SOURCES += src/graph/attr.c src/graph/attr.h src/graph/cost.c src/graph/cost.h \
	src/graph/deps.c src/graph/deps.h src/graph/derive.h src/graph/dump.c src/graph/dump.h \
	src/graph/edit.c src/graph/fingerprint.c src/graph/graph.c src/graph/graph.h \
	src/graph/layout.c src/graph/layout.h src/graph/layout_pack.c src/graph/layout_rule.c \
	src/graph/layout_rule.h src/graph/memcheck.c src/graph/memcheck.h src/graph/memplace.c \
	src/graph/memplace.h src/graph/memplan.c src/graph/memplan.h src/graph/op.h src/graph/picks.h \
	src/graph/verify.c src/graph/verify.h src/graph/view.c src/graph/view.h \
	src/graph/view_check.c
