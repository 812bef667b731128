/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A communicator over all ranks, or a part of them. Rank 0 makes its id, which MPI broadcasts.
 * Joining blocks until all ranks have joined, so a thread does it; its result is read when the
 * first all-reduce is wanted. All-reduces never block here: NCCL enqueues them on a stream. */
#include "comm/nccl.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/cuda/cuda.h"
#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/thread.h"
#include "comm/nccl_library.h"
#include "comm/ranks_text.h"
#include "comm/watchdog.h"
#include "comm/world.h"

#define PATIENCE 10            /* seconds that aborting what is in flight may take */
#define MOST_BLOCKS 64         /* that NCCL gives a sum by itself */

struct nccl {
	struct comm *c;
	const struct device *dev;
	int ordinal, blocks;         /* ordinal: the GPU's number; blocks: most blocks of a sum's
	                              * kernel; 0: NCCL chooses */
	struct nccl *next;           /* the process's next communicator, in a ring */
	ncclUniqueId id;
	ncclComm_t comm;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t event;
	bool joined, bound;          /* by the thread, under the lock: it has
	                              * ended; it could use the GPU */
	bool ready, given_up;
	ncclResult_t result;
	char trouble[400];
};

static const char *text_of(ncclResult_t result, char *out, size_t n)
{
	const char *more = nccl.GetLastError(NULL);
	snprintf(out, n, "%s%s%s", nccl.GetErrorString(result), more && *more ? ": " : "",
	         more ? more : "");
	for (size_t i = strlen(out); i > 0 && out[i - 1] == '\n';)
		out[--i] = '\0';
	return out;
}

static int check(ncclResult_t result, const char *what)
{
	char text[300];
	if (result == ncclSuccess)
		return 0;
	return ERR(E_UNAVAILABLE, NULL, "NCCL: %s: %s", what, text_of(result, text, sizeof text));
}

/* --- whose GPU is whose --- */

struct identity {
	char gpu[16];
	int ordinal, host;
	bool shares;                 /* the user allows ranks to share a GPU, and this NCCL can */
};

#define FIRST_TO_SHARE 23003   /* NCCL 2.30.3 */

/* For tests on a machine of one GPU: ranks on one do not go faster. */
static bool may_share(void)
{
	const char *asked = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
	int version = 0;
	return asked && strcmp(asked, "1") == 0 && nccl.GetVersion(&version) == ncclSuccess &&
	       version >= FIRST_TO_SHARE;
}

static int refuse(const struct comm *c, const struct identity *all, int first)
{
	struct buf who = BUF_INIT;
	int *same = mem_calloc((size_t)c->size, sizeof *same), n = 0, local = 0;
	for (int r = 0; r < c->size; r++) {
		local += all[r].host == all[first].host;
		if (memcmp(all[r].gpu, all[first].gpu, sizeof all[r].gpu) == 0)
			same[n++] = r;
	}
	ranks_text(&who, same, n);
	int rc = ERR(E_UNAVAILABLE, NULL,
	             "ranks %s of host %s take the same GPU (number %d), and NCCL has one rank a GPU; "
	             "start no more ranks on a host than it has GPUs (%d run there; mpiexec -ppn, srun "
	             "--ntasks-per-node), or let each "
	             "see one of its own (srun --gpus-per-task=1, CUDA_VISIBLE_DEVICES)", who.data,
	             c->size > 1 ? c->state->host_name[all[first].host] : c->host_name,
	             all[first].ordinal, local);
	buf_release(&who);
	mem_free(same);
	return rc;
}

/* All ranks come to the same result. */
static int compare(struct comm *c, const struct device *d)
{
	struct identity *all = mem_calloc((size_t)c->size, sizeof *all),
	                mine = { .ordinal = cuda_ordinal(d), .host = c->host, .shares = may_share() };
	int rc = 0;
	cuda_identity(d, mine.gpu);
	comm_all_gather(c, &mine, sizeof mine, all, "the GPU of each rank");
	for (int a = 0; a < c->size && rc == 0; a++)
		for (int b = a + 1; b < c->size && rc == 0; b++)
			if (memcmp(all[a].gpu, all[b].gpu, sizeof all[a].gpu) == 0 &&
			    !(all[a].shares && all[b].shares))
				rc = refuse(c, all, a);
	mem_free(all);
	return rc;
}

/* --- setting up --- */

static void *join(void *argument)
{
	struct nccl *n = argument;
	ncclResult_t result = ncclInvalidUsage;
	bool bound = cuda_bind_thread(n->ordinal) == 0;
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	err_clear();
	if (n->blocks) {
		config.minCTAs = 1;
		config.maxCTAs = n->blocks;
	}
	if (bound)
		result = nccl.CommInitRankConfig(&n->comm, n->c->size, n->id, n->c->rank, &config);
	pthread_mutex_lock(&n->lock);
	n->result = result;
	n->bound = bound;
	n->joined = true;
	pthread_cond_signal(&n->event);
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

static int start_thread(struct nccl *n)
{
	pthread_condattr_t monotonic;
	pthread_mutex_init(&n->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&n->event, &monotonic);
	pthread_condattr_destroy(&monotonic);
	int failed = thread_start(&n->thread, join, n);
	return failed ? ERR(E_NOMEM, NULL, "cannot start the thread that connects GPUs: %s",
	                    strerror(failed)) : 0;
}

/* The most blocks of a communicator's kernels, as nccl.h explains. */
static int room(const struct device *d, const struct nccl *first)
{
	int all = cuda_multiprocessors(d);
	if (first)
		return 1;
	return all > MOST_BLOCKS ? 0 : all > 1 ? all - 1 : 1;
}

int nccl_open(struct nccl **out, struct comm *c, const struct device *d, struct nccl *first)
{
	ncclUniqueId id;
	memset(&id, 0, sizeof id);
	TRY(comm_agree(c, nccl_library_open(), "loading NCCL"));
	TRY(compare(c, d));
	TRY(comm_agree(c, c->rank == 0 ? check(nccl.GetUniqueId(&id), "cannot start") : 0,
	               "starting NCCL"));
	comm_broadcast(c, &id, sizeof id, 0, "NCCL's id");
	struct nccl *n = mem_calloc(1, sizeof *n);
	n->c = c;
	n->dev = d;
	n->ordinal = cuda_ordinal(d);
	n->blocks = room(d, first);
	n->id = id;
	n->next = first ? first->next : n;
	if (first)
		first->next = n;
	int rc = start_thread(n);
	n->given_up = rc < 0;
	*out = n;
	rc = comm_agree(c, rc, "starting NCCL");
	n->given_up |= rc < 0;
	return rc;
}

static struct timespec in(double seconds)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += (long)(seconds * 1e9);
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/* Whether the thread has ended. */
static bool wait_joined(struct nccl *n)
{
	struct deadline d = deadline_begin();
	pthread_mutex_lock(&n->lock);
	while (!n->joined && deadline_waited(&d) < n->c->timeout &&
	       liveness_gone(&n->c->state->liveness) < 0) {
		struct timespec end = in(DEADLINE_ROUND);
		pthread_cond_timedwait(&n->event, &n->lock, &end);
	}
	bool joined = n->joined;
	pthread_mutex_unlock(&n->lock);
	return joined;
}

int nccl_ready(struct nccl *n)
{
	int rc = 0;
	if (n->ready)
		return 0;
	if (!wait_joined(n)) {
		n->given_up = true;
		rc = ERR(E_UNAVAILABLE, NULL, "NCCL does not connect the GPUs of the ranks within %.0f s; "
		         "NCCL_DEBUG=INFO tells what it does", n->c->timeout);
	} else {
		pthread_join(n->thread, NULL);
		rc = n->bound ? check(n->result, "the GPUs of the ranks cannot be connected "
		                      "(NCCL_DEBUG=INFO tells more)") :
		     ERR(E_UNAVAILABLE, NULL, "NCCL's thread cannot use the GPU");
		n->ready = true;
	}
	return comm_agree(n->c, rc, "connecting the GPUs");
}

static void leave_ring(struct nccl *n)
{
	struct nccl *before = n;
	while (before->next != n)
		before = before->next;
	before->next = n->next;
	n->next = n;
}

void nccl_close(struct nccl *n)
{
	if (n)
		leave_ring(n);
	if (!n || n->given_up || (!n->ready && !wait_joined(n)))   /* its thread may go on with it */
		return;
	if (!n->ready)
		pthread_join(n->thread, NULL);
	if (n->comm) {
		watchdog_begin(n->c->timeout, n->c->rank, "the end of NCCL");
		nccl.CommDestroy(n->comm);
		watchdog_end();
	}
	pthread_cond_destroy(&n->event);
	pthread_mutex_destroy(&n->lock);
	mem_free(n);
}

/* --- sums --- */

static ncclDataType_t type_of(enum dtype t)
{
	return t == DTYPE_BF16 ? ncclBfloat16 : t == DTYPE_F16 ? ncclFloat16 :
	       t == DTYPE_F64 ? ncclFloat64 : ncclFloat32;
}

int nccl_sum(struct nccl *n, void *p, int64_t count, enum dtype t, void *stream)
{
	return check(nccl.AllReduce(p, p, (size_t)count, type_of(t), ncclSum, n->comm, stream),
	             "cannot begin a sum");
}

/* The number of elements of shard q. */
static size_t shard(int64_t count, int64_t each, int q)
{
	int64_t left = count - each * q;
	return (size_t)(left < 0 ? 0 : left < each ? left : each);
}

static ncclResult_t send_and_receive(struct nccl *n, const float *from, size_t sent, float *to,
                                     size_t received, int q, void *stream)
{
	ncclResult_t result = ncclSuccess;
	if (sent)
		result = nccl.Send(from, sent, ncclFloat32, q, n->comm, stream);
	if (received && result == ncclSuccess)
		result = nccl.Recv(to, received, ncclFloat32, q, n->comm, stream);
	return result;
}

/* Shards of `count` elements, `each` apart: gives rank q the shard q of `from` for this rank's
 * (deal), or this rank's for q's; what comes from q is put in q's place. */
static int exchange(struct nccl *n, bool deal, const float *from, float *to, int64_t count,
                    int64_t each, void *stream)
{
	const int me = n->c->rank;
	ncclResult_t result = nccl.GroupStart();
	for (int q = 0; q < n->c->size && result == ncclSuccess; q++) {
		const int sent = deal ? q : me, received = deal ? me : q;
		if (q != me)
			result = send_and_receive(n, from + each * sent, shard(count, each, sent),
			                          to + each * q, shard(count, each, received), q, stream);
	}
	ncclResult_t ended = nccl.GroupEnd();
	return check(result == ncclSuccess ? ended : result, "cannot begin an exchange");
}

int nccl_share(struct nccl *n, const float *p, int64_t count, int64_t each, float *parts,
               void *stream)
{
	return exchange(n, true, p, parts, count, each, stream);
}

int nccl_collect(struct nccl *n, float *p, int64_t count, int64_t each, void *stream)
{
	return exchange(n, false, p, p, count, each, stream);
}

static const char message[] = "cannot begin a message";

int nccl_begin(struct nccl *n)
{
	(void)n;
	return check(nccl.GroupStart(), message);
}

int nccl_send(struct nccl *n, int peer, const void *p, int64_t count, void *stream)
{
	return check(nccl.Send(p, (size_t)count, ncclFloat32, peer, n->comm, stream), message);
}

int nccl_receive(struct nccl *n, int peer, void *p, int64_t count, void *stream)
{
	return check(nccl.Recv(p, (size_t)count, ncclFloat32, peer, n->comm, stream), message);
}

int nccl_end(struct nccl *n)
{
	(void)n;
	return check(nccl.GroupEnd(), message);
}

const char *nccl_trouble(struct nccl *n)
{
	ncclResult_t now = ncclSuccess, asked = n->comm ? nccl.CommGetAsyncError(n->comm, &now) :
	                   ncclSuccess;
	if (asked != ncclSuccess)
		now = asked;
	if (now == ncclSuccess || now == ncclInProgress)
		return NULL;
	return text_of(now, n->trouble, sizeof n->trouble);
}

static void *end(void *comm)
{
	nccl.CommAbort(comm);
	return NULL;
}

/* Work in flight is aborted at once, but the call returns only when no captured graph refers to the
 * communicator, and those graphs go with their plans. So a detached thread makes the call. */
static void begin_end(struct nccl *n)
{
	pthread_t thread;
	if (!n->comm)
		return;
	if (thread_start(&thread, end, n->comm) == 0)
		pthread_detach(thread);
	n->comm = NULL;
}

void nccl_abort(struct nccl *n, const char *report)
{
	watchdog_say(PATIENCE, report);
	struct nccl *each = n;
	do {
		begin_end(each);
		each = each->next;
	} while (each != n);
	cuda_rest(n->dev);
	watchdog_end();
}
