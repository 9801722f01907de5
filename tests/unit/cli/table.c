// SPDX-License-Identifier: MIT
/* Proves that tables are aligned whatever the cells contain, and that quantities have a unit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/output/fields.h"

/* Frees the table. */
static char *printed(struct table *table)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	table_print(table, out);
	fclose(out);
	return text;
}

static void test_aligns(void **state)
{
	struct table *table = table_new("<NAME|N|<LAST");

	(void)state;
	table_row(table);
	table_cell(table, "a");
	table_cell(table, "%d", 12345);
	table_cell(table, "x");
	table_row(table);
	table_cell(table, "längst");
	table_cell(table, "1");
	table_cell(table, "%s", "");
	char *text = printed(table);

	assert_string_equal(text, "NAME        N  LAST\n"
				  "a       12345  x\n"
				  "längst      1\n");
	free(text);
}

static void test_defuses_names(void **state)
{
	struct table *table = table_new("<A");

	(void)state;
	table_row(table);
	table_cell(table, "%s", "a\033[2J\n\302\233b\177");
	char *text = printed(table);

	assert_string_equal(text, "A\na?[2J???b?\n");
	free(text);
}

static void test_titles_alone(void **state)
{
	char *text = printed(table_new("<A|B"));

	(void)state;
	assert_string_equal(text, "A  B\n");
	free(text);
}

static void test_quantities(void **state)
{
	static const struct {
		double us;
		const char *text;
	} cases[] = {
		{NAN, "-"},	   {0, "0 us"},	      {0.254, "0.25 us"}, {12.34, "12.3 us"},
		{909.4, "909 us"}, {999.4, "999 us"}, {999.6, "1.00 ms"}, {2475, "2.48 ms"},
		{99960, "100 ms"}, {1.5e6, "1.50 s"}, {3.6e9, "3600 s"},  {9.996, "10.0 us"},
	};
	char text[QUANTITY_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(quantity_us(text, cases[i].us), cases[i].text);
	assert_string_equal(quantity_bytes(text, 0), "0 B");
	assert_string_equal(quantity_bytes(text, 100), "100 B");
	assert_string_equal(quantity_bytes(text, 65536), "64 KiB");
	assert_string_equal(quantity_bytes(text, 1ull << 40), "1024 GiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_aligns),
		cmocka_unit_test(test_defuses_names),
		cmocka_unit_test(test_titles_alone),
		cmocka_unit_test(test_quantities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
