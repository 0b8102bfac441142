# Everything comes from the distribution's packages; deploy/install-deps names them. Headers of others are system headers,
# so that our warnings are about our code.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(spdlog REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto SSL)
# For `inbox-poller top`; without it that command says so.
find_path(NCURSESW_HEADERS curses.h PATH_SUFFIXES ncursesw)
find_library(NCURSESW_LIBRARY NAMES ncursesw ncurses)
find_library(TINFO_LIBRARY NAMES tinfow tinfo)  # of its own where the distribution has split it off
find_path(XXHASH_HEADERS xxhash.h REQUIRED)  # as a header only
# Mail over Redis and between hosts: as a codec only. Where it is missing the program says so when it is asked for it.
find_path(HIREDIS_HEADERS hiredis/hiredis.h)
find_library(HIREDIS_LIBRARY hiredis)
if(INBOX_POLLER_REDIS AND NOT (HIREDIS_HEADERS AND HIREDIS_LIBRARY))
  message(STATUS "libhiredis is missing: nothing of Redis will be in the program")
  set(INBOX_POLLER_REDIS OFF)
endif()
