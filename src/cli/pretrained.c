/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/pretrained.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/io.h"

static const int depths[] = { 18, 34, 50 };

static const char *first_of(struct arena *a, const char *pattern)
{
	struct io_paths found = { 0 };
	const int mark = err_count();
	const char *path = NULL;
	if (io_expand(&found, pattern) == 0 && found.n)
		path = arena_strdup(a, found.v[0]);
	io_paths_release(&found);
	err_truncate(mark);
	return path;
}

/* Of PyTorch, NULL where there is none. */
static const char *cache(struct arena *a)
{
	const char *torch = getenv("TORCH_HOME"), *user = getenv("XDG_CACHE_HOME"),
	           *home = getenv("HOME");
	if (torch)
		return torch;
	if (user)
		return arena_printf(a, "%s/torch", user);
	return home ? arena_printf(a, "%s/.cache/torch", home) : NULL;
}

bool pretrained_find(struct pretrained *out, struct arena *a)
{
	const char *torch = cache(a);
	for (int where = 0; where < 1 + (torch != NULL); where++)
		for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
			const char *file = where ?
			    arena_printf(a, "%s/hub/checkpoints/resnet%d-*.pth", torch, depths[i]) :
			    arena_printf(a, "resnet%d*.safetensors", depths[i]);

			*out = (struct pretrained){ first_of(a, file), depths[i], !where };
			if (out->file)
				return true;
		}
	return false;
}
