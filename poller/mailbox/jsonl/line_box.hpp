// One JSONL inbox, read by its owner's place in it: whole lines behind what was settled. Nothing is lost, however writers
// and our own ends fall: reading never touches the file, and it is emptied, in place, only when all of it is settled and
// only while the kernel assures that nobody else has it open. Where no such lease is to be had, the file is exchanged for
// an empty one and kept, because somebody may be about to write into it. Source: docs/adr/0032-jsonl-lines.md.
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "poller/mailbox/jsonl/box_records.hpp"
#include "poller/mailbox/mailbox.hpp"

namespace inbox_poller::poller {

class LineBox {
 public:
  /// What all boxes of a team share.
  struct Team {
    FileSystem& files;
    const Clock& clock;
    BoxRecords& records;
    Contention& contention;
    std::string name;
    std::uint64_t size_limit;  // bytes; of one line, and four times that at which a file is put aside
  };

  LineBox(Team& team, std::string box, std::string file) : team_(team), box_(std::move(box)), file_(std::move(file)) {}

  /// One stat for each of its files: whether take() or ack() may have something to do. `below`: what stands before
  /// their names there, "" or a path with its '/'.
  [[nodiscard]] bool has_news(const Directory& folder, const std::string& below = "") const;
  /// A line that `waits` is not shown yet, nor is what stands behind it.
  using Waits = std::function<bool(std::string_view line)>;
  Batch take(const Directory& folder, Access reader, std::size_t most, const Waits& waits = {});
  Settled ack(const Directory& folder, const std::vector<Ack>& disposals);
  void rewind();
  [[nodiscard]] bool holds(const schema::MessageKey& key) const;
  /// Why the file cannot be emptied in place; empty while nothing is known against it.
  [[nodiscard]] const std::string& no_lease() const { return no_lease_; }

 private:
  /// A file that is read, the one in place or one that was put aside.
  struct Source {
    std::string name;
    std::uint64_t inode = 0;
    std::uint64_t generation = 0;
    EpochMs aside_ms = 0;            // 0: it is in place
    std::uint64_t offset = 0;        // behind what need not be shown again
    std::string tail;                // what stands before it, as it was read
    std::uint64_t size = 0;          // when it was looked at last
    std::int64_t mtime_ns = 0;
    std::set<std::uint64_t> settled;          // lines behind `offset` that need not be shown again, by where they begin
    std::map<schema::MessageKey, EpochMs> held;  // every line that stands there, and when we saw it first
    bool must_stay = false;                   // some of it was left to others
    [[nodiscard]] bool is_in_place() const { return aside_ms == 0; }
  };
  struct Shown {
    std::size_t source;
    std::uint64_t begin, end;
  };

  [[nodiscard]] Source& in_place() { return sources_.back(); }
  Result<File> open_in_place(const Directory& folder, Batch& batch);
  /// The first look of this process: which generation it is, and what was put aside.
  Status recognise(const Directory& folder, const File& file);
  /// Somebody else emptied it, or put another file in its place.
  Status begin_anew(const File& file, Access reader, Batch& batch);
  [[nodiscard]] Result<bool> is_as_read(const Source& source, const File& file) const;
  /// Into `room`, whose memory is used again.
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
  std::vector<Source> sources_;  // those put aside first; empty before the first look
  std::deque<std::string> read_;  // what the batch's lines lie in
  std::vector<Shown> shown_;
  std::vector<std::uint64_t> shown_to_;         // of each source; empty when there is nothing to ack
  std::vector<std::string_view> read_from_;     // of each source, what stands from its offset on
  Access reader_ = Access::peek;
  bool all_shown_ = false;
  bool one_waits_ = false;        // of what was not shown
  std::uint64_t quiet_size_ = 0;  // a file that ends in the middle of a line, when it was looked at last
  std::string no_lease_;
  bool owes_emptying_ = false;
  SteadyTime not_before_{};  // when the lease may be asked for again; asking looks like a change of the file
};

}  // namespace inbox_poller::poller
