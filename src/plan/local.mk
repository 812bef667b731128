# SPDX-License-Identifier: BSD-3-Clause
#
# The part of src/plan in the one Makefile (Makefile.am).

libdlx_a_SOURCES += src/plan/sums/buckets.c src/plan/sums/buckets.h src/plan/config.c src/plan/config.h src/plan/config_load.c \
	src/plan/describe/describe.c src/plan/describe/describe.h src/plan/describe/describe_budget.c \
	src/plan/describe/describe_budget.h src/plan/describe/describe_parts.h src/plan/describe/describe_physics.c src/plan/describe/describe_ranks.c \
	src/plan/describe/describe_seen.c src/plan/describe/describe_seen.h src/plan/describe/describe_sources.c \
	src/plan/describe/describe_sources.h src/plan/describe/describe_spatial.c \
	src/plan/describe/describe_spatial.h src/plan/describe/describe_time.c \
	src/plan/extent/field.c src/plan/extent/field.h src/plan/extent/tile_size.c \
	src/plan/extent/tile_size.h src/plan/extent/tiles.c src/plan/extent/tiles.h \
	src/plan/extent/whole.c src/plan/extent/whole.h \
	src/plan/guard.c src/plan/guard.h src/plan/memory/memory.c \
	src/plan/memory/memory.h src/plan/memory/memory_advice.c src/plan/memory/memory_advice.h \
	src/plan/memory/memory_budget.c src/plan/memory/memory_budget.h src/plan/describe/memory_map.c \
	src/plan/describe/memory_map.h src/plan/describe/memory_map_svg.c src/plan/describe/memory_map_text.c \
	src/plan/memory/memory_sweep.c src/plan/memory/memory_sweep.h src/plan/sums/messages.c src/plan/sums/messages.h \
	src/plan/sums/micro_sums.c \
	src/plan/sums/micro_sums.h src/plan/sums/micro_tree.c src/plan/sums/micro_tree.h \
	src/plan/batch/mixed_loss.c src/plan/batch/mixed_loss.h src/plan/objective.c src/plan/objective.h src/plan/physics/physics.h src/plan/physics/physics_emit.c src/plan/physics/physics_evaluated.c src/plan/physics/physics_objectives.c src/plan/physics/physics_objectives.h src/plan/physics/physics_read.c src/plan/physics/physics_scope.c src/plan/physics/physics_shapes.c src/plan/physics/physics_variables.c src/plan/physics/physics_variables.h src/plan/compilation.h src/plan/plan.c src/plan/plan_plain.c src/plan/plan_update.c \
	src/plan/sums/roles.c src/plan/sums/roles.h \
	src/plan/plan.h src/plan/batch/plan_feed.c src/plan/memory/plan_memory.c src/plan/memory/plan_memory.h src/plan/batch/port.c src/plan/batch/port.h src/plan/time/profile.c \
	src/plan/time/profile.h src/plan/program.c src/plan/program.h src/plan/time/proofs.c src/plan/time/proofs.h src/plan/sums/rank_grid.c src/plan/sums/rank_grid.h src/plan/sums/reduction.c \
	src/plan/sums/reduction.h src/plan/memory/run_need.c src/plan/memory/run_need.h src/plan/batch/scaled_target.c src/plan/batch/scaled_target.h \
	src/plan/session.c src/plan/session.h src/plan/describe/sizes.c \
	src/plan/describe/sizes.h src/plan/sums/step_mean.c src/plan/sums/step_mean.h src/plan/time/step_time.c \
	src/plan/time/step_time.h src/plan/batch/stored_batch.c src/plan/batch/stored_batch.h \
	src/plan/spatial/plan_cut.c src/plan/spatial/plan_cut.h src/plan/spatial/spatial.c \
	src/plan/spatial/spatial.h src/plan/spatial/spatial_auto.c src/plan/spatial/spatial_auto.h src/plan/sums/sync_group.c src/plan/sums/sync_group.h src/plan/sums/sync_reducer.c \
	src/plan/sums/sync_reducer.h \
	src/plan/time/cluster.c src/plan/time/cluster.h src/plan/time/rank_noise.c src/plan/time/rank_noise.h \
	src/plan/time/op_times.c src/plan/time/op_times.h src/plan/time/trials.c src/plan/time/trials.h
