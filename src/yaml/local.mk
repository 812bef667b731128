# SPDX-License-Identifier: BSD-3-Clause
#
# The part of src/yaml in the one Makefile (Makefile.am).

libdlx_a_SOURCES += src/yaml/bracket.c src/yaml/bracket.h src/yaml/help.c \
	src/yaml/help.h src/yaml/help_mdoc.c src/yaml/help_overview.c src/yaml/help_type.c \
	src/yaml/help_type.h src/yaml/help_walk.c src/yaml/help_walk.h \
	src/yaml/schema.h src/yaml/schema_mistake.c src/yaml/schema_mistake.h \
	src/yaml/schema_read.c src/yaml/schema_units.c src/yaml/schema_units.h \
	src/yaml/schema_value.c src/yaml/schema_value.h src/yaml/schema_where.c \
	src/yaml/schema_where.h src/yaml/schema_write.c \
	src/yaml/synonym.c src/yaml/synonym.h src/yaml/synonym_learning.c src/yaml/synonym_model.c src/yaml/synonym_table.c src/yaml/yscalar.c \
	src/yaml/ytree.c src/yaml/ytree.h src/yaml/ytree_parse.h src/yaml/ytree_place.c \
	src/yaml/ytree_set.c \
	src/yaml/ytree_write.c
