/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The folder as the XDG Base Directory Specification has it. */
#include "base/cache_dir.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

/* The specification has relative paths ignored. */
static const char *absolute(const char *variable)
{
	const char *path = getenv(variable);
	return path && path[0] == '/' ? path : NULL;
}

/* Folder by folder; others than their user may not read what is made, as the specification has it.
 * What cannot be made is found by access. */
static void make_folders(char *path)
{
	for (char *p = path; (p = strchr(p + 1, '/')) != NULL;) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
	mkdir(path, 0700);
}

int cache_dir(struct buf *out)
{
	const char *cache = absolute("XDG_CACHE_HOME"), *home = absolute("HOME");
	const size_t from = out->len;
	struct stat st;
	if (!cache && !home)
		return ERR(E_UNAVAILABLE, NULL, "no folder for a cache: neither XDG_CACHE_HOME nor HOME is "
		           "an absolute path");
	buf_printf(out, "%s%s", cache ? cache : home, cache ? "/dlx" : "/.cache/dlx");
	const char *path = out->data + from;
	make_folders(out->data + from);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) && access(path, W_OK | X_OK) == 0)
		return 0;
	int rc = ERR(E_UNAVAILABLE, NULL, "no folder for a cache: '%s' cannot be written", path);
	out->len = from;
	out->data[from] = '\0';
	return rc;
}
