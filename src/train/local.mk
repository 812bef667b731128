# SPDX-License-Identifier: BSD-3-Clause
#
# The part of src/train in the one Makefile (Makefile.am).

libdlx_a_SOURCES += src/train/diagnose/account.c src/train/diagnose/account.h src/train/run/balance.c \
	src/train/run/balance.h src/train/run/batches.c \
	src/train/run/batches.h src/train/diagnose/bench.c src/train/diagnose/bench.h src/train/diagnose/bench_op.c \
	src/train/run/changes.c src/train/run/changes.h src/train/run/compute.c \
	src/train/run/compute.h src/train/predict/confusion.c \
	src/train/predict/confusion.h src/train/run/data_rates.c src/train/run/data_rates.h \
	src/train/run/deferred_plans.c src/train/run/deferred_plans.h src/train/diagnose/diverged.c \
	src/train/diagnose/diverged.h src/train/run/engines.c src/train/run/engines.h src/train/run/equations.c src/train/run/equations.h src/train/predict/evaluate.c \
	src/train/predict/evaluate.h src/train/predict/evaluate_text.c src/train/save/interop.c src/train/save/interop.h \
	src/train/diagnose/finding.c src/train/diagnose/finding.h \
	src/train/diagnose/gpu_failure.c src/train/diagnose/gpu_failure.h src/train/save/job_end.c \
	src/train/save/job_end.h src/train/save/journal.c src/train/save/journal.h \
	src/train/diagnose/left_out.c src/train/diagnose/left_out.h src/train/predict/legend.c src/train/predict/legend.h \
	src/train/save/levels.c src/train/save/levels.h src/train/run/loop.c \
	src/train/diagnose/kernel_check.c src/train/diagnose/kernel_check.h \
	src/train/diagnose/look.c src/train/diagnose/look.h \
	src/train/run/loop.h src/train/run/loop_begin.c src/train/save/loop_save.c src/train/run/loop_state.h \
	src/train/run/loop_step.c \
	src/train/diagnose/mistakes.c src/train/diagnose/mistakes.h \
	src/train/run/micro_rows.c src/train/run/micro_rows.h src/train/diagnose/nonfinite.c \
	src/train/diagnose/nonfinite.h src/train/run/open_data.c \
	src/train/run/open_data.h src/train/run/open_loaders.c src/train/run/open_loaders.h src/train/run/opening.c src/train/run/opening.h src/train/run/pace.c \
	src/train/run/pace.h src/train/predict/picture_names.c src/train/predict/picture_names.h src/train/predict/predict.c src/train/predict/predict.h src/train/predict/predict_as.c \
	src/train/predict/predict_as.h src/train/predict/predict_table.c src/train/predict/predict_table.h \
	src/train/predict/predict_array.c src/train/predict/predict_array.h src/train/predict/predict_grid.c \
	src/train/predict/predicted_fields.c src/train/predict/predicted_fields.h src/train/predict/predicted_figure.c src/train/predict/places.c src/train/predict/places.h \
	src/train/predict/networks_at.c src/train/predict/networks_at.h src/train/predict/noise_at.c src/train/predict/noise_at.h \
	src/train/predict/samples_at.c src/train/predict/samples_at.h src/train/predict/predict_request.c \
	src/train/predict/predict_request.h src/train/predict/predict_sampled.c src/train/predict/predict_sampled.h src/train/predict/known.c src/train/predict/known.h \
	src/train/predict/predict_input.c \
	src/train/predict/predict_input.h src/train/predict/convert_program.c src/train/predict/convert_program.h \
	src/train/predict/predict_tiles.c src/train/run/ranks.c \
	src/train/run/ranks.h src/train/run/rates.c src/train/run/rates.h src/train/save/replicas.c \
	src/train/save/replay_versions.c src/train/save/replay_versions.h src/train/save/replicas.h \
	src/train/diagnose/rerun.c src/train/diagnose/rerun.h src/train/run/resample.c src/train/run/resample.h \
	src/train/run/rounded_batch.c src/train/run/rounded_batch.h \
	src/train/run/search.c src/train/run/search.h src/train/save/shared_read.c src/train/save/shared_read.h \
	src/train/save/slabs.c src/train/save/slabs.h \
	src/train/diagnose/slow.c src/train/save/snapshot.c src/train/save/snapshot.h \
	src/train/diagnose/slow.h src/train/diagnose/slow_watch.c src/train/diagnose/slow_watch.h src/train/diagnose/spread.c \
	src/train/diagnose/spread.h src/train/save/state.c src/train/save/state.h src/train/run/synthetic.c \
	src/train/run/synthetic.h src/train/run/target.c src/train/run/target.h src/train/diagnose/trained_on.c \
	src/train/diagnose/trained_on.h src/train/run/validations.c src/train/run/validations.h \
	src/train/diagnose/verify_nodes.c src/train/diagnose/verify_nodes.h \
	src/train/diagnose/verify_partition.c src/train/diagnose/verify_partition.h \
	src/train/diagnose/verify_batch.c src/train/diagnose/verify_batch.h \
	src/train/diagnose/verify_run.c src/train/diagnose/verify_run.h \
	src/train/diagnose/verify_size.c src/train/diagnose/verify_size.h
