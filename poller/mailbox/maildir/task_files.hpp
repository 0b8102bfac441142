// The folders of the task queue and their names. Contents of task files are not handled here.
#pragma once

#include <string>
#include <string_view>

#include "poller/mailbox/maildir/task_queue.hpp"

namespace inbox_poller::poller {

/// Returns the folder of a place, such as "tasks/open"; "tasks/claimed" for `claimed` and `given_back`.
/// A task that is given back is in a folder for each holder: swept_folder().
std::string task_folder(TaskPlace);
/// Returns the folder of an actor's claimed tasks.
std::string claimed_folder(const std::string& actor);

/// Returns the folder of a holder's claims while they are given back; the file names stay. The folder is among the
/// claimed tasks, so that other programs see them. It is not an actor's folder, so that no holder finds them.
std::string swept_folder(const std::string& holder);
/// Returns the name of that folder in claimed/.
std::string swept_name(const std::string& holder);
/// Returns the holder in such a folder name; empty for another name.
std::string holder_of_swept(std::string_view name);

/// Locks tasks/ for one sweep, until the returned directory is closed.
/// Errors: "io.EAGAIN" while another InboxPoller process holds the lock, "io.ENOENT" without a queue.
Result<Directory> locked_tasks(const MaildirRoot&);

}  // namespace inbox_poller::poller
