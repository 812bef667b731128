/* SPDX-License-Identifier: BSD-3-Clause */
#include "ckpt/version_walk.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "ckpt/version1.h"
#include "ckpt/version_id.h"

static int read_manifest(struct manifest *m, struct arena *a, struct disk *d,
                         const struct version_seen *v)
{
	struct version1 old;
	if (!v->old)
		return manifest_read(m, a, d, v->path, v->id);
	TRY(version1_look(&old, a, v->path));
	*m = old.m;
	return manifest_check_id(m, v->path, v->id);
}

static void see(struct disk *d, struct version_seen *v, version_visit *visit, void *arg)
{
	struct arena *a = arena_new();
	struct manifest m;
	const int mark = err_count(), rc = read_manifest(&m, a, d, v);
	if (rc == 0)
		v->m = &m;
	else
		v->damage = err_count() > mark ? err_get(mark)->text : err_name(rc);
	if (rc == 0 || disk_exists(d, v->path))
		visit(arg, v);
	err_truncate(mark);
	arena_free(a);
}

static int walk_folder(struct disk *d, const char *folder, bool old, version_visit *visit,
                       void *arg)
{
	struct disk_names names;
	TRY(disk_list(&names, d, folder));
	for (int i = 0; i < names.n; i++) {
		char id[CKPT_ID];
		if (!version_id_of(id, names.name[i], old ? "" : MANIFEST_SUFFIX))
			continue;
		char *path = io_join(folder, names.name[i]);
		see(d, &(struct version_seen){ .id = id, .path = path, .old = old }, visit, arg);
		mem_free(path);
	}
	disk_names_release(&names);
	return 0;
}

int version_walk(struct disk *d, const char *root, const char *old, version_visit *visit,
                 void *arg)
{
	char *folder = io_join(root, VERSIONS_FOLDER);
	const int rc = walk_folder(d, folder, false, visit, arg);
	mem_free(folder);
	TRY(rc);
	return old ? walk_folder(d, old, true, visit, arg) : 0;
}
