# SPDX-License-Identifier: BSD-3-Clause
#
# The part of src/data in the one Makefile (Makefile.am).

libdlx_a_SOURCES += src/data/axes.c src/data/axes.h src/data/axes_agree.c src/data/axes_agree.h \
	src/data/axes_fields_json.c \
	src/data/axes_join.c src/data/axes_json.c src/data/axes_match.c src/data/axes_match.h \
	src/data/axes_parts.h src/data/data_config.c src/data/dataset.c \
	src/data/dataset_counts.c src/data/dataset_files.h src/data/dataset_fit.c src/data/dataset.h \
	src/data/dataset_labels.c src/data/dataset_shared.c src/data/description.c \
	src/data/description.h src/data/description_write.c src/data/draws.c src/data/draws.h \
	src/data/epsg.c src/data/epsg.h \
	src/data/epoch_order.c \
	src/data/epoch_order.h src/data/labels_stored.c \
	src/data/labels_stored.h \
	src/data/loader.c src/data/loader.h src/data/loader_chains.c src/data/loader_further.c src/data/loader_chains.h \
	src/data/loader_jobs.c src/data/loader_windows.c src/data/loader_state.h \
	src/data/mixup.c src/data/mixup.h src/data/points.c src/data/points.h \
	src/data/points_config.c src/data/points_count.c src/data/points_parts.h src/data/points_polygon.c \
	src/data/points_polygon.h src/data/points_record.c src/data/points_region.c src/data/points_samples.c \
	src/data/points_region.h src/data/points_sequence.c src/data/points_sequence.h \
	src/data/points_shape.c \
	src/data/record.c src/data/record.h \
	src/data/record_add.c src/data/record_again.c src/data/record_chunk.c \
	src/data/record_codec.c \
	src/data/record_codec.h \
	src/data/record_cut.c src/data/record_cut.h src/data/record_file.c \
	src/data/record_file.h src/data/record_format.c src/data/record_format.h \
	src/data/record_heads.c src/data/record_heads.h \
	src/data/record_index.c src/data/record_measure.c src/data/record_measure.h \
	src/data/record_sums_body.h \
	src/data/record_open.c src/data/record_piece.c src/data/record_piece.h \
	src/data/record_planes.c src/data/record_planes.h \
	src/data/record_sink.c src/data/record_sink.h \
	src/data/record_write.c src/data/record_writer.h src/data/sources.c src/data/sources.h \
	src/data/staging.c src/data/staging.h src/data/staging_cache.c src/data/staging_cache.h \
	src/data/staging_config.c src/data/staging_files.c src/data/staging_owners.c \
	src/data/staging_read.c src/data/staging_state.h \
	src/data/target_transforms.c src/data/target_transforms.h \
	src/data/units.c src/data/units.h src/data/transform.c src/data/transform.h src/data/transform_channels.c \
	src/data/transform_function.c src/data/transform_jitter.c src/data/transform_place.c \
	src/data/transform_sample.c src/data/transform_space.c src/data/transform_step.h \
	src/data/transform_stored.c src/data/transform_symmetry.c src/data/transform_take.c \
	src/data/transform_value.c src/data/transform_warp.c src/data/transform_warp.h
