// The transcript of the lead's session, followed as it grows. The file is foreign, and its name came from outside: it
// is opened only as a regular file of this user, never by way of a link in its last component, and read a bounded piece
// at a time. What cannot be read tells nothing.
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
  /// The place behind its last byte now; 0 when it is not there.
  std::uint64_t end();

  /// From now on only what stands behind this place is new, and a little before it, for what the session is.
  void skip_to(std::uint64_t place);

  /// Reads on, not more than one piece, and shows each new line with the place where it begins. False when there is no
  /// such file, or none that may be read.
  bool read_on(const std::function<void(std::uint64_t begin, std::string_view line)>& visit);
  /// True when read_on() has reached the end that the file had then.
  [[nodiscard]] bool is_at_end() const { return at_end_; }

  /// What its lines have told so far.
  [[nodiscard]] const std::string& version() const { return version_; }
  /// True once after a person interrupted the turn, when nothing came after that.
  bool take_interruption();

 private:
  Result<File> open();
  void learn(std::string_view lines);

  FileSystem& files_;
  std::string path_;
  std::uint64_t place_ = 0;  // where reading goes on: the beginning of a line, unless inside_
  bool inside_ = false;      // of a line whose beginning was not read, or is too long
  bool at_end_ = false;
  std::uint64_t inode_ = 0;
  std::string version_;
  bool interrupted_ = false;
};

}  // namespace inbox_poller::poller
