# SPDX-License-Identifier: MIT
# The name of a test is its folder below tests/ and its own: unit/shim/hold, system/daemon/levels.

# folder_test(NAME COMMAND word... [PROCESSORS n] [TIMEOUT s] [LABELS l...] [ENVIRONMENT V=VALUE...])
# TIMEOUT is for a slow test: Labels.cmake sets that of the others.
function(folder_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "PROCESSORS;TIMEOUT" "COMMAND;LABELS;ENVIRONMENT")
  file(RELATIVE_PATH folder ${tests} ${CMAKE_CURRENT_SOURCE_DIR})
  set(name ${folder}/${name})
  add_test(NAME ${name} COMMAND ${test_COMMAND})
  foreach(property IN ITEMS PROCESSORS TIMEOUT LABELS ENVIRONMENT)
    if(test_${property})
      set_property(TEST ${name} PROPERTY ${property} ${test_${property}})
    endif()
  endforeach()
endfunction()

# unit_tests(NAMES name... [SOURCES file...] [LIBRARIES library...] [WORLD] [properties of folder_test]):
# NAME.c is the program unit_MODULE_NAME. WORLD: its threads wait, so it runs in virtual time.
function(unit_tests)
  cmake_parse_arguments(PARSE_ARGV 0 unit "WORLD" "" "NAMES;SOURCES;LIBRARIES;LABELS;PROCESSORS;TIMEOUT;ENVIRONMENT")
  get_filename_component(module ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  foreach(name IN LISTS unit_NAMES)
    set(program unit_${module}_${name})
    add_executable(${program} ${name}.c ${unit_SOURCES})
    target_link_libraries(${program} PRIVATE ${unit_LIBRARIES} PkgConfig::CMOCKA)
    set(command ${program})
    if(unit_WORLD AND KFDSHIM_TEST_VIRTUAL)
      set(command kfdsim -- $<TARGET_FILE:${program}>)
    endif()
    folder_test(${name} COMMAND ${command} LABELS ${unit_LABELS} PROCESSORS ${unit_PROCESSORS}
      TIMEOUT ${unit_TIMEOUT} ENVIRONMENT ${unit_ENVIRONMENT})
    if("threads" IN_LIST unit_LABELS)
      add_dependencies(thread_tests ${program})
    endif()
  endforeach()
endfunction()

# script_tests(NAMES name... [SCRIPT name] [properties of folder_test]): each runs
# NAME.sh, or the one SCRIPT.sh, in an environment with BUILD and SOURCE.
function(script_tests)
  cmake_parse_arguments(PARSE_ARGV 0 script "" "SCRIPT" "NAMES;LABELS;PROCESSORS;TIMEOUT;ENVIRONMENT")
  foreach(name IN LISTS script_NAMES)
    set(script ${name})
    if(script_SCRIPT)
      set(script ${script_SCRIPT})
    endif()
    folder_test(${name} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/${script}.sh
      LABELS ${script_LABELS} PROCESSORS ${script_PROCESSORS} TIMEOUT ${script_TIMEOUT}
      ENVIRONMENT BUILD=${CMAKE_BINARY_DIR} SOURCE=${CMAKE_SOURCE_DIR} ${script_ENVIRONMENT})
  endforeach()
endfunction()
