// Follows the growing transcript of the lead's session. The client owns the file, and its name came from outside. It is
// opened only as a regular file of this user, never through a link in its last component. Each read is bounded. An
// unreadable file yields no data.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "poller/filesystem.hpp"
#include "schema/transcript.hpp"

namespace inbox_poller::poller {

class Transcript {
 public:
  Transcript(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Offset after the present last byte; 0 when there is no such file.
  std::uint64_t end();

  /// Skips to an offset. Only later lines are new; a little before it is read for the session's data.
  void skip_to(std::uint64_t place);

  /// Reads at most one chunk and passes each new line with the offset of its beginning. False when there is no such
  /// file, or it must not be read.
  bool read_on(const std::function<void(std::uint64_t begin, std::string_view line)>& visit);
  /// True when read_on() has reached the end that the file had then.
  [[nodiscard]] bool is_at_end() const { return at_end_; }

  /// Client version, as found in the lines read so far.
  [[nodiscard]] const std::string& version() const { return version_; }
  /// True once after a person interrupted the turn and nothing followed.
  bool take_interruption();

 private:
  Result<File> open();
  void learn(std::string_view lines);

  FileSystem& files_;
  std::string path_;
  std::uint64_t place_ = 0;  // offset of the next read: the beginning of a line, unless inside_
  bool inside_ = false;      // of a line whose beginning was not read, or that is too long
  bool at_end_ = false;
  std::uint64_t inode_ = 0;
  std::string version_;
  bool interrupted_ = false;
};

}  // namespace inbox_poller::poller
