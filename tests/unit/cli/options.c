// SPDX-License-Identifier: MIT
/*
 * Proves the options and words of a command: every type of value with its bounds, the messages
 * about wrong values, and that no state of one parse remains for the next.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/util/parse_options.h"

#define WORDS 8

static const char *const formats[] = {"table", "c", "json", NULL};
static const struct cli_command cmd = {.name = "look", .usage = "PID", .help = "Looks.\n"};

static struct {
	bool all, json;
	unsigned format;
	double time_us, seconds_us;
	struct option_number load;
	unsigned long times, level;
	const char *text, *directory, *socket, *priority, *dir, *file;
	int other, pid;
	size_t bytes;
} got;
static char line[512]; /* the last parse's output on stderr */
static char **rest;

static int read_bytes(const char *text, void *into)
{
	size_t *bytes = into;

	*bytes = strlen(text);
	return *bytes == 3 ? 0 : -1;
}

static const struct cli_option without_words[] = {
	{OPTION_FLAG("all", &got.all), .letter = 'a'},
	{OPTION_CHOICE("format", &got.format, formats)},
	{OPTION_IS("json", &got.format, 2)},
	{OPTION_TIME("time", &got.time_us, 10e3, 1e6, "a time of 10ms to 1s")},
	{OPTION_SECONDS("seconds", &got.seconds_us, 0, 60e6, "seconds, at most a minute")},
	{OPTION_NUMBER("load", &got.load, 2, "a number up to 2")},
	{OPTION_COUNT(NULL, &got.times, 1, 100, "1 to 100"), .letter = 'n'},
	{OPTION_COUNT("level", &got.level, 1, 5, "a level of 1 to 5"), .without = "4"},
	{OPTION_TEXT("text", &got.text)},
	{OPTION_NAME("output", &got.directory, 5, "a folder"), .letter = 'o'},
	{OPTION_PRIORITY(&got.priority)},
	{OPTION_PID("pid", &got.other)},
	{OPTION_READ("bytes", &got.bytes, read_bytes, "three bytes")},
	{OPTION_SOCKET(&got.socket)},
	{0},
};
static const struct cli_option with_file[] = {
	{OPTION_FLAG("all", &got.all), .letter = 'a'},
	{OPTION_JSON_FILE(&got.file)},
	{0},
};
static const struct cli_option with_words[] = {
	{OPTION_JSON(&got.json)},
	{WORD_PID(&got.pid)},
	{OPTION_CHOICE("format", &got.format, formats), .word = true},
	{OPTION_TEXT("folder", &got.dir), .word = true, .optional = true},
	{0},
};

/* Each parse gets a command line of its own, because getopt reorders it. */
static int code_of(const struct cli_option *options, bool command, const char *const *words)
{
	static char *argv[WORDS + 2];
	FILE *errors = tmpfile();
	int argc = 1, code, saved = dup(STDERR_FILENO);

	memset(&got, 0, sizeof(got));
	memset(argv, 0, sizeof(argv));
	argv[0] = (char *)(uintptr_t) "look";
	for (; *words; words++)
		argv[argc++] = (char *)(uintptr_t)*words;
	assert_non_null(errors);
	dup2(fileno(errors), STDERR_FILENO);
	code = command ? options_before_command(&cmd, argc, argv, options, &rest)
		       : options_read(&cmd, argc, argv, options);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(errors);
	line[fread(line, 1, sizeof(line) - 1, errors)] = '\0';
	fclose(errors);
	return code;
}

#define READ(OPTIONS, ...)                                                                         \
	assert_int_equal(code_of(OPTIONS, false, (const char *const[]){__VA_ARGS__, NULL}),        \
			 CLI_GO_ON)
/* Asserts also that the message is one line, which ends with the usage. */
#define WRONG(OPTIONS, MESSAGE, ...)                                                               \
	do {                                                                                       \
		const char *const words[] = {__VA_ARGS__, NULL};                                   \
                                                                                                   \
		assert_int_equal(code_of(OPTIONS, false, words), CLI_USAGE);                       \
		assert_string_equal(line,                                                          \
				    "kfdsched look: " MESSAGE "; usage: kfdsched look PID\n");     \
	} while (0)

static void values_are_read(void **state)
{
	(void)state;
	READ(without_words, "--all", "--format", "c", "--time", "10ms");
	assert_true(got.all && got.format == 1 && got.time_us == 10e3);
	READ(without_words, "-a", "-n", "100", "--seconds=0.5", "--load", "2");
	assert_true(got.all && got.times == 100 && got.seconds_us == 0.5e6);
	assert_true(got.load.value == 2 && !strcmp(got.load.text, "2"));
	READ(without_words, "-n7", "--seconds", "500ms", "-oabcde", "--text", "");
	assert_true(got.times == 7 && got.seconds_us == 0.5e6);
	assert_string_equal(got.directory, "abcde");
	assert_string_equal(got.text, "");
	READ(without_words, "--priority", "offline", "--pid", "12", "--bytes", "abc", "--json");
	assert_string_equal(got.priority, "offline");
	assert_true(got.other == 12 && got.bytes == 3 && got.format == 2);
	READ(without_words, "--json", "--format", "table");
	assert_int_equal(got.format, 0);
}

static void a_value_can_be_omitted(void **state)
{
	(void)state;
	READ(without_words, "--level");
	assert_int_equal(got.level, 4);
	READ(without_words, "--level=2");
	assert_int_equal(got.level, 2);
	WRONG(without_words, "--level takes a level of 1 to 5, not '6'", "--level=6");
	WRONG(without_words, "unexpected argument '2'", "--level", "2");
}

static void json_is_for_stdout_or_a_file(void **state)
{
	(void)state;
	READ(with_file, "--json");
	assert_string_equal(got.file, "-");
	READ(with_file, "--json", "-");
	assert_string_equal(got.file, "-");
	READ(with_file, "--json", "--all");
	assert_true(!strcmp(got.file, "-") && got.all);
	READ(with_file, "--json", "-a");
	assert_true(!strcmp(got.file, "-") && got.all);
	READ(with_file, "--json", "a.json", "--all");
	assert_true(!strcmp(got.file, "a.json") && got.all);
	READ(with_file, "--json=-a");
	assert_true(!strcmp(got.file, "-a") && !got.all);
	READ(with_file, "--all");
	assert_null(got.file);
	WRONG(with_file, "unexpected argument 'b.json'", "--json", "a.json", "b.json");
}

static void the_socket_is_the_sessions(void **state)
{
	(void)state;
	setenv("KFDSHIM_SOCKET", "/there", 1);
	READ(without_words, "--all");
	assert_string_equal(got.socket, "/there");
	READ(without_words, "--socket", "/here");
	assert_string_equal(got.socket, "/here");
	unsetenv("KFDSHIM_SOCKET");
}

static void bounds_hold(void **state)
{
	(void)state;
	WRONG(without_words, "--time takes a time of 10ms to 1s, not '9.9ms'", "--time", "9.9ms");
	WRONG(without_words, "--time takes a time of 10ms to 1s, not '1.1s'", "--time", "1.1s");
	WRONG(without_words, "--time takes a time of 10ms to 1s, not '1'", "--time", "1");
	WRONG(without_words, "--seconds takes seconds, at most a minute, not '61'", "--seconds",
	      "61");
	WRONG(without_words, "--seconds takes seconds, at most a minute, not '0'", "--seconds",
	      "0");
	WRONG(without_words, "--load takes a number up to 2, not '2.1'", "--load", "2.1");
	WRONG(without_words, "--load takes a number up to 2, not 'inf'", "--load", "inf");
	WRONG(without_words, "-n takes 1 to 100, not '0'", "-n", "0");
	WRONG(without_words, "-n takes 1 to 100, not '101'", "-n101");
	WRONG(without_words, "-n takes 1 to 100, not '-1'", "-n", "-1");
	WRONG(without_words, "-n takes 1 to 100, not '5x'", "-n", "5x");
	WRONG(without_words, "-n takes 1 to 100, not '99999999999999999999'", "-n",
	      "99999999999999999999");
	WRONG(without_words, "--output takes a folder, not ''", "-o", "");
	WRONG(without_words, "--output takes a folder, not 'abcdef'", "--output", "abcdef");
	WRONG(without_words, "--format takes table, c or json, not 'xml'", "--format", "xml");
	WRONG(without_words, "--priority takes online, offline or 0 to 15, not '16'", "--priority",
	      "16");
	WRONG(without_words, "--pid takes a process id, not '0'", "--pid", "0");
	WRONG(without_words, "--bytes takes three bytes, not 'ab'", "--bytes", "ab");
}

static void what_is_no_option_is_reported(void **state)
{
	(void)state;
	WRONG(without_words, "unknown option --nosuch", "--nosuch");
	WRONG(without_words, "unknown option -x", "-x");
	WRONG(without_words, "unknown option -x", "-ax");
	WRONG(without_words, "unknown option -x", "--all", "-ax");
	WRONG(without_words, "wrong option --all=1", "--all=1");
	WRONG(without_words, "wrong option --help=1", "--help=1");
	WRONG(without_words, "--text needs a value", "--text");
	WRONG(without_words, "-n needs a value", "-n");
	WRONG(without_words, "unexpected argument '12'", "12");
	WRONG(without_words, "unexpected argument '--all'", "--", "--all");
}

static void words_are_read_in_order(void **state)
{
	(void)state;
	READ(with_words, "12", "--json", "json");
	assert_true(got.pid == 12 && got.json && got.format == 2 && !got.dir);
	READ(with_words, "12", "c", "--", "--here");
	assert_string_equal(got.dir, "--here");
	WRONG(with_words, "no PID", "--json");
	WRONG(with_words, "no format", "12");
	WRONG(with_words, "'0' is not a valid process id", "0", "c");
	WRONG(with_words, "'12x' is not a valid process id", "12x", "c");
	WRONG(with_words, "'99999999999' is not a valid process id", "99999999999", "c");
	WRONG(with_words, "'xml' is not a valid format: table, c or json", "12", "xml");
	WRONG(with_words, "unexpected argument 'more'", "12", "c", "here", "more");
}

static void a_command_is_left_alone(void **state)
{
	static const char *const plain[] = {"-a", "sleep", "--all", NULL};
	static const char *const behind[] = {"--", "-a", NULL};
	static const char *const none[] = {"--all", NULL};

	(void)state;
	assert_int_equal(code_of(without_words, true, plain), CLI_GO_ON);
	assert_string_equal(rest[0], "sleep");
	assert_string_equal(rest[1], "--all");
	assert_null(rest[2]);
	assert_string_not_equal(rest[-1], "--");
	assert_int_equal(code_of(without_words, true, behind), CLI_GO_ON);
	assert_false(got.all);
	assert_string_equal(rest[0], "-a");
	assert_string_equal(rest[-1], "--");
	assert_int_equal(code_of(without_words, true, none), CLI_GO_ON);
	assert_null(rest[0]);
}

/* getopt keeps its position, also within a group of letters. */
static void every_reading_begins_anew(void **state)
{
	(void)state;
	WRONG(without_words, "unknown option -x", "-axa");
	READ(without_words, "-a");
	assert_true(got.all);
	READ(with_words, "--json", "1", "c");
	assert_true(got.json && got.pid == 1);
	READ(without_words, "--all");
	assert_true(got.all);
}

static void help_is_always_there(void **state)
{
	static const char *const ways[][3] = {
		{"--help", NULL}, {"-h", NULL}, {"--all", "--help", NULL}};

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		assert_int_equal(code_of(without_words, false, ways[i]), CLI_DONE);
		assert_int_equal(code_of(with_words, false, ways[i][1] ? ways[0] : ways[i]),
				 CLI_DONE);
		assert_string_equal(line, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_read),
		cmocka_unit_test(a_value_can_be_omitted),
		cmocka_unit_test(json_is_for_stdout_or_a_file),
		cmocka_unit_test(the_socket_is_the_sessions),
		cmocka_unit_test(bounds_hold),
		cmocka_unit_test(what_is_no_option_is_reported),
		cmocka_unit_test(words_are_read_in_order),
		cmocka_unit_test(a_command_is_left_alone),
		cmocka_unit_test(every_reading_begins_anew),
		cmocka_unit_test(help_is_always_there),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
