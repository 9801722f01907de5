// SPDX-License-Identifier: MIT
/* Proves, for a process that fills what it allocates while the simulation's memory has no room: an
 * allocation of VRAM or system memory fails with ENOMEM before any page that the process touches is
 * missing. After the process has freed everything it can allocate the same again. */
#include <string.h>

#include "tools/kfdconform/harness/harness.h"

#define PIECE (4ull << 20)
#define PIECES 256u

static unsigned fill(const struct gpu_file *gpu, uint32_t flags)
{
	static struct buffer pieces[PIECES];
	unsigned n = 0;
	int r = 0;

	while (n < PIECES && !(r = buffer_new(gpu, PIECE, flags, &pieces[n])))
		memset(pieces[n++].cpu, 0x5a, PIECE);
	CHECK_IS(r, -ENOMEM);
	for (unsigned i = 0; i < n; i++)
		CHECK_IS(buffer_free(gpu, &pieces[i]), 0);
	return n;
}

int main(void)
{
	struct gpu_file gpu;
	unsigned n;

	gpu_open(&gpu);
	for (unsigned i = 0; i < 2; i++) {
		n = fill(&gpu, KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC);
		CHECK(n > 1);
		printf("%u pieces of VRAM\n", n);
		n = fill(&gpu, KFD_IOC_ALLOC_MEM_FLAGS_GTT);
		CHECK(n > 1);
		printf("%u pieces of system memory\n", n);
	}
	return 0;
}
