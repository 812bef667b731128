/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/diagnose/mistakes.h"

#include <string.h>

#include "base/log.h"
#include "data/record.h"
#include "optim/optim.h"
#include "plan/physics/physics.h"
#include "plan/program.h"

/* The network ends with what the loss makes itself. */
static void warn_activation(const struct session *s)
{
	const struct plan *p = session_plan_of_size(s, PLAN_TRAIN, 0);
	if (p && p->activation)
		warn("%s:%d:%d: '%s' is the last layer, and the loss '%s' makes one itself: made twice, it "
		     "leaves small gradients; leave this layer out ('--predict --as=probabilities' makes "
		     "it for predictions)", p->activated.file, p->activated.line, p->activated.col,
		     p->activation, s->config->loss.v->name);
}

/* Whether an entry of the list changes the scale of values. */
static bool is_scaled(const struct ynode *list)
{
	static const char *const names[] = { "cast", "normalize", "normalize_sample", "log1p", "sqrt" };
	for (int i = 0; list && list->kind == Y_SEQ && i < list->n; i++) {
		const struct ynode *entry = list->item[i];
		const char *name = entry->kind == Y_SCALAR ? entry->text :
		                   entry->kind == Y_MAP && entry->n ? entry->pair[0].key : "";
		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			if (strcmp(name, names[k]) == 0)
				return true;
	}
	return false;
}

/* Bytes that are flags or few classes are no picture. */
#define DARK 15.0

static void warn_bytes(const struct session *s)
{
	const struct dataset_info *info = dataset_info(s->train_set);
	const struct channel_stats *stats = dataset_statistics(s->train_set);
	double most = 0;
	for (int64_t c = 0; stats && c < info->input.d[0]; c++)
		most = stats[c].count && stats[c].max > most ? stats[c].max : most;
	if (info->input_dtype == DTYPE_U8 && most > DARK && !is_scaled(s->config->data.transforms))
		warn("inputs are 8-bit, up to %g, and reach the network as they are; 'data: {transforms: "
		     "[cast]}' divides them by 255, '[normalize: standard]' goes by their statistics",
		     most);
}

static void warn_first_class(const struct session *s)
{
	const int64_t ignore = loss_ignore(&s->config->loss, s->data.ignore);
	if (!loss_wants_labels(&s->config->loss) || ignore == 0 || s->data.classes < 2 ||
	    dataset_counted_labels(s->train_set, 1, ignore) != 0)
		return;
	warn("no label of the training data is 0, the first of the network's %lld classes: where "
	     "labels count from 1, 'dlx-convert --classes' or labels less 1 make them count from 0",
	     (long long)s->data.classes);
}

static void warn_shared(const struct session *s)
{
	if (!s->validation_set)
		return;
	const struct dataset_shared shared = dataset_shared(s->validation_set, s->train_set);
	int64_t n = dataset_info(s->validation_set)->samples, here, there;
	if (shared.samples == 0)
		return;
	const char *validation = dataset_locate(s->validation_set, shared.first, &here),
	           *train = dataset_locate(s->train_set, shared.other, &there);
	warn("%lld of the %lld validation samples are among the training samples, the first of them "
	     "sample %lld of '%s', which is sample %lld of '%s': their metrics do not say how the "
	     "network does on what it has not seen; 'dlx-convert --split' makes two sets of one",
	     (long long)shared.samples, (long long)n,
	     (long long)here, validation, (long long)there, train);
}

void mistakes_warn_data(const struct session *s)
{
	if (!(s->need & SESSION_TRAIN) || !comm_first(s->comm) || !s->train_set)
		return;
	warn_bytes(s);
	warn_first_class(s);
	warn_shared(s);
}

/* Networks that stay as they are drawn. */
static void warn_untrained(const struct session *s)
{
	const struct physics *p = s->config->physics;
	const struct model_common *m = s->config->model.data;
	for (int i = 0; p && !m->init_from.file && i < p->net.n; i++) {
		const struct network *n = &p->net.v[i];
		if (n->frozen && n->owner == n && !n->c.init_from.from.file)
			warn("%s:%d:%d: no objective trains network '%s', which keeps its first random "
			     "weights; name it in 'train', or give it weights by 'init_from'", n->loc.file,
			     n->loc.line, n->loc.col, n->name);
	}
}

void mistakes_warn_network(const struct session *s)
{
	if (!(s->need & SESSION_TRAIN) || !comm_first(s->comm))
		return;
	warn_activation(s);
	warn_untrained(s);
}
