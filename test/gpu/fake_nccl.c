/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NCCL for the emulation: ranks are processes of this machine that meet in shared memory, which an
 * id names. A sum is work of the emulated stream: it requests its turn again and again while the
 * GPU does other things. What NCCL would refuse or hang upon ends with a word: two ranks on one
 * GPU, sums of different sizes or in different orders, sums that are recorded on one rank and not
 * on another, or in another recording. As in the library, communicators are neither destroyed nor
 * aborted before all recordings of theirs are gone.
 *
 * DLX_FAKE_NCCL_VERSION=23003 is another version.
 * DLX_FAKE_NCCL=KIND:N lets this rank fail at its Nth sum: hang (it never comes), error (NCCL says
 * that something is wrong), die and stop (the process does), or join:0 (it never joins). A line on
 * standard error says when. */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/half.h"
#include "comm/nccl_library.h"

void emulate_submit_waiting(void *stream, int (*run)(void *), void *argument);
int emulate_gpu(void);
int emulate_records(void *stream);
long emulate_recordings(void);

#define RANKS 16
#define PART 16384             /* numbers of each rank at a time */
#define MAIL 1024              /* floats on their way from one rank to another */

/* From one rank to another. */
struct mail {
	_Atomic uint64_t given, taken;
	_Atomic size_t total;        /* of the message */
	_Atomic int recorded;        /* as of a sum */
	float value[MAIL];
};

struct shared {
	_Atomic int come, gone;
	_Atomic int gpu[RANKS];
	_Atomic uint64_t given[RANKS], taken[RANKS];       /* parts so far */
	_Atomic size_t count[RANKS];                       /* of the sum under way */
	_Atomic int type[RANKS];
	_Atomic int recorded[RANKS];                       /* which of those that were
	                                                    * recorded; 0: none of them */
	double value[RANKS][PART];
	struct mail mail[RANKS][RANKS];      /* from, to */
};

struct ncclComm {
	int rank, size;
	struct shared *at;
	_Atomic ncclResult_t error;
	_Atomic bool aborted;
	uint64_t part;               /* parts that this rank took */
	size_t done;                 /* elements of the sum under way */
	bool begun, given, hangs;
	int sums, recorded;          /* so far */
};

/* Messages that are one work of a stream. */
struct message {
	bool sent;
	int peer;
	float *p;
	size_t count, done;
};
struct group {
	struct ncclComm *comm;
	int n, recorded;
	struct message message[2 * RANKS];
};
static struct group *open_group;
static cudaStream_t group_stream;

struct sum {
	struct ncclComm *comm;
	char *p;
	size_t count;
	ncclDataType_t type;
	int recorded;
};

/* Whether it is time for this fault. */
static bool fault(const char *kind, int number)
{
	const char *text = getenv("DLX_FAKE_NCCL");
	size_t n = strlen(kind);
	if (!text || strncmp(text, kind, n) != 0 || text[n] != ':' || atoi(text + n + 1) != number)
		return false;
	fprintf(stderr, "fake NCCL: %s\n", text);
	return true;
}

static double load(const struct sum *s, size_t i)
{
	const uint16_t *h = (const void *)s->p;
	float v = 0;
	if (s->type == ncclFloat64)
		return ((const double *)(const void *)s->p)[i];
	if (s->type == ncclFloat32)
		return ((const float *)(const void *)s->p)[i];
	if (s->type == ncclBfloat16)
		bfloat_to_floats(&v, h + i, 1);
	else
		half_to_floats(&v, h + i, 1);
	return v;
}

static void store(const struct sum *s, size_t i, double sum)
{
	uint16_t *h = (void *)s->p;
	float v = (float)sum;
	if (s->type == ncclFloat64)
		((double *)(void *)s->p)[i] = sum;
	else if (s->type == ncclFloat32)
		((float *)(void *)s->p)[i] = v;
	else if (s->type == ncclBfloat16)
		bfloat_from_floats(h + i, &v, 1);
	else
		half_from_floats(h + i, &v, 1);
}

static void give(const struct sum *s, size_t n)
{
	struct ncclComm *c = s->comm;
	c->at->count[c->rank] = s->count;
	c->at->type[c->rank] = (int)s->type;
	c->at->recorded[c->rank] = s->recorded;
	for (size_t i = 0; i < n; i++)
		c->at->value[c->rank][i] = load(s, c->done + i);
	c->at->given[c->rank] = c->part + 1;
	c->given = true;
}

static bool all(const struct ncclComm *c, _Atomic uint64_t *of, uint64_t least)
{
	for (int r = 0; r < c->size; r++)
		if (of[r] < least)
			return false;
	return true;
}

static void take(const struct sum *s, size_t n)
{
	struct ncclComm *c = s->comm;
	for (int r = 0; r < c->size; r++)
		if (c->at->count[r] != s->count || c->at->type[r] != (int)s->type) {
			fprintf(stderr, "fake NCCL: ranks %d and %d sum different things\n", c->rank, r);
			abort();
		}
	for (int r = 0; r < c->size; r++)
		if (c->at->recorded[r] != s->recorded) {
			fprintf(stderr, "fake NCCL: ranks %d and %d do not run a sum of the same recording\n",
			        c->rank, r);
			abort();
		}
	for (size_t i = 0; i < n; i++) {
		double sum = 0;
		for (int r = 0; r < c->size; r++)
			sum = s->type == ncclFloat64 ? sum + c->at->value[r][i] :
			      (float)sum + (float)c->at->value[r][i];
		store(s, c->done + i, sum);
	}
	c->part++;
	c->at->taken[c->rank] = c->part;
	c->done += n;
	c->given = false;
}

static void begin(struct ncclComm *c)
{
	c->begun = true;
	c->sums++;
	if (fault("die", c->sums))
		raise(SIGKILL);
	if (fault("stop", c->sums))
		raise(SIGSTOP);
	const bool breaks = fault("error", c->sums);
	if (breaks)
		c->error = ncclRemoteError;
	c->hangs = breaks || fault("hang", c->sums);
}

/* 1 when the sum is done. */
static int run(void *argument)
{
	const struct sum *s = argument;
	struct ncclComm *c = s->comm;
	size_t left = s->count - c->done, n = left < PART ? left : PART;
	if (!c->begun)
		begin(c);
	if (c->aborted || s->count == 0) {
		c->begun = false;
		return 1;
	}
	if (c->hangs)
		return 0;
	if (!c->given && all(c, c->at->taken, c->part))
		give(s, n);
	if (!c->given || !all(c, c->at->given, c->part + 1))
		return 0;
	take(s, n);
	if (c->done < s->count)
		return 0;
	c->done = 0;
	c->begun = false;
	return 1;
}

/* A piece more of a message, if there is room for it, or one has come. */
static void move(struct ncclComm *c, struct message *m, int recorded)
{
	struct mail *box = m->sent ? &c->at->mail[c->rank][m->peer] : &c->at->mail[m->peer][c->rank];
	size_t left = m->count - m->done, n = left < MAIL ? left : MAIL;
	bool full = box->given > box->taken;
	if (left == 0 || full == m->sent)
		return;
	if (m->sent) {
		box->total = m->count;
		box->recorded = recorded;
		memcpy(box->value, m->p + m->done, n * sizeof(float));
		box->given++;
	} else {
		if (box->total != m->count || box->recorded != recorded) {
			fprintf(stderr, "fake NCCL: rank %d sends rank %d something else\n", m->peer, c->rank);
			abort();
		}
		memcpy(m->p + m->done, box->value, n * sizeof(float));
		box->taken++;
	}
	m->done += n;
}

/* 1 when all messages are through. */
static int run_group(void *argument)
{
	struct group *g = argument;
	struct ncclComm *c = g->comm;
	bool all_done = true;
	if (!c->begun)
		begin(c);
	if (c->hangs && !c->aborted)
		return 0;
	for (int i = 0; i < g->n && !c->aborted; i++) {
		move(c, &g->message[i], g->recorded);
		all_done &= g->message[i].done == g->message[i].count;
	}
	if (!all_done)
		return 0;
	for (int i = 0; i < g->n; i++)
		g->message[i].done = 0;
	c->begun = false;
	return 1;
}

/* --- the functions --- */

static ncclResult_t get_version(int *v)
{
	const char *other = getenv("DLX_FAKE_NCCL_VERSION");
	*v = other ? atoi(other) : NCCL_VERSION_CODE;
	return ncclSuccess;
}

/* Ranks may have one GPU: from 2.30.3 on, if requested. */
static bool shares(void)
{
	const char *asked = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
	int version;
	get_version(&version);
	return asked && strcmp(asked, "1") == 0 && version >= 23003;
}

static ncclResult_t get_id(ncclUniqueId *id)
{
	static int made;
	snprintf(id->internal, sizeof id->internal, "/dlx-fake-nccl-%d-%ld-%d", (int)getpid(),
	         (long)time(NULL), made++);
	return ncclSuccess;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

static ncclResult_t init(ncclComm_t *out, int size, ncclUniqueId id, int rank, ncclConfig_t *config)
{
	(void)config;
	int fd = size <= RANKS ? shm_open(id.internal, O_RDWR | O_CREAT, 0600) : -1;
	if (fault("join", 0))
		for (;;)
			pause();
	if (fd < 0 || ftruncate(fd, sizeof(struct shared)) != 0)
		return ncclSystemError;
	struct ncclComm *c = calloc(1, sizeof *c);
	c->rank = rank;
	c->size = size;
	c->at = mmap(NULL, sizeof *c->at, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	c->at->gpu[rank] = emulate_gpu() + 1;
	for (c->at->come++; c->at->come < size;)
		nap();
	shm_unlink(id.internal);
	for (int r = 0; r < size; r++)
		if (r != rank && c->at->gpu[r] == emulate_gpu() + 1 && !shares())
			return ncclInvalidUsage;
	*out = c;
	return ncclSuccess;
}

static ncclResult_t destroy(ncclComm_t c)
{
	while (c->recorded && emulate_recordings())
		nap();
	munmap(c->at, sizeof *c->at);
	free(c);
	return ncclSuccess;
}

/* The stream may still ask: it stays. */
static ncclResult_t end(ncclComm_t c)
{
	c->aborted = true;
	while (c->recorded && emulate_recordings())
		nap();
	return ncclSuccess;
}

static ncclResult_t get_error(ncclComm_t c, ncclResult_t *e)
{
	*e = c->error;
	return ncclSuccess;
}

static const char *error_string(ncclResult_t r)
{
	return r == ncclSuccess ? "no error" :
	       r == ncclRemoteError ? "remote process exited or there was a network error" : "an error";
}

static const char *last_error(ncclComm_t c)
{
	(void)c;
	return "";
}

static ncclResult_t all_reduce(const void *from, void *to, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t c, cudaStream_t stream)
{
	if (from != to || op != ncclSum || (type != ncclFloat64 && type != ncclFloat32 &&
	                                    type != ncclFloat16 && type != ncclBfloat16))
		return ncclInvalidArgument;
	struct sum *s = malloc(sizeof *s);     /* never freed: a replay may come at any time */
	*s = (struct sum){ c, to, count, type, emulate_records(stream) ? ++c->recorded : 0 };
	emulate_submit_waiting(stream, run, s);
	return ncclSuccess;
}

static ncclResult_t group_start(void)
{
	open_group = calloc(1, sizeof *open_group);   /* never freed: a replay may come at any time */
	return ncclSuccess;
}

static ncclResult_t add_message(ncclComm_t c, bool sent, void *p, size_t count, ncclDataType_t type,
                                int peer, cudaStream_t stream)
{
	struct group *g = open_group;
	if (!g || type != ncclFloat32 || peer < 0 || peer >= c->size || peer == c->rank || count == 0 ||
	    g->n == 2 * RANKS || (g->n && (g->comm != c || group_stream != stream)))
		return ncclInvalidArgument;
	g->comm = c;
	group_stream = stream;
	g->message[g->n++] = (struct message){ sent, peer, p, count, 0 };
	return ncclSuccess;
}

static ncclResult_t send_message(const void *p, size_t count, ncclDataType_t type, int peer,
                                 ncclComm_t c, cudaStream_t stream)
{
	return add_message(c, true, (void *)(uintptr_t)p, count, type, peer, stream);
}

static ncclResult_t receive(void *p, size_t count, ncclDataType_t type, int peer, ncclComm_t c,
                            cudaStream_t stream)
{
	return add_message(c, false, p, count, type, peer, stream);
}

static ncclResult_t group_end(void)
{
	if (open_group->n && emulate_records(group_stream))
		open_group->recorded = ++open_group->comm->recorded;
	if (open_group->n)
		emulate_submit_waiting(group_stream, run_group, open_group);
	open_group = NULL;
	return ncclSuccess;
}

struct nccl_functions nccl = {
	.GetVersion = get_version, .GetUniqueId = get_id, .GetErrorString = error_string,
	.GetLastError = last_error,
	.CommInitRankConfig = init, .CommDestroy = destroy, .CommAbort = end,
	.CommGetAsyncError = get_error, .AllReduce = all_reduce,
	.GroupStart = group_start, .GroupEnd = group_end, .Send = send_message, .Recv = receive,
};

int nccl_library_open(void)
{
	return 0;
}
