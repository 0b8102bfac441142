# Toolchain file of deploy/check-macos: the product as a Mac would configure it, compiled on Linux by the clang of zig.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
set(CMAKE_CXX_COMPILER ${CMAKE_CURRENT_LIST_DIR}/../deploy/macos/c++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # nothing is linked while CMake looks around
# The libraries' names, versions and definitions come from this machine's packages.
set(CMAKE_LIBRARY_ARCHITECTURE x86_64-linux-gnu)
# Archives and the program are made by deploy/check-macos itself, when it links at all.
set(CMAKE_CXX_ARCHIVE_CREATE "${CMAKE_COMMAND} -E touch <TARGET>")
set(CMAKE_CXX_ARCHIVE_FINISH "")
set(CMAKE_CXX_LINK_EXECUTABLE "${CMAKE_COMMAND} -E touch <TARGET>")
