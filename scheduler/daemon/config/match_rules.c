// SPDX-License-Identifier: MIT
#include "scheduler/daemon/config/match_rules.h"

#include <string.h>

#define HEX "0123456789abcdef"

static bool take_ids(struct rule_ids *out, const char *text,
		     bool (*parse)(const char *text, uint32_t *id))
{
	char item[VALUE_NAME];

	for (out->count = 0; value_next(&text, item, sizeof(item)); out->count++)
		if (out->count == RULE_VALUES || !parse(item, &out->id[out->count]))
			return false;
	return true;
}

bool rules_take_uids(struct rule_ids *out, const char *text)
{
	return take_ids(out, text, value_user);
}

bool rules_take_gids(struct rule_ids *out, const char *text)
{
	return take_ids(out, text, value_group);
}

static bool is_path(const char *text)
{
	return text[0] == '/';
}

static bool is_container(const char *text)
{
	size_t length = strspn(text, HEX);

	return !text[length] && length >= CONTAINER_MIN && length <= CONTAINER_ID;
}

static bool take_texts(struct rule_texts *out, const char *text, bool (*allowed)(const char *text))
{
	char item[RULE_PATTERN];

	for (out->count = 0; value_next(&text, item, sizeof(item)); out->count++) {
		if (out->count == RULE_VALUES || !allowed(item))
			return false;
		memcpy(out->text[out->count], item, sizeof(item));
	}
	return true;
}

bool rules_take_paths(struct rule_texts *out, const char *text)
{
	return take_texts(out, text, is_path);
}

bool rules_take_containers(struct rule_texts *out, const char *text)
{
	return take_texts(out, text, is_container);
}

/* ---- grants ---- */

/* Returns the text after `word` and blanks if `text` begins with them, otherwise NULL. */
static const char *after(const char *text, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(text, word, length) != 0 || (text[length] != ' ' && text[length] != '\t'))
		return NULL;
	text += length;
	return text + strspn(text, " \t");
}

static bool take_party(struct party *out, const char *text)
{
	const char *rest;

	*out = (struct party){.kind = PARTY_ALL};
	if (strcmp(text, "all") == 0)
		return true;
	rest = after(text, "uid");
	if (rest) {
		out->kind = PARTY_UID;
		return value_user(rest, &out->id);
	}
	rest = after(text, "gid");
	if (rest) {
		out->kind = PARTY_GID;
		return value_group(rest, &out->id);
	}
	rest = after(text, "cgroup");
	if (!rest || !is_path(rest) || strlen(rest) >= sizeof(out->cgroup))
		return false;
	out->kind = PARTY_CGROUP;
	strcpy(out->cgroup, rest);
	return true;
}

bool rules_take_grant(struct authority *out, const char *text)
{
	static const char over[] = " over ";
	const char *middle = strstr(text, over);
	char preemptor[RULE_PATTERN];
	size_t length;

	if (!middle || out->count == GRANTS_MAX)
		return false;
	length = (size_t)(middle - text);
	while (length && (text[length - 1] == ' ' || text[length - 1] == '\t'))
		length--;
	if (length >= sizeof(preemptor))
		return false;
	memcpy(preemptor, text, length);
	preemptor[length] = '\0';
	middle += sizeof(over) - 1;
	middle += strspn(middle, " \t");
	if (!take_party(&out->grant[out->count].preemptor, preemptor) ||
	    !take_party(&out->grant[out->count].victim, middle))
		return false;
	out->count++;
	return true;
}
