/* SPDX-License-Identifier: BSD-3-Clause
 *
 * config.yaml contains the path of its run's folder, which is no longer right if the folder is
 * moved. */
#include "cli/run_folder.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

#define CONFIG "config.yaml"

static bool holds(const char *folder, const char *name)
{
	char *path = io_join(folder, name);
	bool is = io_exists(path);
	mem_free(path);
	return is;
}

static bool is_set(const struct options *o)
{
	for (int i = 0; i < o->set.n; i++)
		if (strncmp(o->set.v[i], "run.dir=", 8) == 0 || strncmp(o->set.v[i], "run=", 4) == 0)
			return true;
	return false;
}

static int load_folder(struct run_config **out, const struct options *o)
{
	char *path = io_join(o->config, CONFIG);
	int rc;
	if (io_exists(path) || errno == EACCES)
		rc = config_load(out, path, o->set.n, o->set.v);
	else
		rc = ERR(E_NOINPUT, NULL, "'%s' is a folder, but not of a run: it has no " CONFIG,
		         o->config);
	mem_free(path);
	if (rc == 0 && !is_set(o))
		(*out)->run.dir = arena_strdup((*out)->arena, o->config);
	return rc;
}

/* The folder of a config.yaml, in a; NULL if the file has another name. */
static const char *folder_of(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');
	if (strcmp(slash ? slash + 1 : path, CONFIG) != 0)
		return NULL;
	if (!slash)
		return ".";
	return slash == path ? "/" : arena_printf(a, "%.*s", (int)(slash - path), path);
}

static const char *find_moved(struct run_config *c, const struct options *o)
{
	const char *before = c->run.dir;
	const char *folder = folder_of(c->arena, o->config);
	if (!folder || is_set(o) || !holds(folder, "checkpoints") || holds(c->run.dir, "checkpoints"))
		return NULL;
	c->run.dir = folder;
	return before;
}

int run_folder_load(struct run_config **out, const struct options *o, const char **moved)
{
	*moved = NULL;
	if (io_is_folder(o->config))
		return load_folder(out, o);
	TRY(config_load(out, o->config, o->set.n, o->set.v));
	*moved = find_moved(*out, o);
	return 0;
}
