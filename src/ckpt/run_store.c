/* SPDX-License-Identifier: BSD-3-Clause */
#include "ckpt/run_store.h"

#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "ckpt/manifest.h"
#include "ckpt/version_log.h"

const char *run_folder_of(struct arena *a, const char *dir)
{
	static const char end[] = "/checkpoints";
	const size_t n = strlen(dir);
	return io_ends_in(dir, end) ? arena_printf(a, "%.*s", (int)(n - strlen(end)), dir) : dir;
}

/* What is wrong with the store. */
static const char *state_of(struct disk *d, struct arena *a, const char *store)
{
	if (!disk_exists(d, store))
		return "is not there";
	if (!disk_exists(d, arena_printf(a, "%s/" VERSIONS_FOLDER, store)))
		return "has no '" VERSIONS_FOLDER "'";
	return "has none of them";
}

int run_store_gone(struct disk *d, const struct run_link *link, const char *dir)
{
	struct arena *a = arena_new();
	const int rc = ERR(E_NOINPUT, NULL, "the run in '%s' has saved checkpoints, but its store '%s' "
	                   "%s; mount it, move it back, or make a symbolic link there; to begin anew "
	                   "choose another run.dir", run_folder_of(a, dir), link->store,
	                   state_of(d, a, link->store));
	arena_free(a);
	return rc;
}

int run_store_check(struct disk *d, const struct run_link *link, const char *dir, bool any)
{
	return any || !version_log_saved(d, dir, NULL) ? 0 : run_store_gone(d, link, dir);
}
