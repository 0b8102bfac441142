# Writes OUT, a source that has the FILES of the page in it: "path|file" each, separated by commas. With WHY instead, one
# that only says why there is no page.
set(type_of_css "text/css")
set(type_of_js "text/javascript")
set(type_of_svg "image/svg+xml")
set(type_of_txt "text/plain; charset=utf-8")
set(arrays)
set(table)
set(count 0)
string(REPLACE "," ";" FILES "${FILES}")
foreach(one IN LISTS FILES)
  string(REPLACE "|" ";" one "${one}")
  list(GET one 0 path)
  list(GET one 1 file)
  set(type "text/html; charset=utf-8")
  if(path MATCHES "\\.(css|js|svg|txt)$")
    set(type "${type_of_${CMAKE_MATCH_1}}")
  endif()
  file(READ ${file} bytes HEX)
  string(LENGTH "${bytes}" size)
  math(EXPR size "${size} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND arrays "constexpr char file_${count}[] = {${bytes}};\n")
  string(APPEND table "    {\"${path}\", \"${type}\", std::string_view(file_${count}, ${size})},\n")
  math(EXPR count "${count} + 1")
endforeach()
if(count EQUAL 0)
  set(body "std::span<const File> files() { return {}; }\n")
else()
  set(body "${arrays}constexpr File all[] = {\n${table}};\n\nstd::span<const File> files() { return all; }\n")
endif()
file(WRITE ${OUT} "// Written by cmake/embed.cmake.
#include \"poller/cli/web/files.hpp\"

namespace inbox_poller::poller::cli::web {

${body}std::string_view left_out() { return \"${WHY}\"; }

}  // namespace inbox_poller::poller::cli::web
")
