# SPDX-License-Identifier: MIT
# What the compiler and the linker add to every program and library against memory errors;
# tests/system/build/hardened.py reads the binaries.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
add_compile_options(-fstack-protector-strong)
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)

# Needs an optimising compiler, and a sanitizer replaces what it would check. Undefined
# first, because some distributions' compilers define it as 2 themselves.
if(NOT KFDSHIM_SANITIZE)
  add_compile_options("$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
endif()

# The linker marks a binary for shadow stacks only if each object file has the mark, and the
# start files of Debian 12 have none, although they return as they were called. No such
# option for indirect branches: the start files lack the landing pads that it would promise.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|i.86)$")
  add_compile_options(-fcf-protection)
  add_link_options(-Wl,-z,shstk)
endif()
