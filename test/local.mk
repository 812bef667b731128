# SPDX-License-Identifier: BSD-3-Clause
#
# Unit tests: cmocka programs, test/unit/test_<module>.c each.

unit_tests = test/unit/test_arena test/unit/test_augment test/unit/test_autodiff test/unit/test_axes test/unit/test_units \
	test/unit/test_bad_model \
	test/unit/test_buckets test/unit/test_buf test/unit/test_chunks test/unit/test_ckpt test/unit/test_ckpt_damage \
	test/unit/test_ckpt_files test/unit/test_ckpt_store test/unit/test_ckpt_tool test/unit/test_comm \
	test/unit/test_commute test/unit/test_conv test/unit/test_conv_bands \
	test/unit/test_copies test/unit/test_cse test/unit/test_dataset_sizes test/unit/test_derivatives \
	test/unit/test_dnn test/unit/test_dnn_quirks test/unit/test_dropout test/unit/test_err \
	test/unit/test_exchange test/unit/test_expr test/unit/test_expr_values test/unit/test_fold test/unit/test_fuse \
	test/unit/test_ensemble test/unit/test_figure test/unit/test_fuse_loss test/unit/test_graph test/unit/test_field test/unit/test_double \
	test/unit/test_half test/unit/test_help test/unit/test_history test/unit/test_host \
	test/unit/test_in_place test/unit/test_intake test/unit/test_masks \
	test/unit/test_io test/unit/test_io_out test/unit/test_json test/unit/test_jsonl test/unit/test_launcher \
	test/unit/test_labels_stored test/unit/test_layout test/unit/test_lbfgs test/unit/test_learning test/unit/test_linkmodel \
	test/unit/test_loader test/unit/test_loader_pieces test/unit/test_loader_take \
	test/unit/test_loader_sizes test/unit/test_loss_scale \
	test/unit/test_losses \
	test/unit/test_memplan test/unit/test_metrics test/unit/test_mixup test/unit/test_model test/unit/test_norm \
	test/unit/test_rank_noise test/unit/test_norm_sync test/unit/test_ops test/unit/test_optim test/unit/test_pace \
	test/unit/test_messages test/unit/test_objectives test/unit/test_order test/unit/test_packs test/unit/test_passes \
	test/unit/test_piece_statistics test/unit/test_plan test/unit/test_png test/unit/test_points \
	test/unit/test_points_config test/unit/test_pieces \
	test/unit/test_pool test/unit/test_precision test/unit/test_prologue test/unit/test_proof_watch \
	test/unit/test_reads test/unit/test_cut test/unit/test_partition test/unit/test_receptive_field \
	test/unit/test_recompute test/unit/test_record test/unit/test_record_chunks \
	test/unit/test_record_codec \
	test/unit/test_reducer test/unit/test_reorder test/unit/test_replay test/unit/test_rewrite \
	test/unit/test_rng test/unit/test_rounded_input test/unit/test_running_statistics \
	test/unit/test_safetensors test/unit/test_sched test/unit/test_schedule test/unit/test_schema test/unit/test_second_stream \
	test/unit/test_signals test/unit/test_signs test/unit/test_slice_adds test/unit/test_slow \
	test/unit/test_sources test/unit/test_staging test/unit/test_step_guard \
	test/unit/test_stored \
	test/unit/test_svg test/unit/test_symmetry test/unit/test_synonym \
	test/unit/test_target_transforms test/unit/test_taskbench \
	test/unit/test_tfevents test/unit/test_tiles test/unit/test_time_limit test/unit/test_trace test/unit/test_train \
	test/unit/test_transform test/unit/test_transform_values test/unit/test_types \
	test/unit/test_updates test/unit/test_verify test/unit/test_views \
	test/unit/test_winograd test/unit/test_wisdom test/unit/test_ytree \
	test/unit/test_zoo_climate test/unit/test_zoo_cosmoflow test/unit/test_zoo_resnet \
	test/unit/test_zoo_tiramisu test/unit/test_zoo_unet3d
if HAVE_KISSFFT
unit_tests += test/unit/test_cosmo test/unit/test_stem
endif
test_unit_test_field_SOURCES = $(field_sources) test/unit/test_field.c
test_unit_test_cosmo_SOURCES = data-tools/make/cosmo/cosmo_field.c data-tools/make/cosmo/cosmo_field.h \
	data-tools/make/cosmo/cosmo_spectrum.c data-tools/make/cosmo/cosmo_spectrum.h data-tools/make/fourier.c \
	data-tools/make/fourier.h test/unit/test_cosmo.c
test_unit_test_cosmo_CFLAGS = $(AM_CFLAGS) $(KISSFFT_CFLAGS)
test_unit_test_cosmo_LDADD = $(LIBS_ALL) $(CMOCKA_LIBS) $(KISSFFT_LIBS)
test_unit_test_stem_SOURCES = $(stem_sources) test/unit/test_stem.c
test_unit_test_stem_CFLAGS = $(AM_CFLAGS) $(KISSFFT_CFLAGS)
test_unit_test_stem_LDADD = $(LIBS_ALL) $(CMOCKA_LIBS) $(KISSFFT_LIBS)
test_unit_test_ckpt_SOURCES = test/unit/test_ckpt.c test/unit/ckpt_fixture.c test/unit/ckpt_fixture.h
test_unit_test_ckpt_damage_SOURCES = test/unit/test_ckpt_damage.c test/unit/ckpt_fixture.c test/unit/ckpt_fixture.h
test_unit_test_ckpt_store_SOURCES = test/unit/test_ckpt_store.c test/unit/ckpt_fixture.c test/unit/ckpt_fixture.h
test_unit_test_ckpt_tool_SOURCES = data-tools/ckpt/ckpt_distance.c data-tools/ckpt/ckpt_distance.h \
	data-tools/ckpt/ckpt_graph.c data-tools/ckpt/ckpt_graph.h data-tools/ckpt/ckpt_where.c \
	data-tools/ckpt/ckpt_where.h test/unit/test_ckpt_tool.c
test_unit_test_chunks_SOURCES = test/unit/test_chunks.c $(data_sources)
test_unit_test_chunks_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
test_unit_test_chunks_CFLAGS = $(AM_CFLAGS) $(source_cflags)
test_unit_test_chunks_LDADD = $(LIBS_ALL) $(CMOCKA_LIBS) $(source_libs)
test_unit_test_loss_scale_SOURCES = test/unit/test_loss_scale.c test/unit/op_case.c test/unit/op_case.h
test_unit_test_losses_SOURCES = test/unit/test_losses.c test/unit/op_case.c test/unit/op_case.h
test_unit_test_norm_sync_SOURCES = test/unit/test_norm_sync.c test/unit/rank_threads.c \
	test/unit/rank_threads.h
test_unit_test_step_guard_SOURCES = test/unit/test_step_guard.c test/unit/op_case.c test/unit/op_case.h
test_unit_test_taskbench_SOURCES = test/unit/test_taskbench.c src/bench/metg_find.c \
	src/bench/metg_find.h $(taskbench_sources)
test_unit_test_taskbench_CFLAGS = $(taskbench_cflags)

# Fuzz targets, here as plain programs over their corpus and mutations of it.
fuzz_tests = test/fuzz/fuzz_ckpt test/fuzz/fuzz_record test/fuzz/fuzz_source test/fuzz/fuzz_store \
	test/fuzz/fuzz_tfrecord test/fuzz/fuzz_yaml test/fuzz/fuzz_zarr
test_fuzz_fuzz_ckpt_SOURCES = test/fuzz/fuzz_ckpt.c test/fuzz/driver.c
test_fuzz_fuzz_ckpt_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_CORPUS='"$(abs_srcdir)/test/fuzz/corpus/ckpt"'
test_fuzz_fuzz_record_SOURCES = test/fuzz/fuzz_record.c test/fuzz/driver.c
test_fuzz_fuzz_record_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_CORPUS='"$(abs_srcdir)/test/fuzz/corpus/record"'
test_fuzz_fuzz_source_SOURCES = test/fuzz/fuzz_source.c test/fuzz/driver.c $(data_sources)
test_fuzz_fuzz_source_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) -DFUZZ_CORPUS='"$(abs_srcdir)/test/fuzz/corpus/source"'
test_fuzz_fuzz_source_CFLAGS = $(AM_CFLAGS) $(source_cflags)
test_fuzz_fuzz_source_LDADD = $(LIBS_ALL) $(source_libs)
test_fuzz_fuzz_store_SOURCES = test/fuzz/fuzz_store.c test/fuzz/driver.c $(crash_sim)
test_fuzz_fuzz_store_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_CORPUS='"$(abs_srcdir)/test/fuzz/corpus/store"'
test_fuzz_fuzz_tfrecord_SOURCES = test/fuzz/fuzz_tfrecord.c test/fuzz/driver.c $(data_sources)
test_fuzz_fuzz_tfrecord_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) -DFUZZ_CORPUS='"$(abs_srcdir)/test/fuzz/corpus/tfrecord"'
test_fuzz_fuzz_tfrecord_CFLAGS = $(AM_CFLAGS) $(source_cflags)
test_fuzz_fuzz_tfrecord_LDADD = $(LIBS_ALL) $(source_libs)
test_fuzz_fuzz_yaml_SOURCES = test/fuzz/fuzz_yaml.c test/fuzz/driver.c
test_fuzz_fuzz_yaml_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_CORPUS='"$(abs_srcdir)/test/fuzz/corpus/yaml"'
test_fuzz_fuzz_zarr_SOURCES = test/fuzz/fuzz_zarr.c test/fuzz/driver.c $(data_sources)
test_fuzz_fuzz_zarr_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) -DFUZZ_CORPUS='"$(abs_srcdir)/test/fuzz/corpus/zarr"'
test_fuzz_fuzz_zarr_CFLAGS = $(AM_CFLAGS) $(source_cflags)
test_fuzz_fuzz_zarr_LDADD = $(LIBS_ALL) $(source_libs)

# Crashes of the checkpoint store on a disk in memory.
crash_tests = test/crash/crash test/crash/test_fork
crash_sim = test/crash/crash_states.c test/crash/crash_states.h test/crash/sim_crash.c \
	test/crash/sim_disk.c test/crash/sim_disk.h test/crash/sim_image.c test/crash/sim_image.h
test_crash_test_fork_SOURCES = test/crash/test_fork.c $(crash_sim)
test_crash_crash_SOURCES = test/crash/crash.c test/crash/crash_parts.h test/crash/part_faults.c \
	test/crash/part_flips.c test/crash/part_states.c test/crash/stories.c test/crash/stories.h \
	test/crash/story.c test/crash/story.h test/crash/story_judge.c test/crash/story_state.c \
	test/crash/story_state.h $(crash_sim)

# Every op from the samples in its record; mutations of every key of every config.
# optest, the longest of them, comes first and in four parts.
optest_parts = test/optest/optest-1.sh test/optest/optest-2.sh test/optest/optest-3.sh \
	test/optest/optest-4.sh
memory_tests = $(optest_parts) $(unit_tests) $(crash_tests) $(fuzz_tests)
gpu_tests = test/gpu/optest_emulated.sh test/gpu/step_emulated.sh test/gpu/signs_emulated.sh \
	test/bench/planned_memory.sh test/gpu/beside_emulated.sh test/gpu/check.sh test/gpu/check_items.sh test/gpu/compiled_emulated.sh \
	test/gpu/cudnn_plans.sh test/gpu/dense_emulated.sh test/gpu/described.sh test/gpu/emulator.sh \
	test/gpu/errors_emulated.sh test/gpu/evaluate_emulated.sh test/gpu/fake_driver.sh \
	test/gpu/injected.sh test/gpu/intake_emulated.sh test/gpu/measured_emulated.sh test/gpu/memory_emulated.sh \
	test/gpu/moved_emulated.sh test/gpu/narrow_emulated.sh \
	test/gpu/profile_emulated.sh test/gpu/proofs_emulated.sh test/gpu/questions_emulated.sh test/gpu/ranks_emulated.sh \
	test/gpu/reproducible_emulated.sh test/gpu/rounded_emulated.sh test/gpu/saved_emulated.sh test/gpu/second_stream_emulated.sh \
	test/gpu/sizes_emulated.sh \
	test/gpu/spatial_emulated.sh test/gpu/stored_emulated.sh test/gpu/sync_batch_norm_emulated.sh test/gpu/targets_emulated.sh \
	test/gpu/ways_emulated.sh test/gpu/wisdom_ranks_emulated.sh
# First those that take long and would otherwise be among the last, when a core is idle.
script_tests = test/train/zoo/pytorch.sh test/train/sync_batch_norm.sh test/train/spatial.sh test/train/spatial_plan.sh test/train/verify_partition.sh test/train/partition_zoo.sh test/train/slurm.sh test/train/ranks_killed.sh \
	test/adversary/short.sh test/bench/checkpoint.sh test/bench/convert_rate.sh test/bench/data.sh \
	test/bench/groups.sh \
	test/bench/accuracy.sh test/bench/messages.sh test/bench/metg.sh test/bench/partition.sh test/bench/predicted.sh test/bench/record_times.sh test/bench/simulate.sh \
	test/bench/startup.sh test/bench/zoo.sh \
	test/cli/bench.sh test/cli/ckpt.sh test/cli/climate.sh test/cli/convert_errors.sh \
	test/cli/convert_lmdb.sh test/cli/convert_made.sh test/cli/convert_resume.sh test/cli/convert_sizes.sh \
	test/cli/convert_split.sh test/cli/convert_tfrecord.sh test/cli/convert_threads.sh \
	test/cli/convert_values.sh test/cli/convert_zarr.sh \
	test/cli/cosmo.sh test/cli/data_agree.sh test/cli/data_mistakes.sh \
	test/cli/debug.sh test/cli/errors.sh test/cli/field.sh test/cli/json_keys.sh test/cli/memory.sh test/cli/memory_map.sh \
	test/cli/memory_peak.sh test/cli/metg.sh test/cli/openmp.sh test/cli/outputs.sh test/cli/plan_memory.sh \
	test/cli/predict.sh test/cli/predict_axes.sh test/cli/predict_files.sh \
	test/cli/predict_flags.sh test/cli/predict_forms.sh test/cli/predict_pictures.sh test/cli/predict_places.sh \
	test/cli/predict_sizes.sh test/cli/predict_targets.sh \
	test/cli/progress.sh test/cli/report.sh test/cli/report_page.sh test/cli/shown.sh test/cli/simulate.sh test/cli/stem.sh test/cli/suggest.sh \
	test/cli/trace.sh test/comm/fetch.sh test/comm/messages.sh test/comm/reduce.sh test/comm/setup.sh \
	test/config/bad.sh test/config/mistakes.sh test/config/mutate.sh test/crash/kills.sh \
	test/docs/examples.sh test/docs/from_pytorch.sh \
	test/docs/small_examples.sh \
	test/golden/plans.sh test/lint/budgets.sh test/lint/circles.sh test/lint/config_man.sh \
	test/lint/dist.sh test/lint/layers.sh test/lint/man.sh test/lint/programs.sh test/lint/rooms.sh test/lint/struct_names.sh \
	test/lint/test_layers.sh test/lint/test_lints.sh test/lint/test_run.sh test/lint/unused_includes.sh \
	test/lint/width.sh \
	test/lint/words.sh test/optest/conv_codes.sh test/release/cuda12.sh test/release/old_cudnn.sh test/release/packages.sh \
	test/train/account.sh test/train/average.sh test/train/batch.sh test/train/best.sh \
	test/train/bf16.sh test/train/blocks.sh test/train/caps.sh test/train/changed.sh test/train/ckpt_failures.sh \
	test/train/compute.sh \
	test/train/ckpt_copies.sh test/train/ckpt_fork.sh test/train/ckpt_local.sh test/train/ckpt_locks.sh \
	test/train/ckpt_plain.sh test/train/ckpt_ranks.sh test/train/ckpt_store.sh \
	test/train/counts.sh test/train/equations.sh test/train/float64.sh test/train/frozen.sh test/train/full_disk.sh test/train/gan.sh test/train/gradient_lag.sh \
	test/train/init_from.sh test/train/labels.sh test/train/late_plans.sh \
	test/train/loss_scale.sh test/train/losses.sh test/train/metrics.sh \
	test/train/metrics_ranks.sh test/train/mistakes.sh test/train/mixup.sh test/train/nonfinite.sh test/train/optimizers.sh \
	test/train/proofs.sh test/train/random_fields.sh test/train/pytorch.sh test/train/ranks.sh test/train/ranks_alike.sh \
	test/train/ranks_bits.sh test/train/ranks_lag.sh \
	test/train/ranks_planned.sh test/train/ranks_rates.sh test/train/ranks_setup.sh \
	test/train/ranks_staging.sh test/train/ranks_trace.sh test/train/recompute.sh \
	test/train/replay.sh test/train/residuals.sh test/train/resume.sh \
	test/train/network_mistakes.sh test/train/several_networks.sh test/train/signal.sh \
	test/train/sizes.sh \
	test/train/skip.sh test/train/slow.sh test/train/sources.sh \
	test/train/staging.sh test/train/streams.sh test/train/sweep.sh test/train/sweep_ranks.sh \
	test/train/targets.sh test/train/tiles.sh test/train/trained_on.sh \
	test/train/transforms.sh \
	test/train/weight_copies.sh test/train/whole_samples.sh \
	test/train/zoo/counts.sh test/unit/test_ckpt_foreign.sh
check_PROGRAMS += test/bench/checkpoint_times test/bench/data_times test/bench/message_times \
	test/bench/record_times \
	test/bench/startup_times \
	test/cli/make_lmdb test/cli/make_sources test/cli/make_store
test_cli_make_lmdb_CFLAGS = $(AM_CFLAGS) $(LMDB_CFLAGS)
test_cli_make_lmdb_LDADD = $(LMDB_LIBS)
test_cli_make_sources_SOURCES = test/cli/make_sources.c test/cli/make_sources.h test/cli/make_missing.c
test_cli_make_sources_CFLAGS = $(AM_CFLAGS) $(NETCDF_CFLAGS) $(HDF5_CFLAGS)
test_cli_make_sources_LDADD = libdlx.a $(NETCDF_LIBS) $(HDF5_LIBS)
check_PROGRAMS += test/comm/messages test/comm/ranks test/config/mutate
# It calls MPI itself.
if HAVE_MPI
check_PROGRAMS += test/bench/all_reduce_times
endif

check_PROGRAMS += test/optest/optest $(unit_tests) $(crash_tests) $(fuzz_tests)
LDADD = $(LIBS_ALL) $(CMOCKA_LIBS)
TESTS = $(memory_tests) $(script_tests) $(gpu_tests)
TEST_EXTENSIONS = .sh
# make itself would make test/bench/zoo, a file of its own, of zoo.sh where that is newer, and a release would have that.
.sh:
	@:
LOG_COMPILER = $(srcdir)/test/run
SH_LOG_COMPILER = $(srcdir)/test/run
# Threads of a test that wait sleep at once: more tests run at a time than there are cores, and one that spins takes the core of another.
AM_TESTS_ENVIRONMENT = DLX_BUILD='$(abs_builddir)'; DLX_SOURCE='$(abs_srcdir)'; CC='$(CC)'; GOMP_SPINCOUNT=0; \
	DLX_SANITIZERS='@enable_sanitizers@'; export DLX_BUILD DLX_SOURCE CC GOMP_SPINCOUNT DLX_SANITIZERS;
# Files, not their folders: where the build is in the source tree's shape, a folder brings its objects and logs along.
adversary = test/adversary/arrays test/adversary/changed test/adversary/checkpoints test/adversary/forged \
	test/adversary/hostile.py test/adversary/kills test/adversary/lmdb test/adversary/netcdf test/adversary/paths test/adversary/pictures \
	test/adversary/ranks test/adversary/records test/adversary/run test/adversary/shapes \
	test/adversary/signals test/adversary/tfrecord test/adversary/yaml \
	test/adversary/zarr
fixtures = test/comm/subjects.h test/unit/arena_fixture.h test/unit/cases.h test/unit/data_fixture.h \
	test/unit/expr_oracle.h test/unit/files.h test/unit/model_net.h test/unit/op_graph.h test/unit/op_run.h \
	test/unit/op_tensors.h test/unit/toy_eval.h test/unit/toy_ops.h test/unit/toy_passes.h test/unit/transform_fixture.h \
	test/unit/volume_net.h test/unit/zoo_image.h
EXTRA_DIST += $(fixtures) $(adversary) $(optest_parts) $(script_tests) $(gpu_tests) configs data-tools/demo/demo.sh \
	data-tools/demo/demo_burgers.sh data-tools/demo/demo_climate.sh data-tools/demo/demo_cosmo.sh data-tools/demo/demo_pigan.sh data-tools/demo/demo_speedup.sh \
	data-tools/demo/demo_stem.sh \
	test/bench/README test/bench/accuracy test/bench/all_reduce test/bench/checkpoint test/bench/convert_rate test/bench/data \
	test/bench/derivatives test/bench/fake_gpu.py test/bench/float64 test/bench/gpu \
	test/bench/groups test/bench/metg test/bench/metg_mpi.c test/bench/metg_openmp.c test/bench/metg_peer.h \
	test/bench/metg_starpu.c test/bench/metg_tbb.cc test/bench/partition test/bench/pigan test/bench/planned_memory test/bench/startup \
	test/bench/zoo test/config/bad test/config/losses test/config/mistakes.txt \
	test/fuzz/corpus \
	test/bench/zoo_table.py test/bench/zoo_turns.py test/bench/zoo_worker.py \
	test/cli/check_coads.py \
	test/cli/check_axes.py test/cli/check_formats.py test/cli/check_csv.py test/cli/check_meet.py test/cli/check_right.py test/cli/netcdf_files.py test/cli/check_pictures.py \
	test/cli/check_lmdb.py test/cli/check_missing.py test/cli/check_tfrecord.py test/cli/check_zarr.py test/cli/climate_values.py \
	test/cli/converted.py test/cli/cosmo_values.py test/cli/field_values.py test/cli/json_keys.py \
	test/cli/made/by_h5py.py test/cli/made/by_netcdf4.py test/cli/made/by_rasterio.py \
	test/cli/made/by_tifffile.py test/cli/made/by_xarray.py test/cli/made/made.py \
	test/cli/made/meetings.py \
	test/cli/dlxrecord.py test/cli/large_samples.py test/cli/netcdf_classic.py \
	test/cli/pictures.py test/cli/places.py test/cli/same_places.py test/cli/stem_values.py test/cli/tfrecord.py test/cli/zarr_files.py test/comm/lib.sh \
	test/golden/graphs test/golden/plans.txt test/gpu/check test/gpu/emulate.cc \
	test/gpu/emulate_device.cc test/gpu/emulate_shared.cc test/gpu/emulate_streams.cc \
	test/gpu/emulator.cc test/gpu/engines test/gpu/lib.sh test/gpu/libraries test/gpu/pack test/gpu/parts \
	test/gpu/start test/lib.sh test/run test/train/float64.py test/train/init_from.py \
	test/train/losses.py test/train/metrics.py \
	test/train/mixup.py test/train/npy_read.py \
	test/train/networks/cosmoflow.py test/train/networks/deepcam.py \
	test/train/networks/deeplab.py test/train/networks/fcn.py test/train/networks/resnet.py \
	test/train/networks/tiramisu.py test/train/networks/unet3d.py test/train/optimizers.py test/train/random_fields.py \
	test/train/pytorch_cases.py test/train/pytorch_compare.py test/train/pytorch_dlx.py \
	test/train/safetensors_read.py test/train/several_networks.py test/train/tiny.yaml test/train/weights_close.py \
	test/train/zoo/cosmoflow-lbann-2020-small.yaml \
	test/train/zoo/cosmoflow-lbann-2023-small.yaml test/train/zoo/cosmoflow-mlperf-small.yaml \
	test/train/zoo/cosmoflow-mlperf-v0.7-small.yaml test/train/zoo/cosmoflow-sc18-small.yaml \
	test/train/zoo/deepcam-mlperf-small.yaml test/train/zoo/deeplabv3+-sc18-small.yaml \
	test/train/zoo/resnet-18-small.yaml test/train/zoo/tiramisu-small.yaml \
	test/train/zoo/unet3d-lits-small.yaml test/train/zoo/zoo_compare.py \
	test/train/targets.py test/train/trained_on.py test/train/transforms.py test/train/kinks.py test/train/zoo/zoo_cases.py \
	test/bench/predicted test/bench/simulate

# What sanitizers watch; the tests of the GPU backend, which need CUDA to be built; all tests in their long forms (`big` in test/lib.sh).
# The first two build the programs that their tests run, no others. check-TESTS by itself builds all of check_PROGRAMS.
memory_programs = test/optest/optest$(EXEEXT) $(unit_tests:=$(EXEEXT)) $(crash_tests:=$(EXEEXT)) $(fuzz_tests:=$(EXEEXT))
gpu_programs = $(bin_PROGRAMS) test/gpu/compare_steps$(EXEEXT) test/gpu/conv_checks$(EXEEXT) test/optest/optest$(EXEEXT)
if HAVE_CUDA
gpu_programs += test/gpu/conv_checks_emulated$(EXEEXT) test/gpu/cudnn_plans$(EXEEXT) test/gpu/emulator$(EXEEXT) \
	test/gpu/optest_emulated$(EXEEXT) test/gpu/train_emulated$(EXEEXT)
endif
check-programs: all
	$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS) $(check_DATA)
check-memory-programs: $(memory_programs)
check-gpu-programs: $(gpu_programs) $(check_DATA)
check-memory: check-memory-programs
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(memory_tests)' check_PROGRAMS= check_DATA=
check-gpu: check-gpu-programs
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(gpu_tests)' check_PROGRAMS= check_DATA=
bigcheck:
	DLX_TIER=big $(MAKE) $(AM_MAKEFLAGS) check
.PHONY: check-programs check-memory-programs check-gpu-programs check-memory check-gpu bigcheck

# The crash tests in their long forms, which print their numbers: crash states, faults, flips, kills.
check-crash: test/crash/crash$(EXEEXT) $(bin_PROGRAMS)
	test/crash/crash -l
	DLX_BUILD='$(abs_builddir)' DLX_SOURCE='$(abs_srcdir)' DLX_TIER=big $(srcdir)/test/crash/kills.sh
.PHONY: check-crash

# Hostile tests for an hour or two: 2000 cases of each class, 2000 of each signal, fewer of those that take seconds a case.
# test/adversary/run says what the lines mean.
adversary: $(bin_PROGRAMS) test/cli/make_lmdb$(EXEEXT) test/cli/make_sources$(EXEEXT)
	DLX_BUILD='$(abs_builddir)' DLX_SOURCE='$(abs_srcdir)' $(srcdir)/test/adversary/run --seed 1 --count 2000 \
		arrays changed:500 checkpoints forged kills lmdb netcdf paths pictures ranks:500 records shapes signals:8000 tfrecord yaml zarr
.PHONY: adversary

# What failed tests leave behind; see test/lib.sh.
clean-local:
	-chmod -R u+w test-work 2>/dev/null
	-rm -rf test-work
