/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the checkpoint tests: a small state whose every value depends on the step, a folder of
 * their own, and running this program again as a child that saves. */
#ifndef DLX_TEST_CKPT_FIXTURE_H
#define DLX_TEST_CKPT_FIXTURE_H

#include "ckpt/ckpt.h"

#define FIXTURE_TENSORS 5
#define FIXTURE_SCALARS 3

struct fixture {
	struct ckpt_state state;
	struct ckpt_tensor tensor[FIXTURE_TENSORS];
	struct ckpt_scalar scalar[FIXTURE_SCALARS];
	float weight[2 * 3 * 3], mean[7];
	double bias[3];
	uint16_t half[5];
	char text[2][32];
};

/* The state of a step; f must not move. */
void fixture_make(struct fixture *f, int64_t step);
/* Whether v is exactly the state of its step. */
bool fixture_equal(const struct ckpt_version *v);

/* For cmocka: *dir is a new folder; it is removed, and the record of errors cleared. */
int fixture_setup(void **dir);
int fixture_teardown(void **dir);
/* A new folder, removed by fixture_remove. */
char *fixture_dir(void);
void fixture_remove(char *dir);
char *fixture_path(const char *dir, const char *id, const char *file);   /* id, file may be NULL */

/* Opens the store, saves the state of each step first..last, closes it. The first error ends it. */
int fixture_save(const char *dir, int64_t first, int64_t last, int64_t keep);
/* The ids of dir, sorted, at most max; returns how many there are. */
int fixture_ids(const char *dir, char (*id)[64], int max);
/* Temporary files in the store, and what saves and removals under way leave in hold/. */
int fixture_leftovers(const char *dir);
int fixture_packs(const char *dir);            /* how many there are */
/* The path of a version's manifest, and of the pack that the save of a step wrote; mem_free. */
char *fixture_manifest(const char *dir, const char *id);
char *fixture_pack(const char *dir, int64_t step);

/* Runs this program anew as `PROGRAM save DIR STEP` with DLX_DEBUG=switches; returns the wait
 * status. main must call fixture_child first, which does not return in a child. */
int fixture_spawn(const char *dir, int64_t step, const char *switches);
void fixture_child(int argc, char **argv);

#endif
