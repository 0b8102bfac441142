# `cmake --install`: the program, and what stage.cmake puts beside it. deploy/package does the same with a program that it
# has built for others.
install(CODE "
  set(PROGRAM \"${CMAKE_BINARY_DIR}/inbox-poller\")
  set(SOURCE \"${CMAKE_SOURCE_DIR}\")
  set(PREFIX \"\${CMAKE_INSTALL_PREFIX}\")
  include(\"${CMAKE_SOURCE_DIR}/cmake/stage.cmake\")")
