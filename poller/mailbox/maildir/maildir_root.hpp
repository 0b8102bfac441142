// The folder that several agents share: their mailboxes and the task queue below it, and how a file comes into one of
// its folders, is changed there and leaves it. What is in a file is not known here.
//   tmp/  <actor>/new/  <actor>/cur/  tasks/open/  tasks/claimed/<actor>/  tasks/done/  tasks/dead/
// Invariants: a file appears under its name complete and on the disk, or not at all; it is changed only where it still
// stands (an exchange, never a rename onto a name that may be gone); no link is followed below the root.
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

/// A message or task as it was read, and the file that it was.
struct Letterfile {
  schema::Envelope envelope;
  FileStat stat;
  std::string bytes = {};  // as they stand there
};

class MaildirRoot {
 public:
  /// A message or task over so many bytes is neither written nor read.
  static constexpr std::size_t most_bytes = most_envelope_bytes;

  MaildirRoot(FileSystem& files, const Clock& clock, std::string path)
      : files_(files), clock_(clock), path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] FileSystem& files() const { return files_; }
  [[nodiscard]] const Clock& clock() const { return clock_; }

  /// All folders of actors, sorted.
  [[nodiscard]] Result<std::vector<std::string>> actors() const;

  /// The root itself. "root.missing", "dir.untrusted".
  [[nodiscard]] Result<Directory> open() const;
  /// A folder below it ("alice/new"); "io.ENOENT" when it is missing, unless it is to be made.
  [[nodiscard]] Result<Directory> folder(std::string_view below) const;
  [[nodiscard]] Result<Directory> made_folder(std::string_view below) const;
  /// The names of what may be a message or a task there, sorted; empty when there is no such folder.
  [[nodiscard]] Result<std::vector<std::string>> names(std::string_view below) const;

  /// A name that sorts by the present and is nobody else's, and its two parts.
  struct Fresh {
    long long ns;    // of the system's clock, never twice in this process and never falling
    std::string id;  // 32 hexadecimal digits
    std::string name() const;
  };
  [[nodiscard]] Fresh fresh() const;
  [[nodiscard]] std::string seconds_now() const { return schema::seconds_token(clock_.system_ns()); }

  /// "envelope.too_large" for what is not read.
  static Status require_size(const File&);
  /// The file; "io.ENOENT", "file.not_regular", "envelope.syntax", "envelope.too_large".
  [[nodiscard]] Result<Letterfile> read(const Directory& at, const std::string& name) const;
  /// A new file, durable when this returns. "io.EEXIST" when something has that name.
  [[nodiscard]] Status put(const Directory& at, const std::string& name, const schema::Envelope&) const;
  /// Puts this in the place of the file that was read; "io.ENOENT" when that is not there any more, whether it is gone
  /// or somebody else has changed it. Durable when this returns; the new file's inode.
  [[nodiscard]] Result<std::uint64_t> change(const Directory& at, const std::string& name, const Letterfile& was,
                                             const schema::Envelope&) const;
  /// Moves it, durably, to that name or, when that is taken, to one that begins so; the name it got.
  [[nodiscard]] Result<std::string> set_aside(const Directory& from, const std::string& name, const Directory& to,
                                              const std::string& as) const;
  /// Moves it, durably. "io.EEXIST" when that name is taken.
  [[nodiscard]] Status move(const Directory& from, const std::string& name, const Directory& to,
                            const std::string& as) const;

  /// Removes what a process of ours left in tmp/ and nobody has touched for a day; how often a message was offered,
  /// after 30 days.
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
