# SPDX-License-Identifier: MIT
#
# add_code_object(OUTPUT_VARIABLE SOURCE name.cl GPU gfx90a COMPILER clang)
#
# Compiles OpenCL C into an AMD GPU code object <name's base>.<gpu>.co in the
# build folder and puts its path into OUTPUT_VARIABLE. No device library is
# linked, so the source may use compiler builtins only. Code object version 4:
# the newest that ROCr 5.2 loads.
function(add_code_object output_variable)
  cmake_parse_arguments(arg "" "SOURCE;GPU;COMPILER" "" ${ARGN})
  get_filename_component(source ${arg_SOURCE} ABSOLUTE)
  get_filename_component(base ${arg_SOURCE} NAME_WE)
  set(output ${CMAKE_BINARY_DIR}/kfdreplay_${base}.${arg_GPU}.co)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${arg_COMPILER} -x cl -cl-std=CL2.0 -nogpulib -target amdgcn-amd-amdhsa
            -mcpu=${arg_GPU} -mcode-object-version=4 -O2 -Wall -Werror -o ${output} ${source}
    DEPENDS ${source}
    COMMENT "Code object ${base} for ${arg_GPU}"
    VERBATIM)
  set(${output_variable} ${output} PARENT_SCOPE)
endfunction()

# require_amdgpu_compiler(VARIABLE VERSION): clang-VERSION and its linker.
# clang finds the linker beside itself, so the package must be of its version.
function(require_amdgpu_compiler variable version)
  find_program(${variable} clang-${version})
  find_program(${variable}_LLD ld.lld-${version})
  if(NOT ${variable} OR NOT ${variable}_LLD)
    message(FATAL_ERROR "clang-${version} and lld-${version} compile the GPU kernels and are not "
                        "both here: run packaging/deps.sh, or install these two packages")
  endif()
endfunction()
