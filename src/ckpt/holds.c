/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A hold is a file hold/KIND-NAME@HOST that its process has locked. It is made and locked under a
 * hidden name and renamed then, so that no process finds one that is not locked yet. */
#include "ckpt/holds.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

struct hold {
	struct disk *disk;
	char *folder, *name;           /* of the file */
	enum hold_kind kind;
	int fd;
};

static const char *const kind_prefix[] = { [HOLD_SAVE] = "save-", [HOLD_GC] = "gc-" };

static void put_host(struct buf *out)
{
	char host[256] = "";
	if (gethostname(host, sizeof host - 1) != 0)
		host[0] = '\0';
	for (char *c = host; *c; c++)
		if (*c == '/' || *c == '@')
			*c = '_';
	buf_printf(out, "@%s", host);
}

static int make(struct hold *h)
{
	struct buf hidden = BUF_INIT;
	buf_printf(&hidden, DISK_TMP "%s", h->name);
	char *from = io_join(h->folder, hidden.data), *to = io_join(h->folder, h->name);
	int rc = 0, reason = disk_open(h->disk, &h->fd, from, O_RDWR | O_CREAT);
	if (reason)
		h->fd = -1;
	else {
		h->disk->lock(h->disk, h->fd);   /* without locks its age counts */
		reason = h->disk->rename(h->disk, from, to);
	}
	if (reason) {
		h->disk->unlink(h->disk, from);
		errno = reason;
		rc = io_fail(E_IO, "create", to);
	}
	buf_release(&hidden);
	mem_free(from);
	mem_free(to);
	return rc;
}

int hold_take(struct hold **out, struct disk *d, const char *root, enum hold_kind kind,
              const char *name)
{
	struct hold *h = mem_calloc(1, sizeof *h);
	struct buf file = BUF_INIT;
	buf_printf(&file, "%s%s", kind_prefix[kind], name);
	put_host(&file);
	h->disk = d;
	h->fd = -1;
	h->kind = kind;
	h->folder = io_join(root, HOLD_FOLDER);
	h->name = buf_detach(&file);
	int rc = disk_mkdirs(d, h->folder);
	if (rc == 0)
		rc = make(h);
	*out = rc == 0 ? h : NULL;
	if (rc < 0)
		hold_drop(h);
	return rc;
}

void hold_drop(struct hold *h)
{
	if (!h)
		return;
	if (h->fd >= 0) {
		char *path = io_join(h->folder, h->name);
		h->disk->unlink(h->disk, path);
		h->disk->close(h->disk, h->fd);
		mem_free(path);
	}
	mem_free(h->folder);
	mem_free(h->name);
	mem_free(h);
}

/* Whether this hold was made on this host, so that its lock can be tested here. */
static bool of_this_host(const char *name)
{
	struct buf host = BUF_INIT;
	put_host(&host);
	const bool is = io_ends_in(name, host.data);
	buf_release(&host);
	return is;
}

/* The process that made the hold has ended: its lock is free, or it is too old. */
static bool stale(struct hold *h, const char *name)
{
	struct disk *d = h->disk;
	char *path = io_join(h->folder, name);
	struct disk_stat st;
	int fd = -1, locked = -1;
	bool old = d->stat(d, path, &st) != 0 || d->clock(d) - st.changed > HOLD_AGE;
	if (!old && of_this_host(name) && d->open(d, &fd, path, O_RDWR) == 0) {
		locked = d->lock(d, fd);
		d->close(d, fd);
	}
	mem_free(path);
	return old || locked == 0;
}

static bool of_kind(const char *name, enum hold_kind kind)
{
	return strncmp(name, kind_prefix[kind], strlen(kind_prefix[kind])) == 0;
}

int hold_alone(struct hold *h, bool *alone)
{
	struct disk_names names;
	TRY(disk_list(&names, h->disk, h->folder));
	*alone = true;
	for (int i = 0; i < names.n && *alone; i++) {
		const char *name = names.name[i];
		const bool counts = of_kind(name, HOLD_GC) ||
		                    (h->kind == HOLD_GC && of_kind(name, HOLD_SAVE));
		*alone = !counts || strcmp(name, h->name) == 0 || stale(h, name);
	}
	disk_names_release(&names);
	return 0;
}

/* A hold of the run, or one that was killed before it had its name. */
static bool belongs(const char *name, const char *run)
{
	name += strncmp(name, DISK_TMP, strlen(DISK_TMP)) == 0 ? strlen(DISK_TMP) : 0;
	for (int kind = HOLD_SAVE; kind <= HOLD_GC; kind++)
		if (of_kind(name, kind) &&
		    strncmp(name + strlen(kind_prefix[kind]), run, strlen(run)) == 0)
			return true;
	return false;
}

static bool too_old(struct disk *d, const char *path)
{
	struct disk_stat st;
	return d->stat(d, path, &st) == 0 && d->clock(d) - st.changed > HOLD_AGE;
}

int holds_clear(struct disk *d, const char *root, const char *run)
{
	char *folder = io_join(root, HOLD_FOLDER);
	struct disk_names names;
	int rc = disk_list(&names, d, folder);
	for (int i = 0; i < names.n && rc == 0; i++) {
		char *path = io_join(folder, names.name[i]);
		if ((run && belongs(names.name[i], run)) || too_old(d, path))
			rc = disk_unlink(d, path);
		mem_free(path);
	}
	disk_names_release(&names);
	mem_free(folder);
	return rc;
}
