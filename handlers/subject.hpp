// The subject of a request in one line, the same in every list, log and sentence. Pure.
#pragma once

#include <string>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// Returns the subject: the tool with the first effective line of its command, the file with the size of its change,
/// the domain, the plan's title, or the reason to stop. Taken from what will run, never from a description. Credentials
/// are masked, and each text is cut to 600 bytes. Not escaped for any output.
std::string subject_of(const Request&);

}  // namespace inbox_poller::handlers
