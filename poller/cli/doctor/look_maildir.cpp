// Examination of a folder that agents share: causes of a seemingly empty queue, mail that nobody reads, and files that
// no store understands.
#include <cerrno>

#include "poller/cli/doctor/look.hpp"
#include "poller/cli/printable.hpp"
#include "poller/mailbox/maildir/maildir_root.hpp"

namespace inbox_poller::poller::cli {
namespace {

constexpr std::size_t most_files = 20;  // reported one by one in one folder

/// Reports files that are not envelopes; every store skips them.
void look_at_files(const MaildirRoot& root, const std::string& below, Findings& findings) {
  const auto names = root.names(below);
  const auto folder = root.folder(below);
  if (!names || !folder) {
    const Error& error = names ? folder.error() : names.error();
    if (!is_errno(error, ENOENT))
      findings.push_back({Severity::error, error.code, printable(error.message), root.path() + "/" + printable(below), ""});
    return;
  }
  std::size_t told = 0;
  for (const std::string& name : *names) {
    const auto file = root.read(*folder, name);
    if (file || is_errno(file.error(), ENOENT)) continue;
    if (++told > most_files) break;
    findings.push_back({Severity::warning, "envelope.unreadable", "no store can read it: " + printable(file.error().message),
                        folder->path + "/" + printable(name), "repair the file, or move it away"});
  }
}

/// Checks an actor's folder: whether it has a mailbox, and whether mail in it was ever read.
void look_at_actor(const MaildirRoot& root, const std::string& name, Findings& findings) {
  const std::string path = root.path() + "/" + printable(name);
  const auto box = root.folder(name + "/new");
  if (!box && is_errno(box.error(), ENOENT)) {
    findings.push_back({Severity::note, "actor.no_mailbox", "cannot be a mailbox: its folder new/ is missing", path,
                        "if an agent is meant: COLLAB_ACTOR=" + shell_word(name) + " inbox-poller mailbox try-recv"});
    return;
  }
  if (!box) return findings.push_back({Severity::error, box.error().code, printable(box.error().message), path, ""});
  const auto unread = root.names(name + "/new"), taken = root.names(name + "/cur");
  if (unread && taken && !unread->empty() && taken->empty())
    findings.push_back({Severity::warning, "mail.never_read",
                        std::to_string(unread->size()) + " letters wait here, and none was ever taken: is the name right?",
                        path + "/new", ""});
  look_at_files(root, name + "/new", findings);
}

void look_at_tasks(const MaildirRoot& root, Findings& findings) {
  const std::string path = root.path() + "/tasks";
  if (const auto astray = root.names("tasks/claimed"))
    for (const std::string& name : *astray)
      findings.push_back({Severity::warning, "task.astray", "lies in claimed/ itself, where no worker looks for tasks",
                          path + "/claimed/" + printable(name),
                          "mv " + shell_word(path + "/claimed/" + name) + " " + shell_word(path + "/open/")});
  if (root.folder("tasks/completed"))
    findings.push_back({Severity::warning, "task.completed", "is not read by any worker: finished tasks lie in done/",
                        path + "/completed", ""});
  for (const char* below : {"tasks/open", "tasks/done"}) look_at_files(root, below, findings);
  if (const auto dead = root.names("tasks/dead"); dead && !dead->empty())
    findings.push_back({Severity::note, "task.dead", std::to_string(dead->size()) + " dead letters", path + "/dead",
                        "inbox-poller tasks --dead --root " + shell_word(root.path())});
}

}  // namespace

Section examine_maildir(const World& world, const config::TeamConfig& config) {
  Section section{config.team.name, config.team.name, {}};
  Findings& findings = section.findings;
  const MaildirRoot root(world.files, world.clock, config.team.folder);
  const auto folder = root.open();
  const auto names = folder ? world.files.list(*folder) : Result<std::vector<std::string>>(folder.error());
  if (!names) {
    const bool missing = names.error().code == "root.missing";
    findings.push_back({missing ? Severity::note : Severity::error, missing ? "team.none" : names.error().code,
                        missing ? "the folder is not there (yet)" : printable(names.error().message), root.path(),
                        "check folder under [team] in " + printable(config.source)});
    return section;
  }
  std::size_t actors = 0;
  for (const std::string& name : *names) {
    const auto stat = world.files.stat_at(*folder, name);
    if (name == "tmp" || name == "tasks" || name.starts_with('.') || !stat || stat->kind != FileKind::directory) continue;
    if (is_actor_name(name)) {
      look_at_actor(root, name, findings);
      ++actors;
    } else if (world.files.stat_at(*folder, name + "/new")) {
      findings.push_back({Severity::warning, "actor.name",
                          "is the mailbox of a name that is not served (A-Z a-z 0-9 _ -, at most 64)",
                          root.path() + "/" + printable(name), "give the agent another name"});
    }
  }
  look_at_tasks(root, findings);
  findings.push_back({Severity::ok, "maildir", std::to_string(actors) + " mailboxes and the tasks were looked through", root.path(), ""});
  return section;
}

}  // namespace inbox_poller::poller::cli
