// SPDX-License-Identifier: MIT
/* Stands in for libkfdshim.so where only being preloaded matters. */
__attribute__((visibility("default"))) int cli_fake_shim;
