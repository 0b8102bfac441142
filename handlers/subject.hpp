// What an ask is about, in one line: the same wherever a list, the log or a sentence names it. Pure.
#pragma once

#include <string>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// The tool and the first line of its command that does something, the file and how much of it changes, the host, the
/// plan's title, why a worker wants to stop. From what will be carried out, never from a description. What looks like
/// a credential is masked, and it is short enough for a line (600 bytes); escaping is left to who shows it.
std::string subject_of(const Ask&);

}  // namespace inbox_poller::handlers
