// One JSONL inbox that is read by offset: the whole lines after the acknowledged ones. LinePost writes to workers.
// Invariants: no line is lost, also if a writer or the daemon ends at any moment. Reading never changes the file.
// The file is emptied in place only if all lines are acknowledged and a kernel lease shows that no other process has it
// open. If the file system has no leases, the file is exchanged for an empty one and kept, because another program may
// be about to write into it. Source: docs/adr/0032-jsonl-lines.md.
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "poller/mailbox/jsonl/box_records.hpp"
#include "poller/mailbox/mailbox.hpp"

namespace inbox_poller::poller {

/// Reader of one inbox. Keeps offsets in memory, and generations in BoxRecords.
class LineBox {
 public:
  /// The dependencies and settings that all inboxes of a team share; they must outlive the inboxes.
  struct Team {
    FileSystem& files;
    const Clock& clock;
    BoxRecords& records;
    Contention& contention;
    std::string name;
    std::uint64_t size_limit;  // bytes; limit of one line; a quarter is the least size of a file to put aside
  };

  LineBox(Team& team, std::string box, std::string file) : team_(team), box_(std::move(box)), file_(std::move(file)) {}

  /// Returns true if take() or ack() may have work; costs one stat for each file of the inbox.
  /// `below` is prepended to the file names: "" or a path with its final '/'.
  [[nodiscard]] bool has_news(const Directory& folder, const std::string& below = "") const;
  /// Predicate that delays a line; the lines after it are delayed too.
  using Waits = std::function<bool(std::string_view line)>;
  /// Reads at most `most` lines that are not acknowledged yet, oldest first. The views are valid until the next take(),
  /// or until the ack() that follows a complete read. Problems are in `Batch::state` and `Batch::detail`.
  Batch take(const Directory& folder, Access reader, std::size_t most, const Waits& waits = {});
  /// Applies one disposal to each line of the last take(), in order; a list of another length is ignored. A reader with
  /// exclusive access then empties the file if it may. Problems of the emptying are in `Settled::detail`.
  Settled ack(const Directory& folder, const std::vector<Ack>& disposals);
  /// Makes the next take() start from the beginning of each file.
  void rewind();
  /// Returns true if the line with this key has been seen and is still in a file.
  [[nodiscard]] bool holds(const schema::MessageKey& key) const;
  /// The reason that the file cannot be emptied in place; empty if no reason is known.
  [[nodiscard]] const std::string& no_lease() const { return no_lease_; }

 private:
  /// A file to read: the inbox file in place, or one that was put aside.
  struct Source {
    std::string name;
    std::uint64_t inode = 0;
    std::uint64_t generation = 0;
    EpochMs aside_ms = 0;            // wall clock; 0: the file is in place
    std::uint64_t offset = 0;        // end of the lines that need not be shown again
    std::string tail;                // the bytes before `offset`, as they were read
    std::uint64_t size = 0;          // at the last read
    std::int64_t mtime_ns = 0;
    std::set<std::uint64_t> settled;          // begins of lines after `offset` not to be shown again
    std::map<schema::MessageKey, EpochMs> held;  // each line in the file; first seen (wall clock)
    bool must_stay = false;                   // lines were left to other readers
    [[nodiscard]] bool is_in_place() const { return aside_ms == 0; }
  };
  struct Shown {
    std::size_t source;
    std::uint64_t begin, end;
  };

  [[nodiscard]] Source& in_place() { return sources_.back(); }
  Result<File> open_in_place(const Directory& folder, Batch& batch);
  /// Restores the generation and the files put aside from BoxRecords, at the first read of this process.
  Status recognize(const Directory& folder, const File& file);
  /// Starts at the beginning after another program emptied or replaced the file.
  Status begin_anew(const File& file, Access reader, Batch& batch);
  [[nodiscard]] Result<bool> is_as_read(const Source& source, const File& file) const;
  /// Reads into `room`, to reuse its memory.
  void read_lines(std::size_t source, const File& file, std::size_t most, const Waits& waits, std::string room, Batch& batch);
  void end_last_line(const Directory& folder, Source& source, Batch& batch);
  void empty(const Directory& folder, Settled& result);
  [[nodiscard]] Result<bool> empty_under_lease(const File& file, const FileMark& mark);
  Status put_aside(const Directory& folder, const File& file);
  void drop_aside(const Directory& folder);
  [[nodiscard]] bool may_be_emptied() const;
  [[nodiscard]] Result<std::string> tail_of(const File& file, std::uint64_t end, std::size_t most) const;
  [[nodiscard]] schema::MessageKey key_of(const Source& source, std::uint64_t begin, std::string_view line) const;

  Team& team_;
  std::string box_;
  std::string file_;
  std::vector<Source> sources_;  // files put aside come first; empty before the first read
  std::deque<std::string> read_;  // owns the memory of the batch's lines
  std::vector<Shown> shown_;
  std::vector<std::uint64_t> shown_to_;         // end offset of each source; empty if there is nothing to ack
  std::vector<std::string_view> read_from_;     // bytes of each source from its offset on
  Access reader_ = Access::peek;
  bool all_shown_ = false;
  bool one_waits_ = false;        // a line was delayed by `waits`
  std::uint64_t quiet_size_ = 0;  // size at the last read, if the file ended without a line end
  std::string no_lease_;
  bool owes_emptying_ = false;
  SteadyTime not_before_{};  // next lease request; a request looks like a change of the file
};

}  // namespace inbox_poller::poller
