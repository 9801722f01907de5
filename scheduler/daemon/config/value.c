// SPDX-License-Identifier: MIT
#include "scheduler/daemon/config/value.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "common/parse.h"

/* the only possible address, because metrics are not for other machines */
#define LISTEN "127.0.0.1:"

static const struct {
	const char *name;
	uint64_t ns;
} suffixes[] = {{"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
#define SUFFIXES (sizeof(suffixes) / sizeof(*suffixes))

bool value_number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t number;

	if (!parse_uint(text, &number) || number < min || number > max)
		return false;
	*out = number;
	return true;
}

bool value_time(const char *text, uint64_t min_ns, uint64_t max_ns, uint64_t *out_ns)
{
	uint64_t ns;

	if (!parse_time_ns(text, &ns) || ns < min_ns || ns > max_ns)
		return false;
	*out_ns = ns;
	return true;
}

bool value_percent(const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
	size_t length = strspn(text, "0123456789");
	char digits[16];
	uint64_t number;

	if (length >= sizeof(digits) ||
	    strcmp(text + length + strspn(text + length, " \t"), "%") != 0)
		return false;
	memcpy(digits, text, length);
	digits[length] = '\0';
	if (!value_number(digits, min, max, &number))
		return false;
	*out = (uint32_t)number;
	return true;
}

bool value_yes_no(const char *text, bool *out)
{
	bool yes = strcmp(text, "yes") == 0;

	if (!yes && strcmp(text, "no") != 0)
		return false;
	*out = yes;
	return true;
}

/* Parses a uid or gid. The largest number is not an id: for chown(2) and other calls it means
 * "unchanged". */
static bool id(const char *text, uint32_t *out)
{
	uint64_t number;

	if (!value_number(text, 0, UINT32_MAX - 1, &number))
		return false;
	*out = (uint32_t)number;
	return true;
}

bool value_user(const char *text, uid_t *out)
{
	const struct passwd *entry;

	if (id(text, out))
		return true;
	entry = *text ? getpwnam(text) : NULL;
	if (!entry)
		return false;
	*out = entry->pw_uid;
	return true;
}

bool value_group(const char *text, gid_t *out)
{
	const struct group *entry;

	if (id(text, out))
		return true;
	entry = *text ? getgrnam(text) : NULL;
	if (!entry)
		return false;
	*out = entry->gr_gid;
	return true;
}

bool value_name(const char *text, char *out, size_t size)
{
	size_t length = strlen(text);

	if (length == 0 || length >= size ||
	    strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
		    length)
		return false;
	memcpy(out, text, length + 1);
	return true;
}

bool value_listen(const char *text, uint16_t *out)
{
	const size_t prefix = sizeof(LISTEN) - 1;
	uint64_t port;

	if (strcmp(text, "off") == 0) {
		*out = 0;
		return true;
	}
	if (strncmp(text, LISTEN, prefix) != 0 || !value_number(text + prefix, 1, 65535, &port))
		return false;
	*out = (uint16_t)port;
	return true;
}

bool value_next(const char **at, char *item, size_t size)
{
	const char *begin = *at, *end;
	size_t length;

	if (!begin)
		return false;
	end = strchr(begin, ',');
	*at = end ? end + 1 : NULL;
	begin += strspn(begin, " \t");
	length = end && end > begin ? (size_t)(end - begin) : end ? 0 : strlen(begin);
	while (length && (begin[length - 1] == ' ' || begin[length - 1] == '\t'))
		length--;
	if (length >= size)
		length = 0;
	memcpy(item, begin, length);
	item[length] = '\0';
	return true;
}

void value_time_text(uint64_t ns, char text[static 24])
{
	size_t suffix = SUFFIXES - 1;

	while (suffix && (ns == 0 || ns % suffixes[suffix].ns))
		suffix--;
	snprintf(text, 24, "%llu%s", (unsigned long long)(ns / suffixes[suffix].ns),
		 suffixes[suffix].name);
}
