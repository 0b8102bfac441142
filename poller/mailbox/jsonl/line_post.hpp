// The daemon's lines in workers' inboxes. A worker reads its inbox and then empties it; a line between both is lost.
// The loss cannot be prevented, but it can be detected: a lease shows at the write that no other process has the file
// open, and file events show whether the file was read before it was emptied. Source: docs/adr/0032-jsonl-lines.md.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "poller/clock.hpp"
#include "poller/file_watch.hpp"
#include "poller/filesystem.hpp"
#include "poller/mailbox/mailbox.hpp"

namespace inbox_poller::poller {

/// Writer and tracker of lines in all inboxes of a team. Errors are in each WriteReceipt.
class LinePost {
 public:
  /// Keeps references; `files`, `clock` and `contention` must outlive this object.
  LinePost(FileSystem& files, const Clock& clock, std::unique_ptr<FileWatch> watch, Contention& contention)
      : files_(files), clock_(clock), watch_(std::move(watch)), contention_(contention) {}

  /// One line to post, line end included, with its result.
  struct Line {
    schema::MessageKey key;
    std::string line;
    WriteReceipt result{};
  };
  /// Appends the lines with one write and tracks them; creates a missing file. The lines are on the disk on return.
  /// `unchanged`: the same line is in the file. `busy`: another process has the file open or holds the peers' lock.
  void post(const Directory& folder, const std::string& file, std::span<Line> lines);
  /// Tracks a line that an earlier process wrote. Only its presence in the file is known: a missing line counts as
  /// `lost` the first time and as `consumed` after that.
  void track(const std::string& file, const schema::MessageKey& key);
  /// Returns the status of a tracked line; `waiting` for an unknown one.
  [[nodiscard]] ReadStatus read_status(const std::string& file, const schema::MessageKey& key) const;
  /// Ends the tracking of a line; the file's watch ends with its last line.
  void untrack(const std::string& file, const schema::MessageKey& key);
  /// Returns true if lines of this file are tracked. The daemon must not read the file then, because its read would
  /// look like the worker's.
  [[nodiscard]] bool follows(const std::string& file) const { return posted_.contains(file); }

  /// Function that returns the key of a line that an earlier process wrote; empty for a line without one.
  using KeyOf = std::function<std::optional<schema::MessageKey>(std::string_view line)>;
  /// Updates the status of all tracked lines from the file events since the last call.
  void look(const Directory& folder,
            const std::function<std::optional<schema::MessageKey>(const std::string& file, std::string_view)>& key_in);
  /// Lists the files with tracked lines, sorted.
  [[nodiscard]] std::vector<std::string> files() const;
  /// Returns true if a tracked line of this file is no longer `waiting`.
  [[nodiscard]] bool decided(const std::string& file) const;
  /// Overwrites these lines, if they are in the file, with empty messages of the same length. `busy` as for post();
  /// `gone` if the file is missing or has no leases.
  WriteReceipt recall(const Directory& folder, const std::string& file, std::span<const schema::MessageKey> keys,
                    const KeyOf& key_of);

 private:
  struct Posted {
    std::string line;         // empty: written by an earlier process, not found yet
    std::uint64_t begin = 0;  // offset in the file
    ReadStatus read_status = ReadStatus::waiting;
    bool proven = true;       // a read of the line would have been reported
  };
  struct Box {
    int watched = -1;
    SteadyTime not_before{};  // next lease request; a request looks like a change of the file
    std::vector<FileEvent::What> events;
    std::map<schema::MessageKey, Posted> lines;
  };
  /// Open file with a lease: no other process has the file open while this object lives.
  class Hold;

  Box& watched(const std::string& path, const std::string& file);
  void drain();
  void judge(const Directory& folder, const std::string& file, Box& box);
  void look_closer(const File& file, Box& box, std::string_view bytes);
  void find(const std::string& file, Box& box, std::string_view bytes, const KeyOf& key_of, bool held);
  /// Appends to an existing file. Returns the obstacle for all lines, or `done`.
  WriteReceipt post_behind(const Directory& folder, const std::string& file, Box& box, std::span<Line> lines);
  /// Appends without a lease, if the file system has no leases.
  WriteReceipt append(const Directory& folder, const std::string& file, const std::string& lines);
  /// Writes at the offset `at`; after a failure the file is cut to `end`, which keeps the bytes before it.
  WriteReceipt write(const File& file, const std::string& lines, std::uint64_t at, std::uint64_t end);

  FileSystem& files_;
  const Clock& clock_;
  std::unique_ptr<FileWatch> watch_;
  Contention& contention_;
  std::map<std::string, Box> posted_;  // by file
  std::set<std::pair<std::string, schema::MessageKey>> rewritten_;  // reported as lost once, without proof
};

}  // namespace inbox_poller::poller
