# SPDX-License-Identifier: MIT
# Each test has one of two labels: `slow`, if tests/slow.txt names it, else `quick`. This
# is the only place that sets them. A slow test runs alone.
set(slow_list ${CMAKE_CURRENT_LIST_DIR}/slow.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${slow_list})
file(STRINGS ${slow_list} lines REGEX "^[^#]")
set(slow_tests "")
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^([^ ]+) +[^ ]")
    message(FATAL_ERROR "${slow_list}: '${line}' is not the name of a test and a reason")
  endif()
  list(APPEND slow_tests ${CMAKE_MATCH_1})
endforeach()

# With KFDSHIM_TEST_VIRTUAL=ON the worlds of the quick tests are virtual (kfdsim --virtual), but for
# those that tests/real_time.txt names. Not in the sanitizer builds, whose runtimes must be the
# first library of a process.
option(KFDSHIM_TEST_VIRTUAL "run the quick tests' worlds in virtual time" OFF)
set(real_time_list ${CMAKE_CURRENT_LIST_DIR}/real_time.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${real_time_list})
file(STRINGS ${real_time_list} lines REGEX "^[^#]")
set(real_time_tests "")
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^([^ ]+) +[^ ]")
    message(FATAL_ERROR "${real_time_list}: '${line}' is not the name of a test and a reason")
  endif()
  list(APPEND real_time_tests ${CMAKE_MATCH_1})
endforeach()

# Each area's first line defers this to its end: a test and its properties may stand
# anywhere in the file.
function(label_tests)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test IN LISTS tests)
    get_property(labels TEST ${test} PROPERTY LABELS)
    if("quick" IN_LIST labels OR "slow" IN_LIST labels)
      message(FATAL_ERROR "${test} is labelled in its own folder; tests/slow.txt decides")
    endif()
    if(KFDSHIM_TEST_VIRTUAL AND NOT test IN_LIST real_time_tests AND NOT test IN_LIST slow_tests)
      set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT KFDSIM_VIRTUAL=1)
    endif()
    if(test IN_LIST slow_tests)
      set_property(TEST ${test} APPEND PROPERTY LABELS slow)
      set_property(TEST ${test} PROPERTY RUN_SERIAL TRUE)
    else()
      set_property(TEST ${test} APPEND PROPERTY LABELS quick)
      set_property(TEST ${test} PROPERTY TIMEOUT 300) # only a hang takes that long
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY labelled_tests ${tests})
endfunction()

# After the last area: every test was labelled, and every line of the list names a test.
function(check_labels)
  get_property(labelled GLOBAL PROPERTY labelled_tests)
  foreach(area IN LISTS ARGN)
    get_property(tests DIRECTORY ${area} PROPERTY TESTS)
    foreach(test IN LISTS tests)
      if(NOT test IN_LIST labelled)
        message(FATAL_ERROR "${test} is neither quick nor slow: tests/${area}/CMakeLists.txt "
                            "does not call label_tests")
      endif()
    endforeach()
  endforeach()
  if(KFDSHIM_SANITIZE) # which some tests cannot bear
    return()
  endif()
  foreach(test IN LISTS real_time_tests)
    if(NOT test IN_LIST labelled)
      message(FATAL_ERROR "tests/real_time.txt names ${test}, and there is no such test")
    endif()
  endforeach()
  foreach(test IN LISTS slow_tests)
    if(NOT test IN_LIST labelled)
      message(FATAL_ERROR "tests/slow.txt names ${test}, and there is no such test")
    endif()
  endforeach()
endfunction()
