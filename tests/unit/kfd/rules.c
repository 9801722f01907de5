// SPDX-License-Identifier: MIT
/* Proves that kfdabi_per_vmid() is right for GPUs of which kfdsim has no profile, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kfd/driver_rules.h"

static void parts_that_debug_by_vmid(void **state)
{
	static const uint32_t shared[] = {90000, 90002, 90006, 90008, 90012, 100100, 100306};
	static const uint32_t each[] = {90010,	90400,	90401,	90402, 90500,
					110000, 110501, 120000, 120001};

	(void)state;
	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		assert_false(kfdabi_per_vmid(shared[i]));
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		assert_true(kfdabi_per_vmid(each[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(parts_that_debug_by_vmid)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
