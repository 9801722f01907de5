// SPDX-License-Identifier: MIT
#include "cli/util/read_files.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/allocate.h"
#include "common/parse.h"

#define MOST_BYTES (1u << 20) /* maximum of bytes that read_whole() returns */

/* Opens the file whose path results from the printf format and its arguments. Returns NULL with
 * errno on error. */
static FILE *open_it(const char *format, va_list ap)
{
	char path[PATH_MAX];

	if (vsnprintf(path, sizeof(path), format, ap) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	return fopen(path, "re");
}

/* Reads the first line of `file` and closes it. If `file` is NULL, opening it has failed, and errno
 * has the reason. Returns 0; -ENODATA for an empty file; or another negative errno. */
static int first_line(char *text, size_t size, FILE *file)
{
	char line[512];

	if (!file)
		return -errno;
	errno = 0;
	bool got = fgets(line, sizeof(line), file);
	int error = errno; /* a driver can refuse read() although open() has succeeded */

	fclose(file);
	if (!got)
		return error ? -error : -ENODATA;
	line[strcspn(line, "\n")] = '\0';
	snprintf(text, size, "%s", line);
	return 0;
}

int read_text(char *text, size_t size, const char *path, ...)
{
	va_list ap;

	va_start(ap, path);
	int rc = first_line(text, size, open_it(path, ap));
	va_end(ap);
	return rc;
}

/* Parses a decimal number, or "Y" as 1 and "N" as 0. Returns 0 or -EINVAL. */
static int parse(int64_t *out, const char *text)
{
	char *end;

	if (!strcmp(text, "Y") || !strcmp(text, "N")) {
		*out = text[0] == 'Y';
		return 0;
	}
	errno = 0;
	long long value = strtoll(text, &end, 10);

	if (errno || end == text || (*end != '\0' && *end != '\n'))
		return -EINVAL;
	*out = value;
	return 0;
}

int read_number(int64_t *out, const char *path, ...)
{
	char text[64];
	va_list ap;

	va_start(ap, path);
	int rc = first_line(text, sizeof(text), open_it(path, ap));
	va_end(ap);
	return rc ? rc : parse(out, text);
}

/* Reads `file` up to the first line that begins with `key`, and closes it. *value then points to
 * the text behind the key, in `line`. Returns 0, -ENODATA if there is no such line, or another
 * negative errno. */
static int find(char line[256], const char **value, const char *key, FILE *file)
{
	size_t length = strlen(key);
	int rc = -ENODATA;

	if (!file)
		return -errno;
	errno = 0;
	while (rc && fgets(line, 256, file)) {
		if (strncmp(line, key, length) || !strchr(" \t:", line[length]))
			continue;
		*value = line + length + strspn(line + length, " \t:");
		rc = 0;
	}
	if (rc && errno)
		rc = -errno;
	fclose(file);
	return rc;
}

int read_property(int64_t *out, const char *key, const char *path, ...)
{
	const char *value;
	char line[256];
	va_list ap;

	va_start(ap, path);
	int rc = find(line, &value, key, open_it(path, ap));
	va_end(ap);
	return rc ? rc : parse(out, value);
}

int read_mask(uint64_t *out, const char *key, const char *path, ...)
{
	const char *value;
	char line[256], *end;
	va_list ap;

	va_start(ap, path);
	int rc = find(line, &value, key, open_it(path, ap));
	va_end(ap);
	if (rc)
		return rc;
	unsigned long long mask = strtoull(value, &end, 16);

	if (end == value)
		return -EINVAL;
	*out = mask;
	return 0;
}

char *read_whole(size_t *bytes, const char *path, ...)
{
	char *text;
	va_list ap;

	va_start(ap, path);
	FILE *file = open_it(path, ap);

	va_end(ap);
	if (!file)
		return NULL;
	text = allocate(MOST_BYTES + 1, 1);
	*bytes = fread(text, 1, MOST_BYTES, file);
	int error = ferror(file) ? EIO : 0;

	fclose(file);
	if (error) {
		free(text);
		errno = error;
		return NULL;
	}
	text[*bytes] = '\0';
	return text;
}

void read_word(char *text, size_t size, const json_t *object, const char *key)
{
	const char *word = json_string_value(json_object_get(object, key));

	snprintf(text, size, "%s", word ? word : "");
}

int64_t read_integer(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

int read_bytes(int64_t *out, const char *text)
{
	uint64_t bytes;

	if (!parse_bytes(text, &bytes) || bytes > INT64_MAX)
		return -EINVAL;
	*out = (int64_t)bytes;
	return 0;
}
