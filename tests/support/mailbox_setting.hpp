// A team's folder, a mailbox on it, and entries as clients write them.
#pragma once

#include <string>
#include <vector>

#include "poller/mailbox/arrays/arrays_mailbox.hpp"
#include "schema/json_scan.hpp"
#include "tests/support/faulty_filesystem.hpp"
#include "tests/support/scratch.hpp"

namespace inbox_poller::test {

/// One entry in the shape of JSON.stringify(…, null, 2) at depth one; `read` as it stands in the file, empty: no such
/// member.
inline std::string entry(const std::string& text, const std::string& read = "false",
                         const std::string& from = "worker-1") {
  std::string out = "{\n    \"from\": " + schema::quote(from) + ",\n    \"text\": " + schema::quote(text) +
                    ",\n    \"timestamp\": \"2026-02-07T15:20:46.348Z\"";
  if (!read.empty()) out += ",\n    \"read\": " + read;
  return out + "\n  }";
}

inline std::string inbox_of(const std::vector<std::string>& entries) {
  if (entries.empty()) return "[]";
  std::string out = "[\n  ";
  for (std::size_t i = 0; i < entries.size(); ++i) out += (i == 0 ? "" : ",\n  ") + entries[i];
  return out + "\n]";
}

struct MailboxSetting {
  ScratchDir scratch;
  poller::PosixFileSystem real;
  FaultyFileSystem files{real};
  ManualClock clock;
  config::Limits limits;
  poller::ArraysMailbox port = make();
  poller::ArrayInboxes& mailbox = port.inboxes();
  const std::string lead = "team-lead";

  MailboxSetting() { std::filesystem::create_directories(folder()); }

  poller::ArraysMailbox make() { return {files, clock, settings()}; }
  [[nodiscard]] poller::ArraysSettings settings() const {
    poller::ArraysSettings settings;
    settings.team_dir = team().string();
    settings.team = "team";
    settings.tasks_dir = tasks().string();
    settings.size_limit = limits.inbox_file.count;
    return settings;
  }
  [[nodiscard]] std::filesystem::path team() const { return scratch.path("team"); }
  [[nodiscard]] std::filesystem::path tasks() const { return scratch.path("tasks"); }
  [[nodiscard]] std::filesystem::path folder() const { return team() / "inboxes"; }
  [[nodiscard]] std::filesystem::path inbox() const { return folder() / "team-lead.json"; }
  [[nodiscard]] std::filesystem::path lock() const { return folder() / "team-lead.json.lock"; }
  [[nodiscard]] std::string bytes() const { return slurp(inbox()); }
  void put(const std::string& bytes) const { spill(inbox(), bytes); }
  /// Makes the present contents old enough to be told from later ones by their time stamps.
  void ack() { clock.advance(std::chrono::seconds(10)); }

  poller::ReadResult read() { return mailbox.read(lead, poller::ReadMode::unlocked); }
  /// Marks these of what is in the inbox now.
  poller::WriteResult mark(const std::vector<std::size_t>& indexes) {
    return mailbox.mark_read(lead, read().document, indexes);
  }
  poller::WriteResult append(const std::string& one) {
    poller::AppendReceipt receipt;
    return mailbox.append(lead, one, receipt);
  }
  /// What is in the folder besides the inbox.
  [[nodiscard]] std::vector<std::string> litter() const {
    std::vector<std::string> names;
    for (const auto& found : std::filesystem::directory_iterator(folder())) {
      if (found.path() != inbox()) names.push_back(found.path().filename().string());
    }
    return names;
  }
};

}  // namespace inbox_poller::test
