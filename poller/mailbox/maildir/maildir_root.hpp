// The folder that several agents share, with their mailboxes and the task queue: creates, changes and moves its files.
// The meaning of a file's fields is not handled here.
//   tmp/  <actor>/new/  <actor>/cur/  tasks/open/  tasks/claimed/<actor>/  tasks/done/  tasks/dead/
// Invariants: a file appears under its name complete and on the disk, or not at all. A file is changed by an exchange,
// never by a rename onto a name that may be gone. No link is followed below the root.
// Source: docs/reference/mailboxes.md, docs/adr/0033-maildir-and-tasks.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/clock.hpp"
#include "poller/filesystem.hpp"
#include "poller/mailbox/envelopes.hpp"
#include "schema/envelope.hpp"

namespace inbox_poller::poller {

/// A message or task as it was read, with the state of its file.
struct Letterfile {
  schema::Envelope envelope;
  FileStat stat;
  std::string bytes = {};  // of the file
};

/// Access to the files of one root. Keeps references; `files` and `clock` must outlive this object.
class MaildirRoot {
 public:
  /// Limit of a message or task, in bytes; larger ones are neither written nor read.
  static constexpr std::size_t most_bytes = most_envelope_bytes;

  MaildirRoot(FileSystem& files, const Clock& clock, std::string path)
      : files_(files), clock_(clock), path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] FileSystem& files() const { return files_; }
  [[nodiscard]] const Clock& clock() const { return clock_; }

  /// Lists all folders of actors, sorted. Errors: as open(), "io.…".
  [[nodiscard]] Result<std::vector<std::string>> actors() const;

  /// Opens the root itself. Errors: "root.missing", "dir.untrusted", "io.…".
  [[nodiscard]] Result<Directory> open() const;
  /// Opens a folder below the root ("alice/new"). Errors: as open(), "io.ENOENT" if the folder is missing.
  [[nodiscard]] Result<Directory> folder(std::string_view below) const;
  /// Opens a folder below the root and makes missing ones durably. Errors: as open(), "io.…".
  [[nodiscard]] Result<Directory> made_folder(std::string_view below) const;
  /// Lists the names that may be messages or tasks, sorted; empty if the folder is missing. Errors: as open(), "io.…".
  [[nodiscard]] Result<std::vector<std::string>> names(std::string_view below) const;

  /// The two parts of a unique file name that sorts by time.
  struct Fresh {
    long long ns;    // wall clock, strictly increasing in this process
    std::string id;  // 32 hexadecimal digits
    std::string name() const;
  };
  /// Makes the parts of a new name.
  [[nodiscard]] Fresh fresh() const;
  /// Returns the wall clock as a JSON number of seconds.
  [[nodiscard]] std::string seconds_now() const { return schema::seconds_token(clock_.system_ns()); }

  /// Checks the size of a file. Errors: "envelope.too_large".
  static Status require_size(const File&);
  /// Reads a file. Errors: "io.ENOENT", "file.not_regular", "envelope.syntax", "envelope.too_large".
  [[nodiscard]] Result<Letterfile> read(const Directory& at, const std::string& name) const;
  /// Writes a new file, durable on return. Errors: "io.EEXIST" if the name is taken, "payload.too_large".
  [[nodiscard]] Status put(const Directory& at, const std::string& name, const schema::Envelope&) const;
  /// Replaces the file that was read; durable on return. Returns the new file's inode.
  /// Errors: "io.ENOENT" if the file is gone or another process has changed it, "payload.too_large".
  [[nodiscard]] Result<std::uint64_t> change(const Directory& at, const std::string& name, const Letterfile& was,
                                             const schema::Envelope&) const;
  /// Moves a file durably to the name `as`, or to a name that begins so if `as` is taken. Returns the new name.
  [[nodiscard]] Result<std::string> set_aside(const Directory& from, const std::string& name, const Directory& to,
                                              const std::string& as) const;
  /// Moves a file durably. Errors: "io.EEXIST" if the name `as` is taken, "io.ENOENT".
  [[nodiscard]] Status move(const Directory& from, const std::string& name, const Directory& to,
                            const std::string& as) const;

  /// Removes InboxPoller's files in tmp/ that were unchanged for a day, and offer counters after 30 days.
  void clean() const;

 private:
  [[nodiscard]] Result<Directory> descend(std::string_view below, bool make) const;
  void keep_strange(const Directory& tmp, const std::string& staged, const std::string& name, bool certain) const;
  [[nodiscard]] Result<std::string> stage(const Directory& tmp, const schema::Envelope&) const;

  FileSystem& files_;
  const Clock& clock_;
  std::string path_;
  mutable long long last_ns_ = 0;
};

}  // namespace inbox_poller::poller
