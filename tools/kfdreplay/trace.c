// SPDX-License-Identifier: MIT
#include "tools/kfdreplay/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define MEMSET_BYTES_WORKGROUP 65536u
#define HEADER "op,launch_ns,start_ns,duration_ns,grid,block,bytes,name"

enum field { F_OP, F_LAUNCH, F_START, F_DURATION, F_GRID, F_BLOCK, F_BYTES, F_NAME, FIELDS };

static const char *const field_names[FIELDS] = {"op",	"launch_ns", "start_ns", "duration_ns",
						"grid", "block",     "bytes",	 "name"};

static const char *const op_names[] = {"kernel",     "memcpy_h2d", "memcpy_d2h",
				       "memcpy_d2d", "memset",	   "sync"};

struct reader {
	const char *path;
	size_t line;
	char *text; /* current line; its fields are separated by NUL */
	char *fields[FIELDS];
	uint64_t last_launch_ns;
	struct trace *trace;
	size_t row_room, request_room;
	size_t open_first; /* first row of the request whose `sync` row was not read yet */
	size_t open_line;  /* line number of the row open_first */
	char *error;
	size_t error_size;
};

__attribute__((format(printf, 3, 4))) static int fail(struct reader *r, const char *at,
						      const char *format, ...)
{
	va_list arguments;
	int n;

	n = snprintf(r->error, r->error_size, "%s:%zu:%zu: ", r->path, r->line,
		     (size_t)(at - r->text) + 1);
	if (n < 0 || (size_t)n >= r->error_size)
		return -EINVAL;
	va_start(arguments, format);
	vsnprintf(r->error + n, r->error_size - (size_t)n, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* Reads a number at *at, and sets *at behind it. */
static int read_number(struct reader *r, enum field field, char **at, uint64_t max, uint64_t *out)
{
	const char *name = field_names[field];
	char *begin = *at;
	uint64_t value = 0;

	if (*begin == '-')
		return fail(r, begin, "%s is negative", name);
	if (*begin < '0' || *begin > '9')
		return *begin ? fail(r, begin, "%s: '%.12s' is not a number", name, begin)
			      : fail(r, begin, "%s is missing", name);
	for (; **at >= '0' && **at <= '9'; ++*at) {
		value = value * 10 + (uint64_t)(**at - '0');
		if (value > max)
			return fail(r, begin, "%s is too large: more than %" PRIu64 "", name, max);
	}
	*out = value;
	return 0;
}

static int read_whole_number(struct reader *r, enum field field, uint64_t max, uint64_t *out)
{
	char *at = r->fields[field];
	int rc = read_number(r, field, &at, max, out);

	if (rc == 0 && *at)
		return fail(r, at, "%s: '%.12s' is not part of a number", field_names[field], at);
	return rc;
}

/* Reads "AxBxC", each at least 1. *out: the product. */
static int read_extent(struct reader *r, enum field field, uint64_t max, uint64_t *out)
{
	char *at = r->fields[field];
	uint64_t product = 1, side;
	int rc;

	for (int i = 0; i < 3; i++) {
		if (i > 0 && *at++ != 'x')
			return fail(r, at - 1, "%s must look like 8x4x1", field_names[field]);
		rc = read_number(r, field, &at, max, &side);
		if (rc)
			return rc;
		if (side == 0)
			return fail(r, at - 1, "%s has a dimension of 0", field_names[field]);
		product *= side;
		if (product > max)
			return fail(r, r->fields[field], "%s is too large: more than %" PRIu64 "",
				    field_names[field], max);
	}
	if (*at)
		return fail(r, at, "%s must look like 8x4x1", field_names[field]);
	*out = product;
	return 0;
}

static int must_be_empty(struct reader *r, enum field field, enum trace_op op)
{
	if (*r->fields[field])
		return fail(r, r->fields[field], "a %s row has no %s", op_names[op],
			    field_names[field]);
	return 0;
}

/* Cuts the line into its fields. The last field, the name, can contain commas. */
static int cut_fields(struct reader *r)
{
	char *at = r->text;

	for (int i = 0; i < FIELDS; i++) {
		char *comma;

		r->fields[i] = at;
		if (i == F_NAME)
			break;
		comma = strchr(at, ',');
		if (!comma)
			return fail(r, at + strlen(at), "the line ends after %d of %d fields",
				    i + 1, FIELDS);
		*comma = 0;
		at = comma + 1;
	}
	return 0;
}

static int read_op(struct reader *r, enum trace_op *out)
{
	for (size_t i = 0; i < sizeof(op_names) / sizeof(op_names[0]); i++)
		if (strcmp(r->fields[F_OP], op_names[i]) == 0) {
			*out = (enum trace_op)i;
			return 0;
		}
	return fail(r, r->text,
		    "unknown op '%.32s'; known ops are kernel, memcpy_h2d, memcpy_d2h, memcpy_d2d, "
		    "memset, sync",
		    r->fields[F_OP]);
}

static int read_launch(struct reader *r, uint64_t *out)
{
	int rc = read_whole_number(r, F_LAUNCH, TRACE_TIME_MAX, out);

	if (rc)
		return rc;
	if (*out < r->last_launch_ns)
		return fail(r, r->fields[F_LAUNCH], "launch_ns goes backwards");
	r->last_launch_ns = *out;
	return 0;
}

static int close_request(struct reader *r)
{
	struct trace *t = r->trace;
	struct trace_request request = {r->open_first, t->row_count - r->open_first, 0};
	int rc;

	for (enum field f = F_START; f < F_NAME; f++)
		if ((rc = must_be_empty(r, f, TRACE_SYNC)) != 0)
			return rc;
	if (request.count == 0)
		return fail(r, r->text, "sync without an operation before it");
	for (size_t i = request.first; i < t->row_count; i++)
		request.duration_ns += t->rows[i].duration_ns;
	rc = ARRAY_GROW(t->requests, r->request_room, t->request_count + 1);
	if (rc)
		return rc;
	t->requests[t->request_count++] = request;
	r->open_first = t->row_count;
	return 0;
}

static int read_row(struct reader *r)
{
	struct trace *t = r->trace;
	struct trace_row row = {0};
	uint64_t ignored;
	int rc;

	if ((rc = cut_fields(r)) || (rc = read_op(r, &row.op)) ||
	    (rc = read_launch(r, &row.launch_ns)))
		return rc;
	if (row.op == TRACE_SYNC)
		return close_request(r);
	if ((rc = read_whole_number(r, F_START, TRACE_TIME_MAX, &ignored)) ||
	    (rc = read_whole_number(r, F_DURATION, TRACE_DURATION_MAX, &row.duration_ns)))
		return rc;
	if (row.op == TRACE_KERNEL) {
		if ((rc = read_extent(r, F_GRID, TRACE_GRID_MAX, &row.groups)) ||
		    (rc = read_extent(r, F_BLOCK, TRACE_BLOCK_MAX, &row.threads)) ||
		    (rc = must_be_empty(r, F_BYTES, row.op)))
			return rc;
	} else {
		if ((rc = must_be_empty(r, F_GRID, row.op)) ||
		    (rc = must_be_empty(r, F_BLOCK, row.op)) ||
		    (rc = read_whole_number(r, F_BYTES, TRACE_BYTES_MAX, &row.bytes)))
			return rc;
		if (row.bytes == 0)
			return fail(r, r->fields[F_BYTES], "a %s row of 0 bytes", op_names[row.op]);
	}
	rc = ARRAY_GROW(t->rows, r->row_room, t->row_count + 1);
	if (rc)
		return rc;
	if (t->row_count == r->open_first)
		r->open_line = r->line;
	t->rows[t->row_count++] = row;
	return 0;
}

static int read_header(struct reader *r)
{
	size_t same = 0;

	while (r->text[same] && r->text[same] == HEADER[same])
		same++;
	if (r->text[same] || HEADER[same])
		return fail(r, r->text + same, "the first line must be %s", HEADER);
	return 0;
}

static int read_lines(struct reader *r, FILE *file)
{
	size_t room = 0;
	ssize_t length;
	int rc = 0;

	r->text = NULL;
	while (rc == 0 && (length = getline(&r->text, &room, file)) >= 0) {
		r->line++;
		if (strlen(r->text) != (size_t)length) {
			rc = fail(r, r->text + strlen(r->text), "a NUL byte: not a text file");
			break;
		}
		if (length > 0 && r->text[length - 1] == '\n')
			r->text[--length] = 0;
		if (length > 0 && r->text[length - 1] == '\r')
			r->text[--length] = 0;
		rc = r->line == 1 ? read_header(r) : read_row(r);
	}
	if (rc == 0 && ferror(file))
		rc = -errno;
	if (rc == 0 && r->line == 0) {
		r->line = 1;
		rc = fail(r, r->text, "the file is empty");
	}
	if (rc == 0 && r->open_first < r->trace->row_count) {
		r->line = r->open_line;
		rc = fail(r, r->text, "no sync row ends the request that begins here");
	}
	if (rc == 0 && r->trace->request_count == 0) {
		r->line = 2;
		rc = fail(r, r->text, "no operations: the file has only the header line");
	}
	free(r->text);
	return rc;
}

static char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t length = strlen(base);

	if (length > 4 && strcmp(base + length - 4, ".csv") == 0)
		length -= 4;
	return strndup(base, length);
}

int trace_read(const char *path, struct trace *out, char *error, size_t error_size)
{
	struct reader r = {.path = path, .trace = out, .error = error, .error_size = error_size};
	FILE *file;
	int rc;

	*out = (struct trace){0};
	*error = 0;
	file = fopen(path, "re");
	if (!file) {
		rc = -errno;
		snprintf(error, error_size, "%s: cannot be opened: %s", path, strerror(-rc));
		return rc;
	}
	rc = read_lines(&r, file);
	fclose(file);
	if (rc == 0) {
		out->name = name_of(path);
		rc = out->name ? 0 : -ENOMEM;
	}
	if (rc != 0) {
		if (!*error)
			snprintf(error, error_size, "%s: cannot be read: %s", path, strerror(-rc));
		trace_free(out);
	}
	return rc;
}

void trace_free(struct trace *trace)
{
	free(trace->name);
	free(trace->rows);
	free(trace->requests);
	*trace = (struct trace){0};
}

/* ---- the plan for a GPU ---- */

static uint64_t clamp_u64(uint64_t value, uint64_t low, uint64_t high)
{
	if (value > high)
		value = high;
	return value < low ? low : value;
}

static uint64_t ticks_of(uint64_t ns)
{
	return clamp_u64((ns + PLAN_TICK_NS / 2) / PLAN_TICK_NS, 1, UINT64_MAX);
}

static void plan_kernel(const struct trace_row *row, uint32_t cus, struct plan_op *op)
{
	/* The grid size in an AQL packet is a 32-bit number of threads. */
	uint64_t most = UINT32_MAX / PLAN_THREADS / cus;
	uint64_t shared = clamp_u64(PLAN_RECORDED_THREADS / row->threads, 1, UINT64_MAX);
	uint64_t wave = PLAN_RECORDED_CUS * shared; /* workgroups */
	uint64_t waves;

	if (row->groups < PLAN_RECORDED_CUS) {
		uint64_t share = row->groups * cus + PLAN_RECORDED_CUS / 2;

		op->workgroups = (uint32_t)clamp_u64(share / PLAN_RECORDED_CUS, 1, cus);
		op->ticks = ticks_of(row->duration_ns);
		return;
	}
	waves = (row->groups + wave / 2) / wave;
	waves = clamp_u64(waves, 1, clamp_u64(row->duration_ns / 1000, 1, most));
	op->workgroups = (uint32_t)(waves * cus);
	op->ticks = ticks_of((row->duration_ns + waves / 2) / waves);
}

static void plan_row(const struct trace_row *row, uint32_t cus, struct plan_op *op)
{
	op->duration_ns = row->duration_ns;
	op->bytes = row->bytes;
	switch (row->op) {
	case TRACE_KERNEL:
		op->kind = PLAN_SPIN;
		plan_kernel(row, cus, op);
		break;
	case TRACE_MEMSET:
		op->kind = PLAN_SPIN;
		op->workgroups = (uint32_t)clamp_u64(
			(row->bytes + MEMSET_BYTES_WORKGROUP - 1) / MEMSET_BYTES_WORKGROUP, 1, cus);
		op->ticks = ticks_of(row->duration_ns);
		break;
	case TRACE_MEMCPY_H2D:
		op->kind = PLAN_H2D;
		break;
	case TRACE_MEMCPY_D2H:
		op->kind = PLAN_D2H;
		break;
	case TRACE_MEMCPY_D2D:
	case TRACE_SYNC: /* does not occur: the reader stores no sync rows */
		op->kind = PLAN_D2D;
		break;
	}
}

static void plan_request(const struct trace *trace, const struct trace_request *from,
			 struct plan *plan, struct plan_request *request)
{
	*request = (struct plan_request){from->first, from->count, from->duration_ns, 0};
	for (size_t i = from->first; i < from->first + from->count; i++) {
		struct plan_op *op = &plan->ops[i];

		plan_row(&trace->rows[i], plan->compute_units, op);
		op->launch_ns = trace->rows[i].launch_ns - trace->rows[from->first].launch_ns;
		op->cell = request->cells;
		request->cells += op->workgroups;
		plan->uses[op->kind] = true;
		if (op->kind != PLAN_SPIN && op->bytes > plan->max_bytes)
			plan->max_bytes = op->bytes;
	}
	if (request->count > plan->max_ops)
		plan->max_ops = request->count;
	if (request->cells > plan->max_cells)
		plan->max_cells = request->cells;
}

int plan_make(const struct trace *trace, uint32_t compute_units, struct plan *out)
{
	double total = 0;

	*out = (struct plan){.compute_units = compute_units};
	if (compute_units == 0 || compute_units > UINT16_MAX || trace->request_count == 0)
		return -EINVAL;
	out->ops = calloc(trace->row_count, sizeof(*out->ops));
	out->requests = calloc(trace->request_count, sizeof(*out->requests));
	if (!out->ops || !out->requests) {
		plan_free(out);
		return -ENOMEM;
	}
	out->op_count = trace->row_count;
	out->request_count = trace->request_count;
	for (size_t i = 0; i < trace->request_count; i++) {
		plan_request(trace, &trace->requests[i], out, &out->requests[i]);
		total += (double)out->requests[i].duration_ns;
	}
	out->mean_ns = total / (double)out->request_count;
	return 0;
}

void plan_free(struct plan *plan)
{
	free(plan->ops);
	free(plan->requests);
	*plan = (struct plan){0};
}
