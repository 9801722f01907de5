# SPDX-License-Identifier: MIT
# Each test has one of two labels: `slow`, if tests/slow.txt names it, else `quick`. This
# is the only place that sets them.
#
# The worlds of the tests are virtual (kfdsim --virtual), so they need no core of their own, but for
# those that tests/real_time.txt names; of these a slow one runs alone. Not under ThreadSanitizer,
# which does not see the locks of the time library.
option(KFDSHIM_TEST_VIRTUAL "run the tests' worlds in virtual time" ON)
if(KFDSHIM_SANITIZE MATCHES thread)
  set(KFDSHIM_TEST_VIRTUAL OFF)
endif()

# The tests that a list names, each with a reason; with a third argument those whose reason begins so.
function(read_tests list out)
  set(path ${CMAKE_CURRENT_LIST_DIR}/${list})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(STRINGS ${path} lines REGEX "^[^#]")
  set(tests "")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^([^ ]+) +[^ ]")
      message(FATAL_ERROR "${path}: '${line}' is not the name of a test and a reason")
    endif()
    if(line MATCHES "^([^ ]+) +${ARGN}")
      list(APPEND tests ${CMAKE_MATCH_1})
    endif()
  endforeach()
  set(${out} ${tests} PARENT_SCOPE)
endfunction()
read_tests(slow.txt slow_tests)
if(KFDSHIM_TEST_VIRTUAL)
  read_tests(slow.txt quick_in_virtual_time "in real time: ")
  list(REMOVE_ITEM slow_tests ${quick_in_virtual_time})
endif()
read_tests(real_time.txt real_time_tests)

# Each folder's first line defers this to its end: a test and its properties may stand
# anywhere in the file.
function(label_tests)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test IN LISTS tests)
    get_property(labels TEST ${test} PROPERTY LABELS)
    if("quick" IN_LIST labels OR "slow" IN_LIST labels)
      message(FATAL_ERROR "${test} is labelled in its own folder; tests/slow.txt decides")
    endif()
    set(virtual FALSE)
    if(KFDSHIM_TEST_VIRTUAL AND NOT test IN_LIST real_time_tests)
      set(virtual TRUE)
      set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT KFDSIM_VIRTUAL=1)
      set_property(TEST ${test} PROPERTY PROCESSORS 1)
    endif()
    if(test IN_LIST slow_tests)
      set_property(TEST ${test} APPEND PROPERTY LABELS slow)
      if(NOT virtual)
        set_property(TEST ${test} PROPERTY RUN_SERIAL TRUE)
      endif()
    else()
      set_property(TEST ${test} APPEND PROPERTY LABELS quick)
      set_property(TEST ${test} PROPERTY TIMEOUT 300) # only a hang takes that long
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY labelled_tests ${tests})
endfunction()

# After the last folder: every test was labelled, and every line of the list names a test.
function(check_labels)
  get_property(labelled GLOBAL PROPERTY labelled_tests)
  foreach(folder IN LISTS ARGN)
    get_property(tests DIRECTORY ${folder} PROPERTY TESTS)
    foreach(test IN LISTS tests)
      if(NOT test IN_LIST labelled)
        message(FATAL_ERROR "${test} is neither quick nor slow: tests/${folder}/CMakeLists.txt "
                            "does not call label_tests")
      endif()
    endforeach()
  endforeach()
  if(KFDSHIM_SANITIZE) # which some tests cannot bear
    return()
  endif()
  foreach(list IN ITEMS real_time slow)
    foreach(test IN LISTS ${list}_tests)
      if(NOT test IN_LIST labelled)
        message(FATAL_ERROR "tests/${list}.txt names ${test}, and there is no such test")
      endif()
    endforeach()
  endforeach()
endfunction()
