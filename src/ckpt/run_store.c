/* SPDX-License-Identifier: BSD-3-Clause */
#include "ckpt/run_store.h"

#include <errno.h>
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

/* Whether a folder may be there: ENOENT, ELOOP, ENOTDIR say why none is; else 0. */
static int no_folder(struct disk *d, const char *path)
{
	struct disk_stat st;
	const int reason = d->stat(d, path, &st);
	if (reason == 0)
		return st.folder ? 0 : EEXIST;
	return reason == ENOENT || reason == ELOOP || reason == ENOTDIR ? reason : 0;
}

/* What the store is in place of a folder with versions; NULL: it may be one. */
static const char *state_of(struct disk *d, struct arena *a, const char *store)
{
	switch (no_folder(d, store)) {
	case 0:
		return no_folder(d, arena_printf(a, "%s/" VERSIONS_FOLDER, store)) ?
		       "has no folder '" VERSIONS_FOLDER "'" : NULL;
	case EEXIST:
		return "is a file";
	case ELOOP:
		return "is a loop of symbolic links";
	}
	return "is not there";
}

int run_store_gone(struct disk *d, const struct run_link *link, const char *dir)
{
	struct arena *a = arena_new();
	const char *state = state_of(d, a, link->store);
	const int rc = ERR(E_NOINPUT, NULL, "the run in '%s' has saved checkpoints, but its store '%s' "
	                   "%s; mount it, move it back, or make a symbolic link there; to begin anew "
	                   "choose another run.dir", run_folder_of(a, dir), link->store,
	                   state ? state : "has none of them");
	arena_free(a);
	return rc;
}

int run_store_read(int rc, int mark, struct disk *d, const struct run_link *link, const char *dir)
{
	struct arena *a = arena_new();
	const char *state = rc == E_IO ? state_of(d, a, link->store) : NULL;
	if (state) {
		err_truncate(mark);
		rc = version_log_saved(d, dir, NULL) ? run_store_gone(d, link, dir) :
		     ERR(E_NOINPUT, NULL, "'%s', the store of the run in '%s', %s", link->store,
		         run_folder_of(a, dir), state);
	} else if (rc < 0)
		err_context(rc, "while looking into '%s', the store of the run in '%s'", link->store,
		            run_folder_of(a, dir));
	arena_free(a);
	return rc;
}

int run_store_check(struct disk *d, const struct run_link *link, const char *dir, bool any)
{
	return any || !version_log_saved(d, dir, NULL) ? 0 : run_store_gone(d, link, dir);
}
