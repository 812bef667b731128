# SPDX-License-Identifier: BSD-3-Clause
#
# The part of data-tools in the one Makefile (Makefile.am).

bin_PROGRAMS += dlx-ckpt dlx-convert dlx-example dlx-field dlx-inspect dlx-report
if HAVE_KISSFFT
bin_PROGRAMS += dlx-climate dlx-cosmo dlx-stem
endif
data_sources = data-tools/source/declared.c data-tools/source/declared.h data-tools/source/element.c \
	data-tools/source/element.h data-tools/source/hdf5_file.c data-tools/source/hdf5_file.h data-tools/source/hdf5_scale.c \
	data-tools/source/hdf5_scale.h data-tools/source/packed_file.c data-tools/source/packed_file.h \
	data-tools/source/little.h data-tools/source/pixels.c data-tools/source/pixels.h \
	data-tools/source/source.c data-tools/source/source.h data-tools/source/source_box.c data-tools/source/source_hdf5.c \
	data-tools/source/source_csv.c data-tools/source/source_idx.c data-tools/source/source_lmdb.c \
	data-tools/source/source_netcdf.c data-tools/source/source_npy.c data-tools/source/source_place.c \
	data-tools/source/source_png.c \
	data-tools/source/source_stored.c data-tools/source/source_stored.h \
	data-tools/source/source_tfrecord.c \
	data-tools/source/tiff/source_tiff.c data-tools/source/zarr/source_zarr.c \
	data-tools/source/tiff/tiff_beside.c data-tools/source/tiff/tiff_file.c data-tools/source/tiff/tiff_file.h data-tools/source/tiff/tiff_mask.c \
	data-tools/source/tiff/tiff_place.c data-tools/source/tiff/tiff_rows.c data-tools/source/tiff/tiff_stack.c \
	data-tools/source/tiff/tiff_values.c data-tools/source/tiff/xml_tag.c data-tools/source/tiff/xml_tag.h \
	data-tools/source/tf_example.c data-tools/source/tf_example.h data-tools/source/unzip.c data-tools/source/unzip.h \
	data-tools/source/zarr/zarr_array.c \
	data-tools/source/zarr/zarr_array.h data-tools/source/zarr/zarr_codec.c data-tools/source/zarr/zarr_codec.h \
	data-tools/source/zarr/zarr_meta.c data-tools/source/zarr/zarr_meta.h data-tools/source/zarr/zarr_store.c data-tools/source/zarr/zarr_store.h
source_cflags = $(NETCDF_CFLAGS) $(HDF5_CFLAGS) $(ZLIB_CFLAGS) $(ZSTD_CFLAGS) $(TIFF_CFLAGS) \
	$(BLOSC_CFLAGS) $(LMDB_CFLAGS)
source_libs = $(NETCDF_LIBS) $(HDF5_LIBS) $(ZLIB_LIBS) $(ZSTD_LIBS) $(TIFF_LIBS) $(BLOSC_LIBS) \
	$(LMDB_LIBS)
dlx_ckpt_SOURCES = data-tools/ckpt/ckpt.c data-tools/ckpt/ckpt.h data-tools/ckpt/ckpt_change.c \
	data-tools/ckpt/ckpt_chunks.c data-tools/ckpt/ckpt_chunks.h data-tools/ckpt/ckpt_diff.c \
	data-tools/ckpt/ckpt_distance.c data-tools/ckpt/ckpt_distance.h data-tools/ckpt/ckpt_export.c \
	data-tools/ckpt/ckpt_graph.c data-tools/ckpt/ckpt_graph.h data-tools/ckpt/ckpt_import.c \
	data-tools/ckpt/ckpt_log.c data-tools/ckpt/ckpt_origin.c data-tools/ckpt/ckpt_origin.h \
	data-tools/ckpt/ckpt_show.c data-tools/ckpt/ckpt_tool.c data-tools/ckpt/ckpt_verify.c \
	data-tools/ckpt/ckpt_where.c data-tools/ckpt/ckpt_where.h data-tools/report/config_keys.c \
	data-tools/report/config_keys.h data-tools/report/text_table.c data-tools/report/text_table.h $(data_sources)
dlx_ckpt_CFLAGS = $(AM_CFLAGS) $(source_cflags)
dlx_ckpt_LDADD = $(LIBS_TOOLS) $(source_libs)
dlx_convert_SOURCES = data-tools/convert/side/axis_meet.c data-tools/convert/side/axis_meet.h data-tools/convert/side/axis_role.c \
	data-tools/convert/side/axis_role.h data-tools/convert/column.c data-tools/convert/column.h data-tools/convert/column_look.c \
	data-tools/convert/column_values.c data-tools/convert/side/pair.c data-tools/convert/side/pair.h data-tools/convert/side/place_meet.c \
	data-tools/convert/side/place_meet.h data-tools/convert/side/side_meet.c \
	data-tools/source/source_view.c data-tools/source/source_view.h data-tools/convert/side/unit_relation.c data-tools/convert/side/unit_relation.h data-tools/convert/convert.c \
	data-tools/convert/convert.h data-tools/convert/convert_command.c data-tools/convert/convert_command.h data-tools/convert/convert_each.c data-tools/convert/convert_files.c \
	data-tools/convert/convert_files.h data-tools/convert/convert_journal.c data-tools/convert/convert_journal.h \
	data-tools/convert/convert_piece.c data-tools/convert/convert_piece.h \
	data-tools/convert/convert_pipe.c data-tools/convert/convert_pipe.h \
	data-tools/convert/convert_progress.c data-tools/convert/convert_progress.h data-tools/convert/convert_resume.c \
	data-tools/convert/convert_resume.h data-tools/convert/convert_run.c \
	data-tools/convert/convert_split.c \
	data-tools/convert/convert_split.h \
	data-tools/inspect/select.c data-tools/inspect/select.h data-tools/convert/side/side.c data-tools/convert/side/side.h \
	data-tools/convert/side/side_axes.c data-tools/convert/side/side_place.c data-tools/convert/side/side_read.c \
	data-tools/convert/side/side_state.h \
	$(data_sources) data-tools/convert/guard.c data-tools/convert/guard.h data-tools/convert/layout.c \
	data-tools/convert/layout.h data-tools/convert/like.c data-tools/convert/like.h data-tools/convert/target_seen.c data-tools/convert/target_seen.h
dlx_convert_CFLAGS = $(AM_CFLAGS) $(source_cflags) $(UDUNITS_CFLAGS)
dlx_convert_LDADD = $(LIBS_TOOLS) $(source_libs) $(UDUNITS_LIBS)
generator_sources = data-tools/make/generator.c data-tools/make/generator.h \
	data-tools/make/generator_program.c data-tools/make/generator_program.h
dlx_climate_SOURCES = data-tools/make/climate/climate.c data-tools/make/climate/climate_label.c \
	data-tools/make/climate/climate_label.h data-tools/make/climate/climate_sky.c data-tools/make/climate/climate_sky.h \
	data-tools/make/fourier.c data-tools/make/fourier.h $(generator_sources)
dlx_climate_CFLAGS = $(AM_CFLAGS) $(KISSFFT_CFLAGS)
dlx_climate_LDADD = $(LIBS_TOOLS) $(KISSFFT_LIBS)
dlx_cosmo_SOURCES = data-tools/make/cosmo/cosmo.c \
	data-tools/make/cosmo/cosmo_field.c data-tools/make/cosmo/cosmo_field.h data-tools/make/cosmo/cosmo_spectrum.c \
	data-tools/make/cosmo/cosmo_spectrum.h data-tools/make/fourier.c data-tools/make/fourier.h \
	$(generator_sources)
dlx_cosmo_CFLAGS = $(AM_CFLAGS) $(KISSFFT_CFLAGS)
dlx_cosmo_LDADD = $(LIBS_TOOLS) $(KISSFFT_LIBS)
dlx_example_SOURCES = data-tools/make/example/example.c data-tools/make/example/example.h data-tools/make/example/example_digits.c \
	data-tools/make/example/example_fields.c data-tools/make/example/example_materials.c data-tools/make/example/example_shapes.c \
	data-tools/make/example/example_write.c
dlx_example_CFLAGS = $(AM_CFLAGS) $(NETCDF_CFLAGS) $(HDF5_CFLAGS)
dlx_example_LDADD = $(LIBS_TOOLS) $(NETCDF_LIBS) $(HDF5_LIBS)
field_sources = data-tools/make/field/field_allen_cahn.c data-tools/make/field/field_allen_cahn.h \
	data-tools/make/field/field_burgers.c data-tools/make/field/field_burgers.h data-tools/make/field/field_darcy.c \
	data-tools/make/field/field_darcy.h data-tools/make/field/field_fft.c data-tools/make/field/field_fft.h \
	data-tools/make/field/field_gauss.c data-tools/make/field/field_gauss.h data-tools/make/field/field_grid.c \
	data-tools/make/field/field_grid.h data-tools/make/field/field_line.c data-tools/make/field/field_line.h \
	data-tools/make/field/field_torus.c data-tools/make/field/field_torus.h
dlx_field_SOURCES = data-tools/make/field/field.c data-tools/make/field/field_covariance.c \
	data-tools/make/field/field_covariance.h data-tools/make/field/field_elliptic.c data-tools/make/field/field_kinds.h \
	data-tools/make/field/field_permeable.c data-tools/make/field/field_random.c data-tools/make/field/field_realizations.c \
	data-tools/make/field/field_realizations.h data-tools/make/field/field_solution.c $(field_sources) \
	$(generator_sources)
dlx_field_LDADD = $(LIBS_TOOLS)
dlx_inspect_SOURCES = \
	data-tools/inspect/draw.c data-tools/inspect/draw.h data-tools/inspect/inspect.c data-tools/inspect/inspect.h \
	data-tools/inspect/inspect_json.c data-tools/inspect/inspect_text.c \
	data-tools/inspect/select.c data-tools/inspect/select.h
dlx_inspect_LDADD = $(LIBS_TOOLS)
dlx_report_SOURCES = data-tools/report/chart.c data-tools/report/chart.h data-tools/report/config_keys.c \
	data-tools/report/config_keys.h data-tools/report/obstacles.c data-tools/report/obstacles.h data-tools/report/report.c \
	data-tools/report/report.h data-tools/report/figures.h data-tools/report/figures_ranks.c data-tools/report/html.c \
	data-tools/report/html.h data-tools/report/report_page.c data-tools/report/page_pictures.c data-tools/report/page_pictures.h \
	data-tools/report/report_draw.c data-tools/report/report_json.c data-tools/report/report_table.c \
	data-tools/report/run_read.c data-tools/report/runs.c data-tools/report/runs.h data-tools/report/seeds.c \
	data-tools/report/seeds.h data-tools/report/text_table.c data-tools/report/text_table.h
dlx_report_LDADD = $(LIBS_TOOLS)
stem_sources = data-tools/make/fourier.h data-tools/make/stem/stem_atom.c data-tools/make/stem/stem_atom.h \
	data-tools/make/stem/stem_crystal.c data-tools/make/stem/stem_crystal.h data-tools/make/stem/stem_dose.c \
	data-tools/make/stem/stem_dose.h data-tools/make/stem/stem_wave.c data-tools/make/stem/stem_wave.h
dlx_stem_SOURCES = data-tools/make/stem/stem.c $(stem_sources) $(generator_sources)
dlx_stem_CFLAGS = $(AM_CFLAGS) $(KISSFFT_CFLAGS)
dlx_stem_LDADD = $(LIBS_TOOLS) $(KISSFFT_LIBS)
# What the demo measures by.
noinst_PROGRAMS = data-tools/stem_columns
data_tools_stem_columns_SOURCES = data-tools/make/stem/stem_columns.c
data_tools_stem_columns_LDADD = $(LIBS_TOOLS)
dist_man_MANS += man/dlx-report.1
dist_man_MANS += man/dlx-ckpt.1 man/dlx-climate.1 man/dlx-convert.1 man/dlx-cosmo.1 man/dlx-example.1 man/dlx-inspect.1 man/dlx-record.5
dist_man_MANS += man/dlx-field.1 man/dlx-stem.1
