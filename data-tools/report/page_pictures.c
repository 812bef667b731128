/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Looked for in the folder of a run and in the folders in it, but not among its checkpoints. */
#include "data-tools/report/page_pictures.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/mem.h"
#include "data-tools/report/html.h"

#define MOST 6                   /* pictures of a run */
#define MOST_OF_PAGE 48

static int is_shown(const struct dirent *d)
{
	return d->d_name[0] != '.' && strcmp(d->d_name, "checkpoints") != 0;
}

static bool is_picture(const char *name)
{
	return io_ends_in(name, ".png") || io_ends_in(name, ".svg");
}

/* In the order of names. name: of the folder, for the caption. */
static int put_folder(struct buf *b, const char *dir, const char *name, int most, bool deeper)
{
	struct dirent **all = NULL;
	const int count = scandir(dir, &all, is_shown, alphasort);
	int n = 0;
	for (int i = 0; i < count; i++) {
		char *path = io_join(dir, all[i]->d_name);
		struct buf caption = BUF_INIT;
		buf_printf(&caption, "%s/%s", name, all[i]->d_name);
		if (n < most && is_picture(path))
			n += html_picture(b, path, caption.data);
		else if (n < most && deeper && io_is_folder(path))
			n += put_folder(b, path, caption.data, most - n, false);
		buf_release(&caption);
		mem_free(path);
		free(all[i]);
	}
	free(all);
	return n;
}

int page_pictures(struct buf *b, const struct report *o)
{
	int n = 0;
	for (int i = 0; i < o->n && n < MOST_OF_PAGE; i++) {
		struct buf row = BUF_INIT;
		const int more = put_folder(&row, o->run[i].dir, o->run[i].dir, MOST, true);
		if (more)
			buf_printf(b, "<div class=\"row\">\n%s</div>\n", row.data);
		n += more;
		buf_release(&row);
	}
	return n;
}
