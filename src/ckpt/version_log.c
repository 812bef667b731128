/* SPDX-License-Identifier: BSD-3-Clause */
#include "ckpt/version_log.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"

static const char *const event_names[] = {
	[VERSION_LOG_SAVED] = "saved", [VERSION_LOG_REMOVED] = "removed",
	[VERSION_LOG_RESUMED] = "resumed", [VERSION_LOG_ENDED] = "ended",
};

/* Whether the file ends within a line. */
static bool is_torn(struct disk *d, const char *path)
{
	const int mark = err_count();
	struct disk_stat st;
	char last = '\n';
	int fd;
	if (disk_exists(d, path) && disk_open_read(d, &fd, path, &st) == 0) {
		if (st.size > 0 && disk_read_at(d, fd, path, st.size - 1, &last, 1) < 0)
			last = '\n';
		d->close(d, fd);
	}
	err_truncate(mark);
	return last != '\n';
}

int version_log_add(struct disk *d, const char *dir, enum version_log_event event, const char *id)
{
	char *path = io_join(dir, VERSION_LOG_FILE);
	struct buf line = BUF_INIT;
	buf_printf(&line, "%s{\"time\": %" PRId64 ", \"event\": \"%s\"", is_torn(d, path) ? "\n" : "",
	           d->clock(d), event_names[event]);
	if (id)
		buf_printf(&line, ", \"id\": \"%s\"", id);
	buf_puts(&line, "}\n");
	int rc = disk_append_file(d, path, line.data, line.len);
	buf_release(&line);
	mem_free(path);
	return rc;
}

/* What a line says; the text of neither is NULL. */
struct said {
	const char *event, *id;
};

static struct said read_line(struct arena *a, const char *line, size_t n)
{
	const int mark = err_count();
	struct said said = { "", "" };
	struct json *root;
	if (json_parse(&root, a, VERSION_LOG_FILE, 0, line, n) == 0) {
		const struct json *event = json_find(root, "event"), *id = json_find(root, "id");
		said.event = event ? event->text : "";
		said.id = id ? id->text : "";
	}
	err_truncate(mark);
	return said;
}

/* What a crash has torn may have zeros in it. */
static int count(const struct buf *text, const char *id)
{
	const char *const last = text->data + text->len;
	int n = 0;
	for (const char *line = text->data, *end;
	     (end = memchr(line, '\n', (size_t)(last - line))); line = end + 1) {
		struct arena *a = arena_new();
		const struct said said = read_line(a, line, (size_t)(end - line));
		if (strcmp(said.event, event_names[VERSION_LOG_RESUMED]) == 0)
			n += strcmp(said.id, id) == 0;
		else if (strcmp(said.event, event_names[VERSION_LOG_SAVED]) == 0 ||
		         strcmp(said.event, event_names[VERSION_LOG_ENDED]) == 0)
			n = 0;
		arena_free(a);
	}
	return n;
}

int version_log_failures(struct disk *d, const char *dir, const char *id)
{
	const int mark = err_count();
	char *path = io_join(dir, VERSION_LOG_FILE);
	struct buf text = BUF_INIT;
	int n = 0;
	if (disk_exists(d, path) && disk_read_file(d, path, &text) == 0)
		n = count(&text, id);
	err_truncate(mark);
	buf_release(&text);
	mem_free(path);
	return n;
}
