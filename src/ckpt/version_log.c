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

/* A line; neither text is NULL. */
struct said {
	const char *event, *id;
};
typedef void line_visit(void *arg, const struct said *said);

static bool is_event(const struct said *said, enum version_log_event event)
{
	return strcmp(said->event, event_names[event]) == 0;
}

static struct said read_line(struct arena *a, const char *line, size_t n)
{
	struct said said = { "", "" };
	struct json *root;
	if (json_parse(&root, a, VERSION_LOG_FILE, 0, line, n) == 0) {
		const struct json *event = json_find(root, "event"), *id = json_find(root, "id");
		said.event = event ? event->text : "";
		said.id = id ? id->text : "";
	}
	return said;
}

/* Calls visit for each line. What a crash has torn may have zeros in it. A log that is not there,
 * or cannot be read, has none. */
static void each_line(struct disk *d, const char *dir, line_visit *visit, void *arg)
{
	const int mark = err_count();
	char *path = io_join(dir, VERSION_LOG_FILE);
	struct buf text = BUF_INIT;
	if (disk_exists(d, path) && disk_read_file(d, path, &text) < 0)
		text.len = 0;
	for (const char *line = text.data, *end;
	     (end = memchr(line, '\n', (size_t)(text.data + text.len - line))); line = end + 1) {
		struct arena *a = arena_new();
		const struct said said = read_line(a, line, (size_t)(end - line));
		visit(arg, &said);
		arena_free(a);
	}
	err_truncate(mark);
	buf_release(&text);
	mem_free(path);
}

struct search {
	const char *id;
	int n;
};

static void count_failure(void *arg, const struct said *said)
{
	struct search *s = arg;
	if (is_event(said, VERSION_LOG_RESUMED))
		s->n += strcmp(said->id, s->id) == 0;
	else if (is_event(said, VERSION_LOG_SAVED) || is_event(said, VERSION_LOG_ENDED))
		s->n = 0;
}

int version_log_failures(struct disk *d, const char *dir, const char *id)
{
	struct search s = { id, 0 };
	each_line(d, dir, count_failure, &s);
	return s.n;
}

static void count_saved(void *arg, const struct said *said)
{
	struct search *s = arg;
	s->n += is_event(said, VERSION_LOG_SAVED) && (!s->id || strcmp(said->id, s->id) == 0);
}

bool version_log_saved(struct disk *d, const char *dir, const char *id)
{
	struct search s = { id, 0 };
	each_line(d, dir, count_saved, &s);
	return s.n > 0;
}
