/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Masks of TIFF pages, where 0 means that a point has no value: pages of the file that are masks,
 * or the pages of a file FILE.msk next to it, as GDAL writes them. */
#include "data-tools/source/tiff/tiff_file.h"

#ifdef HAVE_TIFF
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

static int open_mask(struct source *s, const char *variable)
{
	return 0;
}

static void close_mask(struct source *s)
{
	tiff_release(s->handle);
}

static const struct source_format mask_format = { "tiff", NULL, open_mask, pixels_read, close_mask,
                                                 .read_box = pixels_read_box };

static int refuse(const struct source *s, const char *what)
{
	return ERR(E_DATA, NULL, "'%s': tiff: its mask%s; what it says of missing points would be lost",
	           s->path, what);
}

/* Masks have one channel, or, in a file of their own, one for each of the picture's. */
static int check_mask(const struct source *s, const struct source *m)
{
	const struct tiff_file *h = s->handle, *of = m->handle;
	if (of->page.width != h->page.width || of->page.height != h->page.height ||
	    (of->page.channels != 1 && of->page.channels != h->page.channels))
		return refuse(s, " has another size");
	if (of->npages != h->npages)
		return refuse(s, "s are not as many as its pages");
	if (h->stack.naxes > 1)
		return refuse(s, "s are of pages with several axes");
	return m->dtype == DTYPE_U8 ? 0 : refuse(s, " has values of more than 8 bits");
}

static int fill(struct source *s, struct source *m)
{
	struct tiff_file *of = m->handle;
	if (of->npages == 0)
		return 0;
	TRY(check_mask(s, m));
	of->pixels.npages = of->npages > 1;
	of->pixels.page[0] = (struct pixels_axis){ .n = of->npages };
	const int64_t extent[] = { of->npages, of->page.height, of->page.width, of->page.channels };
	return pixels_open(m, extent, false, false);
}

/* apart: the masks are the pages of a file of their own. */
static int try_mask(struct source *s, const char *path, bool apart)
{
	struct tiff_file *h = s->handle, *of = mem_calloc(1, sizeof *of);
	struct source *m = mem_calloc(1, sizeof *m);
	m->format = &mask_format;
	m->path = mem_strdup(path);
	m->scale = 1;
	m->numbers = true;
	m->handle = of;
	of->masks = !apart;
	h->mask = m;
	TRY(tiff_open(m, of));
	TRY(fill(s, m));
	s->masked = of->npages > 0;
	if (!s->masked) {
		source_close(m);
		h->mask = NULL;
	}
	return 0;
}

int tiff_mask_open(struct source *s)
{
	struct buf path = BUF_INIT;
	const struct tiff_file *h = s->handle;
	int rc = h->nmasks ? try_mask(s, s->path, false) : 0;
	buf_printf(&path, "%s.msk", s->path);
	if (rc == 0 && !s->masked && io_exists(path.data))
		rc = try_mask(s, path.data, true);
	buf_release(&path);
	return rc;
}

int tiff_mask_read(struct source *s, const int64_t *start, const int64_t *count, uint8_t *valid)
{
	const struct tiff_file *h = s->handle;
	struct source *m = h->mask;
	const int places = s->pages + 2;
	const int64_t channels = s->shape.nd > places ? count[places] : 1;
	const bool each = m->shape.nd > places && s->shape.nd > places;
	int64_t from[MAXD] = { 0 }, n[MAXD] = { 0 }, points = 1;

	for (int i = 0; i < m->shape.nd; i++) {
		from[i] = i < places || each ? start[i] : 0;
		n[i] = i < places || each ? count[i] : 1;
		points *= n[i];
	}
	TRY(source_read_box(m, from, n, valid));
	for (int64_t i = points - 1; i >= 0; i--)
		memset(valid + i * (each ? 1 : channels), valid[i] != 0, (size_t)(each ? 1 : channels));
	return 0;
}
#endif
