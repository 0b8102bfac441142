// Our lines in workers' inboxes. A worker reads its inbox and then empties it; what is written in between is gone. That
// cannot be prevented, but it can be known: we write while the kernel assures that nobody else has the file open, and
// the kernel tells whether it was read before it was emptied. Source: docs/adr/0032-jsonl-lines.md.
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

class LinePost {
 public:
  LinePost(FileSystem& files, const Clock& clock, std::unique_ptr<FileWatch> watch, Contention& contention)
      : files_(files), clock_(clock), watch_(std::move(watch)), contention_(contention) {}

  /// One line, its end included, that is to be posted; and what came of it.
  struct Line {
    schema::MessageKey key;
    std::string line;
    WriteReceipt result{};
  };
  /// Puts the lines behind what stands in the file, with one write; makes the file if there is none. `already` when the
  /// very line stands there.
  void post(const Directory& folder, const std::string& file, std::span<Line> lines);
  /// A line that an earlier process wrote. Its fate is that of a line of which nothing is known but whether it stands
  /// there: when it does not, it is lost once, and after that believed to be read.
  void track(const std::string& file, const schema::MessageKey& key);
  [[nodiscard]] ReadStatus read_status(const std::string& file, const schema::MessageKey& key) const;
  void untrack(const std::string& file, const schema::MessageKey& key);
  /// True when fates of lines in this file are asked for: nobody else of ours may read it then.
  [[nodiscard]] bool follows(const std::string& file) const { return posted_.contains(file); }

  /// Looks at what was done with the files since. `key_of` names the lines of earlier processes.
  using KeyOf = std::function<std::optional<schema::MessageKey>(std::string_view line)>;
  void look(const Directory& folder,
            const std::function<std::optional<schema::MessageKey>(const std::string& file, std::string_view)>& key_in);
  [[nodiscard]] std::vector<std::string> files() const;
  /// True when the fate of one of them is known, and nobody has let it go yet.
  [[nodiscard]] bool decided(const std::string& file) const;
  /// Makes these lines say nothing, where they still stand.
  WriteReceipt recall(const Directory& folder, const std::string& file, std::span<const schema::MessageKey> keys,
                    const KeyOf& key_of);

 private:
  struct Posted {
    std::string line;         // empty: of an earlier process, not found yet
    std::uint64_t begin = 0;  // where it stands
    ReadStatus fate = ReadStatus::waiting;
    bool proven = true;       // somebody would have told us that it was read
  };
  struct Box {
    int watched = -1;
    SteadyTime not_before{};  // when the lease may be asked for again; asking looks like a change of the file
    std::vector<FileEvent::What> events;
    std::map<schema::MessageKey, Posted> lines;
  };
  /// An open file that nobody else has open, until this goes.
  class Hold;

  Box& watched(const std::string& path, const std::string& file);
  void drain();
  void judge(const Directory& folder, const std::string& file, Box& box);
  void look_closer(const File& file, Box& box, std::string_view bytes);
  void find(const std::string& file, Box& box, std::string_view bytes, const KeyOf& key_of, bool held);
  /// Of an inbox whose file is there: what stands in the way of all of them, or nothing.
  WriteReceipt post_behind(const Directory& folder, const std::string& file, Box& box, std::span<Line> lines);
  /// Where the kernel assures nothing.
  WriteReceipt append(const Directory& folder, const std::string& file, const std::string& lines);
  /// At `at`, in a file of which what stands before `end` is to be kept whatever happens.
  WriteReceipt write(const File& file, const std::string& lines, std::uint64_t at, std::uint64_t end);

  FileSystem& files_;
  const Clock& clock_;
  std::unique_ptr<FileWatch> watch_;
  Contention& contention_;
  std::map<std::string, Box> posted_;  // by file
  std::set<std::pair<std::string, schema::MessageKey>> rewritten_;  // lost without a proof, once
};

}  // namespace inbox_poller::poller
