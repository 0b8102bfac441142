// Where tasks stand, what their files are called, and what is written into one that is given back.
#pragma once

#include <string>
#include <string_view>

#include "poller/mailbox/maildir/task_queue.hpp"

namespace inbox_poller::poller {

/// "tasks/open" and the like. What is given back stands in a folder for each holder: swept_folder().
std::string task_folder(TaskPlace);
std::string claimed_folder(const std::string& actor);

/// Where the claims of a holder stand while they are given back, under their own names: among the claimed tasks, so that
/// other programs see them, and in no actor's folder, so that no holder finds them.
std::string swept_folder(const std::string& holder);
/// The name of that folder in claimed/, and the holder that such a name says; empty for another name.
std::string swept_name(const std::string& holder);
std::string holder_of_swept(std::string_view name);

/// All of tasks/, for one sweep at a time; "io.EAGAIN" while another process of ours has it.
Result<Directory> locked_tasks(const MaildirRoot&);

}  // namespace inbox_poller::poller
