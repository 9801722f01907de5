# SPDX-License-Identifier: MIT
# An image (process.h): the object files of some sources, linked into one `copies` times. All data
# of a copy is in one section, whose begin and end the linker then names; what it calls outside is
# redirected by edges.txt; and of its own names only the entries are seen, with the copy's number.
set(SEEDED_DIR ${CMAKE_CURRENT_LIST_DIR})
function(seeded_image program name copies entries)
  add_library(seeded_${name} OBJECT ${ARGN})
  target_compile_options(seeded_${name} PRIVATE -U_FORTIFY_SOURCE -include ${SEEDED_DIR}/points.h)
  target_link_libraries(seeded_${name} PRIVATE channel common PkgConfig::JANSSON)
  math(EXPR last "${copies} - 1")
  foreach(copy RANGE ${last})
    set(image ${CMAKE_CURRENT_BINARY_DIR}/${name}_${copy})
    file(CONFIGURE OUTPUT ${image}.ld CONTENT
      "SECTIONS { image_@name@_@copy@ : { *(.data .data.* .bss .bss.* COMMON) } }\n" @ONLY)
    set(keep "")
    set(rename "")
    foreach(entry IN LISTS entries)
      list(APPEND keep --keep-global-symbol=${entry})
      if(copies GREATER 1)
        list(APPEND rename --redefine-sym=${entry}=${entry}_${copy})
      endif()
    endforeach()
    add_custom_command(OUTPUT ${image}.o
      COMMAND ${CMAKE_LINKER} -r -T ${image}.ld -o ${image}.all.o $<TARGET_OBJECTS:seeded_${name}>
      COMMAND ${CMAKE_OBJCOPY} ${keep} --redefine-syms=${SEEDED_DIR}/edges.txt ${image}.all.o ${image}.own.o
      COMMAND ${CMAKE_OBJCOPY} ${rename} ${image}.own.o ${image}.o
      DEPENDS seeded_${name} $<TARGET_OBJECTS:seeded_${name}> ${SEEDED_DIR}/edges.txt
      COMMAND_EXPAND_LISTS VERBATIM)
    set_source_files_properties(${image}.o PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    target_sources(${program} PRIVATE ${image}.o)
  endforeach()
endfunction()
