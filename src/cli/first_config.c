/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The target determines one of four tasks: to predict a class or values, either of a whole sample
 * or of each point of it. A sample without spatial axes is a row of a table. */
#include "cli/first_config.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/io.h"
#include "cli/pretrained.h"
#include "data/record.h"

#define MOST_LEVELS 5
#define FLOPS 1.5e12           /* of a training: a minute of two cores, if it need not be more */
#define STEPS_LEAST 400
#define STEPS_MOST 12000
#define EPOCHS_LEAST 10
#define EPOCHS_MOST 100
#define EPOCHS_TABLE 60       /* tables are small, and are learnt by heart */
#define WINDOW_MOST 128       /* places of a window along an axis, of two axes */

struct suggestion {
	struct arena *a;
	const char *train, *validation;
	const struct dataset_info *info;
	struct dataset *set;
	bool labels, map, several;
	int places;                    /* axes */
	int64_t least[3];              /* of each, the smallest extent of any sample */
	int64_t outputs;
	int levels;                    /* halvings of the resolution */
	int64_t batch, epochs;
	bool rare;                     /* a class of few samples or points */
	bool missing;                  /* values of the target are not finite */
};

/* --- what the data is --- */

static int64_t smallest(const struct suggestion *s)
{
	int64_t least = INT64_MAX;
	for (int i = 0; i < s->places; i++)
		least = s->least[i] < least ? s->least[i] : least;
	return least;
}

static void look_at_sizes(struct suggestion *s)
{
	const int n = dataset_sizes(s->set);
	s->several = n > 1;
	for (int k = 0; k < n; k++) {
		const struct shape *input = &dataset_info_of(s->set, k)->input;

		for (int i = 0; i < s->places; i++)
			if (k == 0 || input->d[i + 1] < s->least[i])
				s->least[i] = input->d[i + 1];
	}
	/* the lowest level of a map has four places along each axis, the last one of a vector three */
	for (int64_t least = smallest(s); s->places && least >= (s->map ? 8 : 6) && s->levels <
	     (s->map ? 3 : MOST_LEVELS); least /= 2)
		s->levels++;
}

static int look_at_classes(struct suggestion *s)
{
	const int n = s->info->nclasses;
	int64_t *count = ARENA_ARRAY(s->a, int64_t, n + 1), all = 0, least = INT64_MAX;
	s->outputs = n;
	if (n < 2)
		return ERR(E_DATA, NULL, "'%s' has %s: dlx-convert counts the classes of labels when it "
		           "writes them", s->train, n == 1 ? "one class alone" : "labels without classes");
	TRY(dataset_class_counts(s->set, n, count));
	for (int i = 0; i < n; i++) {
		all += count[i];
		least = count[i] > 0 && count[i] < least ? count[i] : least;
	}
	s->rare = (double)least * n < 0.2 * (double)all;
	return 0;
}

static int look(struct suggestion *s)
{
	const struct dataset_info *i = s->info;
	const char *file;
	if (!i->has_target)
		return ERR(E_DATA, NULL, "'%s' has no target: there is nothing to learn; 'dlx-convert "
		           "--target' adds one", s->train);
	s->places = i->input.nd - 1;
	s->map = record_target_is_map(&i->input, &i->target, i->target_dtype);
	s->labels = !dtype_is_float(i->target_dtype);
	if (!s->map && i->target.nd > !s->labels)
		return ERR(E_DATA, NULL, "'%s': the target's shape is neither that of the input's places "
		           "nor one value or vector a sample: there is no suggestion for it", s->train);
	if (s->labels)
		TRY(look_at_classes(s));
	else
		s->outputs = i->target.nd ? i->target.d[0] : 1;
	look_at_sizes(s);
	s->missing = !s->labels && dataset_missing_targets(s->set, &file) > 0;
	return 0;
}

/* A power of two: steps enough in an epoch, and in a batch what is measured of it. */
static int64_t first_batch(const struct suggestion *s)
{
	const int64_t most = s->map ? (s->places > 2 ? 2 : 8) : s->places ? 32 : 64;
	int64_t batch = 1;
	while (2 * batch <= most && 2 * batch * 20 <= s->info->samples)
		batch *= 2;
	return batch;
}

int suggest_open(struct suggestion **out, const char *train, const char *validation)
{
	struct arena *a = arena_new();
	struct suggestion *s = ARENA_NEW(a, struct suggestion);
	const struct strings paths = { .n = 1, .v = &train };
	int rc;
	s->a = a;
	s->train = train;
	s->validation = validation;
	rc = dataset_open(&s->set, &paths);
	if (rc == 0) {
		s->info = dataset_info(s->set);
		rc = look(s);
	}
	if (rc < 0) {
		suggest_close(s);
		return rc;
	}
	s->batch = first_batch(s);
	s->epochs = EPOCHS_LEAST;
	*out = s;
	return 0;
}

void suggest_close(struct suggestion *s)
{
	struct arena *a = s ? s->a : NULL;
	if (!s)
		return;
	dataset_free(s->set);
	arena_free(a);
}

int64_t suggest_batch(const struct suggestion *s)
{
	return s->batch;
}

bool suggest_less(struct suggestion *s)
{
	if (s->batch == 1)
		return false;
	s->batch /= 2;
	return true;
}

static double clip(double v, double least, double most)
{
	return v < least ? least : v > most ? most : v;
}

void suggest_length(struct suggestion *s, double flops)
{
	const double samples = (double)s->info->samples, steps = ceil(samples / (double)s->batch);
	double epochs = clip(FLOPS / (3 * flops * samples + 1), EPOCHS_LEAST, EPOCHS_MOST);
	epochs = clip(epochs, ceil(STEPS_LEAST / steps), fmax(EPOCHS_LEAST, floor(STEPS_MOST / steps)));
	s->epochs = (int64_t)clip(epochs, 1, s->places ? EPOCHS_MOST : EPOCHS_TABLE);
}

/* --- what it says --- */

static void put_places(const struct suggestion *s, struct buf *out)
{
	for (int i = 0; i < s->places; i++)
		buf_printf(out, "%s%lld", i ? " x " : " of ", (long long)s->least[i]);
	if (s->several)
		buf_puts(out, " and more");
}

void suggest_describe(const struct suggestion *s, struct buf *out)
{
	const int64_t channels = s->info->input.d[0];
	buf_printf(out, "%lld samples of %lld %s%s", (long long)s->info->samples, (long long)channels,
	           s->places ? "channel" : "number", channels == 1 ? "" : "s");
	put_places(s, out);
	if (s->labels)
		buf_printf(out, ": which of %lld classes %s is of", (long long)s->outputs,
		           s->map ? "each point" : "each");
	else
		buf_printf(out, ": %lld value%s of %s", (long long)s->outputs, s->outputs == 1 ? "" : "s",
		           s->map ? "each point" : "each");
}

/* --- networks --- */

static void dense_layers(const struct suggestion *s, struct buf *out)
{
	buf_puts(out, "    - dense: {units: 64, activation: relu}\n"
	         "    - dropout: 0.3            # leaves out values, against learning by heart\n"
	         "    - dense: {units: 32, activation: relu}\n"
	         "    - dropout: 0.3\n");
	buf_printf(out, "    - dense: %lld\n", (long long)s->outputs);
}

/* Convolutions, each followed by a pool that halves the resolution. */
static void narrowing_layers(const struct suggestion *s, struct buf *out)
{
	const int first = s->places > 2 ? 8 : 16;
	for (int k = 0; k <= s->levels && k < MOST_LEVELS; k++) {
		const int filters = first << (k < 3 ? k : 3);

		buf_printf(out, "    - conv%dd: {filters: %d, kernel: 3, padding: same}\n", s->places,
		           filters);
		buf_puts(out, "    - batch_norm\n    - relu\n");
		if (k < s->levels)
			buf_puts(out, "    - max_pool: 2             # half as many places along each axis\n");
	}
	buf_puts(out, s->several ? "    - global_average          # samples have several sizes\n" :
	         "    - flatten\n");
	if (!s->labels)
		buf_puts(out, "    - dense: {units: 64, activation: relu}\n");
	else
		buf_puts(out, "    - dropout: 0.2\n");
	buf_printf(out, "    - dense: %lld\n", (long long)s->outputs);
}

/* A U-Net, or, where there are too few places to halve, convolutions. */
static void map_layers(const struct suggestion *s, struct buf *out)
{
	static const char *const name[] = { "full", "half", "quarter" };
	const int first = s->places > 2 ? 8 : 16;
	for (int k = 0; k < s->levels; k++)
		buf_printf(out, "    - convs: {filters: %d, name: %s}\n    - max_pool: 2\n", first << k,
		           name[k]);
	buf_printf(out, "    - convs: %d\n", first << s->levels);
	for (int k = s->levels - 1; k >= 0; k--)
		buf_printf(out, "    - up: {filters: %d, skip: %s}\n", first << k, name[k]);
	buf_printf(out, "    - conv%dd: {filters: %lld, kernel: 1}\n", s->places,
	           (long long)s->outputs);
}

static void map_blocks(const struct suggestion *s, struct buf *out)
{
	const int d = s->places;
	buf_printf(out, "  blocks:\n    convs:                    # two convolutions\n      "
	           "parameters: {filters: required}\n      layers:\n        - conv%dd: {filters: "
	           "$filters, kernel: 3, padding: same}\n        - batch_norm\n        - relu\n        "
	           "- conv%dd: {filters: $filters, kernel: 3, padding: same}\n        - batch_norm\n   "
	           "     - relu\n", d, d);
	if (s->levels)
		buf_printf(out, "    up:                       # doubles the resolution and adds what was "
		           "known at it\n      parameters: {filters: required, skip: required}\n      "
		           "layers:\n        - conv_transpose%dd: {filters: $filters, kernel: 2, stride: "
		           "2}\n        - concat: {inputs: [$skip, previous]}\n        - convs: "
		           "$filters\n", d);
}

static void linear_layers(const struct suggestion *s, struct buf *out)
{
	if (s->map) {
		buf_printf(out, "    - conv%dd: {filters: %lld, kernel: 1}   # each point by itself\n",
		           s->places,
		           (long long)s->outputs);
		return;
	}
	if (s->places)
		buf_puts(out, s->several ? "    - global_average\n" : "    - flatten\n");
	buf_printf(out, "    - dense: %lld\n", (long long)s->outputs);
}

/* As a comment: the ResNet whose weights are here, for pictures that it can read. */
static void put_pretrained(const struct suggestion *s, struct buf *out)
{
	struct pretrained p;
	if (s->places != 2 || s->map || !s->labels || s->info->input.d[0] != 3 || smallest(s) < 32 ||
	    !pretrained_find(&p, s->a))
		return;
	buf_printf(out, "  # What was trained on a million pictures needs fewer of these. In place of "
	           "family and layers:\n  # family: resnet\n  # depth: %d\n  # init_from: {file: ",
	           p.depth);
	if (p.safetensors)
		buf_json_string(out, p.file);
	else
		buf_printf(out, "resnet%d.safetensors", p.depth);
	buf_puts(out, ", strict: false}   # all but its last layer\n");
	if (!p.safetensors)
		buf_printf(out, "  # (from Python: safetensors.torch.save_file(torch.load('%s'), "
		           "'resnet%d.safetensors'))\n", p.file, p.depth);
	buf_puts(out, "  # and in place of normalize, what its weights were trained with:\n  # - cast"
	         "\n  # - normalize: {method: standard, mean: [0.485, 0.456, 0.406], std: [0.229, "
	         "0.224, 0.225]}\n");
}

static void put_model(const struct suggestion *s, bool linear, struct buf *out)
{
	buf_puts(out, "model:\n  family: layers              # the shape of the input is that of the "
	         "data\n");
	if (!linear)
		put_pretrained(s, out);
	if (s->map && !linear)
		map_blocks(s, out);
	buf_puts(out, "  layers:\n");
	void (*const layers)(const struct suggestion *, struct buf *) = linear ? linear_layers :
		s->map ? map_layers : s->places ? narrowing_layers : dense_layers;
	layers(s, out);
}

/* --- data and training --- */

/* The largest window that all samples have, of which the network can halve the places. */
static void put_window(const struct suggestion *s, struct buf *out)
{
	const int64_t unit = (int64_t)1 << s->levels,
		most = s->places > 2 ? WINDOW_MOST / 2 : WINDOW_MOST;
	bool whole = !s->several;
	int64_t window[3] = { 0 };
	for (int i = 0; i < s->places; i++) {
		window[i] = (s->least[i] < most ? s->least[i] : most) / unit * unit;
		whole &= window[i] == s->least[i];
	}
	if (!s->map || whole)
		return;
	buf_puts(out, "    - crop: {size: [");
	for (int i = 0; i < s->places; i++)
		buf_printf(out, "%s%lld", i ? ", " : "", (long long)window[i]);
	buf_puts(out, "]}   # in training a random window; other samples are whole\n");
}

static void put_data(const struct suggestion *s, struct buf *out)
{
	buf_puts(out, "data:\n  train: ");
	buf_json_string(out, s->train);
	buf_putc(out, '\n');
	if (s->validation) {
		buf_puts(out, "  validation: ");
		buf_json_string(out, s->validation);
		buf_putc(out, '\n');
	} else {
		buf_puts(out, "  # validation: FILE.dlx     samples to judge by: 'dlx-convert --split "
		         "train=0.8,validation=0.2' makes them\n");
	}
	buf_puts(out, "  transforms:\n    - normalize: standard     # each channel by the training "
	         "set's mean and deviation\n");
	put_window(s, out);
	if (s->places >= 2)
		buf_puts(out, "    # - flip: width           where a mirror image means the same\n");
	if (!s->labels)
		buf_puts(out, "  target_transforms:\n    - normalize: standard     # the loss is that of "
		         "scaled targets; metrics are in their units\n");
}

static void put_loss(const struct suggestion *s, struct buf *out)
{
	if (!s->labels)
		buf_puts(out, s->missing ? "loss: {type: mse, mask: nan}   # values that are not finite "
		         "are left out\nmetrics: [rmse, mae]\n" : s->map ? "loss: mse\nmetrics: [rmse, "
		         "mae]\n" :
		         "loss: mse\nmetrics: [rmse, mae, r2_by_output]\n");
	else if (s->map)
		buf_puts(out, "loss: dice_cross_entropy      # weighs a class of few points like any "
		         "other\nmetrics: [mean_iou, accuracy]\n");
	else
		buf_puts(out, s->rare ? "loss: {type: softmax_cross_entropy, class_weights: "
		         "inverse_sqrt_frequency}   # for the rare classes\nmetrics: [accuracy, "
		         "mean_f1]\n" :
		         "loss: softmax_cross_entropy\nmetrics: [accuracy, mean_f1]\n");
}

void suggest_write(const struct suggestion *s, const char *name, bool linear, struct buf *out)
{
	const int64_t every = s->epochs > 20 ? s->epochs / 10 : 1;
	buf_puts(out, "# ");
	suggest_describe(s, out);
	buf_puts(out, linear ? ".\n# A network without a hidden layer: what another one has to "
	         "beat.\n" :
	         ".\n# Written by 'dlx-train --suggest': a beginning, every line of which can be "
	         "changed; dlx-config(5) has all keys.\n");
	buf_puts(out, "run: {name: ");
	buf_json_string(out, name);
	buf_puts(out, ", seed: 1}\n");
	put_model(s, linear, out);
	put_data(s, out);
	put_loss(s, out);
	buf_printf(out, "optimizer: {type: adam, learning_rate: 0.003, weight_decay: %s, decoupled: "
	           "true}\nschedule: {type: cosine, warmup: {steps: 20}}\n",
	           s->places ? "0.01" : "0.1");
	buf_printf(out, "train:\n  epochs: %lld\n  batch_size: %lld             # of each rank\n  "
	           "validate: {epochs: %lld}\n", (long long)s->epochs, (long long)s->batch,
	           (long long)every);
	buf_printf(out, "checkpoint: {metric: %s}   # says which validation is best\n",
	           !s->labels ? "loss" :
	           s->map ? "mean_iou" : "accuracy");
}
