// Where tasks stand, what their files are called, and what is written into one that is given back.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "poller/mailbox/maildir/task_queue.hpp"

namespace inbox_poller::poller {

/// "tasks/open" and the like; "tmp" for what is being given back.
std::string task_folder(TaskPlace);
std::string claimed_folder(const std::string& actor);

/// The name in tmp/ of a claim that is being given back: it says whose claim it was, for whoever finds it there.
std::string begun_name(const std::string& holder, const std::string& name);
/// The two parts; empty ones for another name.
std::pair<std::string, std::string> parts_of_begun(std::string_view name);
/// The name that the task had, of a begun one too.
std::string original_name(const std::string& name);

/// All of tasks/, for one sweep at a time; "io.EAGAIN" while another process of ours has it.
Result<Directory> locked_tasks(const MaildirRoot&);

}  // namespace inbox_poller::poller
