/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlopen with error messages that name a remedy. */
#include "base/library.h"

#include <dlfcn.h>

#include "base/err.h"

int library_open(const char *file, const char *what, const struct library_function *f, size_t n)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return ERR(E_UNAVAILABLE, NULL, "%s cannot be loaded: %s; install it or name its folder in "
		           "LD_LIBRARY_PATH", what, dlerror());
	for (size_t i = 0; i < n; i++) {
		*f[i].pointer = dlsym(library, f[i].name);
		if (!*f[i].pointer)
			return ERR(E_UNAVAILABLE, NULL, "'%s' has no function '%s'; %s is needed", file,
			           f[i].name, what);
	}
	return 0;
}

void library_keep(const char *file)
{
	dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

void *library_find(const char *file, const char *name)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD), *found;
	if (!library)
		return NULL;
	found = dlsym(library, name);
	dlclose(library);
	return found;
}
