# SPDX-License-Identifier: BSD-3-Clause
#
# The part of src/ckpt in the one Makefile (Makefile.am).

libdlx_a_SOURCES += src/ckpt/ckpt.h src/ckpt/ckpt_config.c src/ckpt/collect.c \
	src/ckpt/collect.h src/ckpt/fork.c src/ckpt/fork.h src/ckpt/history.c src/ckpt/history.h \
	src/ckpt/holds.c src/ckpt/holds.h src/ckpt/manifest.c src/ckpt/manifest.h \
	src/ckpt/pack_format.c src/ckpt/pack_format.h \
	src/ckpt/packs.c src/ckpt/packs.h src/ckpt/plain.c src/ckpt/plain.h src/ckpt/reader.c src/ckpt/refs.c src/ckpt/refs.h \
	src/ckpt/run_claim.c src/ckpt/run_claim.h \
	src/ckpt/run_link.c src/ckpt/run_link.h \
	src/ckpt/run_store.c src/ckpt/run_store.h \
	src/ckpt/safetensors.c src/ckpt/safetensors.h src/ckpt/sealed.c src/ckpt/sealed.h \
	src/ckpt/training_texts.c src/ckpt/training_texts.h \
	src/ckpt/version_id.c src/ckpt/version_id.h \
	src/ckpt/version_list.c src/ckpt/version_list.h src/ckpt/version_log.c \
	src/ckpt/version_log.h src/ckpt/version_walk.c src/ckpt/version_walk.h src/ckpt/writer.c \
	src/ckpt/writer_save.c src/ckpt/writer_state.h
