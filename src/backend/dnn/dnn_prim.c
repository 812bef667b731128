/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Running oneDNN's code: a primitive and the memory objects of one node that uses it. */
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <dnnl_debug.h>

#include "backend/dnn/dnn.h"
#include "backend/dnn/dnn_code.h"
#include "base/err.h"
#include "base/mem.h"

int dnn_fail(dnnl_status_t st, const char *what)
{
	if (st == dnnl_success)
		return 0;
	return ERR(st == dnnl_out_of_memory ? E_NOMEM : E_UNSUPPORTED, NULL, "oneDNN: %s: %s", what,
	           dnnl_status2str(st));
}

int dnn_set_threads(int n)
{
#ifdef _OPENMP
	int before = omp_get_max_threads();
	omp_set_num_threads(n);
	return before;
#else
	return n;
#endif
}

struct dnn_prim *dnn_prim_make(struct dnn_code *code, dnnl_engine_t engine, dnnl_stream_t stream,
                               int narg, const int *args)
{
	struct dnn_prim *p = mem_calloc(1, sizeof *p);
	p->code = code;
	p->engine = engine;
	p->stream = stream;
	for (int i = 0; i < narg; i++)
		if (args[i])
			p->arg[p->narg++] = args[i];
	p->ws_bytes = dnnl_memory_desc_get_size(
		dnnl_primitive_desc_query_md(code->pd, dnnl_query_scratchpad_md, 0));
	return p;
}

const char *dnn_prim_impl(const struct dnn_prim *p)
{
	const char *impl = NULL;
	if (dnnl_primitive_desc_query(p->code->pd, dnnl_query_impl_info_str, 0, &impl) != dnnl_success)
		return "unknown";
	return impl;
}

struct kernel_choice dnn_prim_choice(const struct dnn_prim *p)
{
	return (struct kernel_choice){ dnn_prim_is_reference(p) ? NULL : dnn_prim_impl(p),
		p->problem };
}

bool dnn_prim_is_reference(const struct dnn_prim *p)
{
	return strstr(dnn_prim_impl(p), "ref") != NULL;
}

size_t dnn_prim_workspace(const struct dnn_prim *p)
{
	return p->ws_bytes;
}

static int add_memory(struct dnn_prim *p, int arg)
{
	int i = p->nexec;
	dnnl_status_t st = dnnl_memory_create(
		&p->mem[i], dnnl_primitive_desc_query_md(p->code->pd, dnnl_query_exec_arg_md, arg),
		p->engine, DNNL_MEMORY_NONE);
	TRY(dnn_fail(st, "cannot make a memory object"));
	p->exec[i] = (dnnl_exec_arg_t){ arg, p->mem[i] };
	p->nexec++;
	return 0;
}

int dnn_prim_prepare(struct dnn_prim *p)
{
	p->code->wanted = true;
	for (int i = p->nexec; i < p->narg; i++)
		TRY(add_memory(p, p->arg[i]));
	if (p->ws_bytes && p->nexec == p->narg)
		TRY(add_memory(p, DNNL_ARG_SCRATCHPAD));
	return 0;
}

int dnn_generate(void)
{
	return dnn_fail(dnn_code_generate(), "cannot make a primitive");
}

/* A plan's pointers are the same in every step, so after the first one this costs a comparison. */
static int point_at(struct dnn_prim *p, int i, void *handle)
{
	if (p->handle[i] == handle)
		return 0;
	p->handle[i] = handle;
	return dnn_fail(dnnl_memory_set_data_handle(p->mem[i], handle), "cannot use a buffer");
}

int dnn_prim_run(struct dnn_prim *p, void *const *arg, void *ws)
{
	if (!p->code->prim)            /* a kernel that runs outside an exec */
		TRY(dnn_generate());
	for (int i = 0; i < p->narg; i++)
		TRY(point_at(p, i, arg[i]));
	if (p->ws_bytes)
		TRY(point_at(p, p->narg, ws));
	int threads = p->one_thread ? dnn_set_threads(1) : 0;
	dnnl_status_t st = dnnl_primitive_execute(p->code->prim, p->stream, p->nexec, p->exec);
	if (p->one_thread)
		dnn_set_threads(threads);
	TRY(dnn_fail(st, "execution failed"));
	return dnn_fail(dnnl_stream_wait(p->stream), "execution failed");
}

void dnn_prim_free(struct dnn_prim *p)
{
	if (!p)
		return;
	for (int i = 0; i < p->nexec; i++)
		dnnl_memory_destroy(p->mem[i]);
	mem_free(p);
}
