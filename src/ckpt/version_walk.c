/* SPDX-License-Identifier: BSD-3-Clause */
#include "ckpt/version_walk.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "ckpt/version_id.h"

static void see(struct disk *d, struct version_seen *v, version_visit *visit, void *arg)
{
	struct arena *a = arena_new();
	struct manifest m;
	const int mark = err_count(), rc = manifest_read(&m, a, d, v->path, v->id);
	if (rc == 0)
		v->m = &m;
	else
		v->damage = err_count() > mark ? err_get(mark)->text : err_name(rc);
	if (rc == 0 || disk_exists(d, v->path))
		visit(arg, v);
	err_truncate(mark);
	arena_free(a);
}

int version_walk(struct disk *d, const char *root, version_visit *visit, void *arg)
{
	char *folder = io_join(root, VERSIONS_FOLDER);
	struct disk_names names;
	const int rc = disk_list(&names, d, folder);
	for (int i = 0; rc == 0 && i < names.n; i++) {
		char id[CKPT_ID];
		if (!version_id_of(id, names.name[i], MANIFEST_SUFFIX))
			continue;
		char *path = io_join(folder, names.name[i]);
		see(d, &(struct version_seen){ .id = id, .path = path }, visit, arg);
		mem_free(path);
	}
	if (rc == 0)
		disk_names_release(&names);
	mem_free(folder);
	return rc;
}
