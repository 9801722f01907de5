# SPDX-License-Identifier: MIT
# cmake -DSOURCE=DIR -DRELEASE=X -DOUT=FILE -P version.cmake: what --version prints, as a header.
# It is written at each build, and only if it differs, so that a build without a new commit
# compiles nothing.
file(STRINGS ${SOURCE}/channel/protocol.h line REGEX "^#define PROTOCOL_VERSION [0-9]+")
string(REGEX MATCH "[0-9]+" protocol "${line}")
if(protocol STREQUAL "")
  message(FATAL_ERROR "channel/protocol.h has no PROTOCOL_VERSION")
endif()
set(commit "")
if(EXISTS ${SOURCE}/.git)
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(commit STREQUAL "")
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT [[
/* SPDX-License-Identifier: MIT */
#define VERSION_RELEASE "@RELEASE@"
#define VERSION_COMMIT "@commit@"
#define VERSION_PROTOCOL "@protocol@"
]] @ONLY)
