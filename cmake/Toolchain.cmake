# Compiler flags shared by every room. ccache is used when it is there: compile time is our time. Told so, it also takes
# sources with a precompiled header, and what one build folder has compiled holds for all others of this checkout.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

add_library(inbox-poller-flags INTERFACE)
# What nobody calls is left out of the program (docs/adr/0076-a-smaller-program.md).
target_compile_options(inbox-poller-flags INTERFACE "$<$<CONFIG:Release>:-ffunction-sections;-fdata-sections>")
target_link_options(inbox-poller-flags INTERFACE "$<$<CONFIG:Release>:-Wl,$<IF:$<PLATFORM_ID:Darwin>,-dead_strip,--gc-sections>>")
target_compile_options(inbox-poller-flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  # What a designated initializer leaves out is meant; what a list of values leaves out, clang finds.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-missing-field-initializers>
  $<$<BOOL:${INBOX_POLLER_STRICT}>:-Werror>)
# Where several sources are compiled as one, each still takes its nameless namespace for its own.
target_compile_options(inbox-poller-flags INTERFACE "$<$<BOOL:${CMAKE_UNITY_BUILD}>:$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>;-Wno-shadow>")
target_compile_options(inbox-poller-flags INTERFACE "$<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>")  # of clang's -Wconversion only
target_include_directories(inbox-poller-flags INTERFACE ${CMAKE_SOURCE_DIR})
if(CCACHE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(inbox-poller-flags INTERFACE -fpch-preprocess)  # ccache sees a precompiled header only so
endif()
# g++ 12 with optimization takes std::string's operator+ for overlapping copies of impossible sizes (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(inbox-poller-flags INTERFACE -Wno-restrict
    "$<$<CONFIG:Release>:-Wno-stringop-overflow;-Wno-array-bounds>")
endif()

if(INBOX_POLLER_SANITIZE)
  target_compile_options(inbox-poller-flags INTERFACE
    -fsanitize=${INBOX_POLLER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(INBOX_POLLER_SANITIZE MATCHES "undefined")
    # A look before every access is a quarter of the time of compiling: AddressSanitizer stops at those that matter.
    target_compile_options(inbox-poller-flags INTERFACE -fno-sanitize=null,alignment,vptr,object-size
      $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)  # clang 14 cannot write its marks of coroutines
  endif()
  target_link_options(inbox-poller-flags INTERFACE -fsanitize=${INBOX_POLLER_SANITIZE})
  # lld links a checked program in a seventh of the time of ld.
  find_program(LLD ld.lld)
  if(LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    target_link_options(inbox-poller-flags INTERFACE -fuse-ld=lld)
  endif()
  if(INBOX_POLLER_SANITIZE MATCHES "address" AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    # A place for each counter and each global: half a million of them would be relocated at each start, and the tests
    # start thousands of processes. With fixed addresses a start costs a quarter less.
    target_link_options(inbox-poller-flags INTERFACE -no-pie)
  endif()
endif()

if(INBOX_POLLER_FUZZ)
  target_compile_options(inbox-poller-flags INTERFACE -fsanitize=fuzzer-no-link)
elseif(INBOX_POLLER_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # The rooms count which places they reach, so that the fuzz targets can use the libraries of the tests.
  set(INBOX_POLLER_COUNTERS -fsanitize-coverage=inline-8bit-counters,pc-table)
endif()

# ThreadSanitizer cannot start where addresses are randomised over more bits than it knows; tests then run without that.
if(INBOX_POLLER_SANITIZE STREQUAL "thread" AND EXISTS /proc/sys/vm/mmap_rnd_bits)
  file(READ /proc/sys/vm/mmap_rnd_bits bits)
  find_program(SETARCH setarch)
  if(bits GREATER 28 AND SETARCH)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${SETARCH};-R)
  endif()
endif()

# inbox_poller_room(<name> [PUBLIC libraries…]): the static library of one room, made of every source below its folder; the command
# line, which stands below the daemon's folder, is a room of its own.
function(inbox_poller_room name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  file(GLOB_RECURSE apart CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cli/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/main.cpp)
  list(REMOVE_ITEM sources ${apart} "")
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC inbox-poller-flags ${ARGN})
  target_compile_options(${name} PRIVATE ${INBOX_POLLER_COUNTERS})
endfunction()

# inbox_poller_cold(<room> <pattern> libraries…): the room's sources that match are compiled for size. They are a target of their own,
# <room>_cold, because a unit of several sources has one set of flags.
function(inbox_poller_cold room pattern)
  get_target_property(warm ${room} SOURCES)
  set(cold ${warm})
  list(FILTER cold INCLUDE REGEX ${pattern})
  list(REMOVE_ITEM warm ${cold})
  add_library(${room}_cold OBJECT ${cold})
  set_target_properties(${room} PROPERTIES SOURCES "${warm}")
  target_sources(${room} PRIVATE $<TARGET_OBJECTS:${room}_cold>)
  target_link_libraries(${room}_cold PRIVATE inbox-poller-flags ${ARGN})
  target_compile_definitions(${room}_cold PRIVATE $<TARGET_PROPERTY:${room},COMPILE_DEFINITIONS>)
  target_compile_options(${room}_cold PRIVATE $<TARGET_PROPERTY:${room},COMPILE_OPTIONS> $<$<CONFIG:Release>:-Os>)
  target_include_directories(${room}_cold SYSTEM PRIVATE $<TARGET_PROPERTY:${room},INCLUDE_DIRECTORIES>)
endfunction()
