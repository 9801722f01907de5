// SPDX-License-Identifier: MIT
/* Prints the result of a colocate run as text: tables and sentences. */
#include <string.h>

#include "cli/colocate/result.h"

const char *result_arrivals(const struct colocation *run, char *text, size_t size)
{
	static const struct {
		const char *kind, *description;
	} kinds[] = {
		{"poisson", "Poisson arrivals"},
		{"fixed", "arrivals at fixed intervals"},
		{"bursty", "arrivals in bursts"},
	};
	const char *description = "recorded arrivals";
	int n;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(run->arrivals ? run->arrivals : "poisson", kinds[i].kind) == 0)
			description = kinds[i].description;
	n = snprintf(text, size, "%s, ", description);
	if (isnan(run->load))
		n += snprintf(text + n, size - (size_t)n, "%g requests/s", run->rate_per_s);
	else
		n += snprintf(text + n, size - (size_t)n, "load %g %%", 100 * run->load);
	if (run->online_clients.count > 1)
		snprintf(text + n, size - (size_t)n, " in total");
	return text;
}

void result_conditions(const struct colocation *run, const struct result_verdict *verdict,
		       char *text, size_t size)
{
	char update[QUANTITY_BYTES], save[QUANTITY_BYTES], restore[QUANTITY_BYTES];

	if (!run->simulated) {
		snprintf(text, size,
			 "hardware: times are wall time; the cost of a bounce is not known");
		return;
	}
	quantity_us(update, run->update_us);
	int n = snprintf(text, size, "%s, %stime scale %g, bounce %s", run->profile,
			 run->is_virtual ? "virtual time, " : "", run->time_scale, update);

	if (!isnan(verdict->save_us) && !isnan(verdict->restore_us) && n > 0 && (size_t)n < size)
		n += snprintf(text + n, size - (size_t)n, ", median save %s, restore %s",
			      quantity_us(save, verdict->save_us),
			      quantity_us(restore, verdict->restore_us));
	if (n > 0 && (size_t)n < size)
		snprintf(text + n, size - (size_t)n, " (assumed)");
}

/* Adds cells with four latencies and the number of requests. */
static void latency_cells(struct table *table, const struct online_stats *online)
{
	const double latencies[] = {online->p50_us, online->p90_us, online->p99_us,
				    online->p999_us};
	char text[QUANTITY_BYTES];

	for (unsigned i = 0; i < 4; i++)
		table_cell(table, "%s",
			   online->keeps_up ? quantity_us(text, latencies[i]) : TABLE_UNKNOWN);
	table_cell(table, "%" JSON_INTEGER_FORMAT, online->requests);
}

static void of_alone_cell(struct table *table, double of_alone)
{
	if (isnan(of_alone))
		table_cell(table, TABLE_UNKNOWN);
	else
		table_cell(table, "%.0f %%", 100 * of_alone);
}

static void blank_cells(struct table *table, unsigned n)
{
	while (n--)
		table_cell(table, "%s", "");
}

static void arm_row(struct table *table, const struct colocation *run,
		    const struct result_verdict *verdict, enum arm which)
{
	const struct arm_stats *arm = &run->arms[which];

	table_row(table);
	table_cell(table, "%s", arm_kinds[which].name);
	latency_cells(table, &arm->online);
	table_cell(table, "%.2f", arm->offline.steps);
	of_alone_cell(table, verdict->of_alone[which]);
	if (arm_is_counted(which))
		table_cell(table, "%llu", (unsigned long long)arm->suspends);
	else
		table_cell(table, TABLE_UNKNOWN);
}

/* Adds a row for each client below the row of an arm (a compared configuration), if there are
 * several online or several offline clients. */
static void client_rows(struct table *table, const struct colocation *run, enum arm which)
{
	const struct client_set *online = &run->online_clients, *offline = &run->offline_clients;
	const struct arm_stats *arm = &run->arms[which];

	for (unsigned i = 0; online->count > 1 && i < online->count; i++) {
		table_row(table);
		table_cell(table, "  %s", online->traces[i]);
		latency_cells(table, client_online(run, arm, i));
	}
	for (unsigned i = 0; offline->count > 1 && i < offline->count; i++) {
		table_row(table);
		if (offline->groups[i])
			table_cell(table, "  %s (%s)", offline->traces[i], offline->groups[i]);
		else
			table_cell(table, "  %s", offline->traces[i]);
		blank_cells(table, 5);
		table_cell(table, "%.2f", client_offline(run, arm, i)->steps);
		of_alone_cell(table, client_of_alone(run, which, i));
	}
}

static void range_cell(struct table *table, const struct value_range *range)
{
	char low[QUANTITY_BYTES], high[QUANTITY_BYTES];

	quantity_us(low, range->low);
	quantity_us(high, range->high);
	/* Print the unit once, as in "1.08-1.12 ms", if both values have the same unit. */
	if (strcmp(strchr(low, ' '), strchr(high, ' ')) == 0)
		*strchr(low, ' ') = '\0';
	table_cell(table, "%s-%s", low, high);
}

/* Adds a row below the row of an arm (a compared configuration): the lowest and highest values of
 * its seeds. */
static void spread_row(struct table *table, const struct colocation *run, enum arm which)
{
	const struct spread *spread = &run->spread[which];
	const struct value_range *const latencies[] = {&spread->p50_us, &spread->p90_us,
						       &spread->p99_us, &spread->p999_us};

	table_row(table);
	table_cell(table, "  %u seeds", run->seeds);
	if (run->arms[which].online.keeps_up)
		for (unsigned i = 0; i < 4; i++)
			range_cell(table, latencies[i]);
	else
		blank_cells(table, 4);
	table_cell(table, "%s", "");
	table_cell(table, "%.2f-%.2f", spread->steps.low, spread->steps.high);
	if (isnan(spread->of_alone.low))
		table_cell(table, TABLE_UNKNOWN);
	else
		table_cell(table, "%.0f-%.0f %%", 100 * spread->of_alone.low,
			   100 * spread->of_alone.high);
}

static void print_times(const struct colocation *run, FILE *out)
{
	json_t *rows = json_array();

	for (unsigned i = 0; i < ARM_COUNT; i++) {
		json_t *row;

		if (!run->arms[i].ran)
			continue;
		row = time_json(&run->arms[i].time);
		json_object_set_new(row, "arm", json_string(arm_kinds[i].name));
		json_array_append_new(rows, row);
	}
	render_table(fields_colocate_time_row,
		     "arm,offline_ran,online,bounces,save_restore,detection,hold_over,"
		     "idle_held,own_gaps",
		     rows, out);
}

static void print_bound(const struct colocation *run, const struct result_verdict *verdict,
			enum arm arm, FILE *out)
{
	const struct arm_kind *kind = &arm_kinds[arm];
	const char *costs = "";
	char floor[QUANTITY_BYTES], p99[QUANTITY_BYTES];

	if (isnan(verdict->floor_us[arm]))
		return;
	quantity_us(floor, verdict->floor_us[arm]);
	if (kind->preempts)
		costs = isnan(verdict->save_us) ? " + 2 bounces (no save was charged)"
						: " + 2 bounces + save";
	fprintf(out, "floor: alone P99%s = %s%s%s; ", costs, floor, kind->beyond ? ", " : "",
		kind->beyond ? kind->beyond : "");
	if (isnan(verdict->bound[arm]))
		fprintf(out, "%s does not keep up\n", kind->name);
	else
		fprintf(out, "%s P99 %s is %.2f x the floor\n", kind->name,
			quantity_us(p99, run->arms[arm].online.p99_us), verdict->bound[arm]);
}

static void print_heading(const struct colocation *run, const struct result_verdict *verdict,
			  FILE *out)
{
	char conditions[256], arrivals[96];

	result_conditions(run, verdict, conditions, sizeof(conditions));
	fprintf(out, "%s%s\n", run->simulated ? "SIMULATED GPU: " : "", conditions);
	fprintf(out, "online %s, %s; offline %s, closed loop; %g s%s a window%s\n", run->online,
		result_arrivals(run, arrivals, sizeof(arrivals)), run->offline, run->seconds,
		run->is_virtual ? "" : " (wall)",
		run->simulated ? "; times below are model time" : "");
	if (run->seeds > 1)
		fprintf(out,
			"%u seeds: medians of the percentiles, means of the steps, totals of the "
			"rest; the lowest and the highest below\n",
			run->seeds);
	if (run->offline_clients.count > 1)
		fprintf(out, "a row of an arm: a step of each offline client counts by its GPU "
			     "time, 1 for the mean of theirs\n");
	fputc('\n', out);
}

static void print_arms(const struct colocation *run, const struct result_verdict *verdict,
		       FILE *out)
{
	struct table *table =
		table_new("<ARM|P50|P90|P99|P99.9|REQUESTS|OFFLINE STEPS|OF ALONE|SUSPENDS");

	for (unsigned i = 0; i < ARM_COUNT; i++) {
		if (!run->arms[i].ran)
			continue;
		arm_row(table, run, verdict, (enum arm)i);
		if (run->seeds > 1)
			spread_row(table, run, (enum arm)i);
		client_rows(table, run, (enum arm)i);
	}
	table_print(table, out);
	for (unsigned i = 0; i < ARM_COUNT; i++)
		if (run->arms[i].ran && !run->arms[i].online.keeps_up)
			fprintf(out,
				"%s: online does not keep up, so latencies would show the length of the window\n",
				arm_kinds[i].name);
}

void result_print(const struct colocation *run, const struct result_verdict *verdict, FILE *out)
{
	print_heading(run, verdict, out);
	print_arms(run, verdict, out);
	fputc('\n', out);
	print_times(run, out);
	fputc('\n', out);
	for (unsigned i = 0; i < ARM_COUNT; i++)
		print_bound(run, verdict, (enum arm)i, out);
	result_print_possible(run, verdict, out);
	if (verdict->validity == RESULT_INVALID)
		fprintf(out, "INVALID: %s\n", verdict->reason);
	else if (verdict->validity == RESULT_NOT_EVALUATED)
		fprintf(out, "validity not checked: %s\n", verdict->reason);
}
