#include "poller/delivery/transcript.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace inbox_poller::poller {
namespace {

constexpr std::uint64_t bytes_at_once = std::uint64_t{1} << 20;
constexpr std::uint64_t looked_back = std::uint64_t{64} << 10;  // bytes read for the client's version
constexpr std::size_t longest_path = 4096;

}  // namespace

Result<File> Transcript::open() {
  const bool is_path = path_.starts_with('/') && path_.size() <= longest_path && path_.find('\0') == std::string::npos;
  if (!is_path) return Error{"transcript.path", "a transcript has an absolute path"};
  auto file = files_.open_read(absolute, path_);
  if (file && file->stat.uid != ::geteuid()) return Error{"transcript.foreign", path_ + " belongs to another user"};
  return file;
}

std::uint64_t Transcript::end() {
  const auto file = open();
  return file ? file->stat.size : 0;
}

void Transcript::skip_to(std::uint64_t place) {
  if (place < place_) {  // backwards, to the start of that line
    inside_ = place > 0;
    place_ = place - (inside_ ? 1 : 0);
  }
  if (place <= place_ + looked_back) return;
  place_ = place - looked_back;
  inside_ = true;
}

bool Transcript::read_on(const std::function<void(std::uint64_t begin, std::string_view line)>& visit) {
  auto file = open();
  at_end_ = false;
  if (!file) return false;
  if (file->stat.size < place_ || (inode_ != 0 && inode_ != file->stat.ino)) {  // another file under its name
    place_ = file->stat.size > looked_back ? file->stat.size - looked_back : 0;
    inside_ = place_ > 0;
  }
  inode_ = file->stat.ino;
  at_end_ = file->stat.size - place_ <= bytes_at_once;
  if (file->stat.size == place_) return true;
  std::string bytes(std::min(bytes_at_once, file->stat.size - place_), '\0');
  const auto read = files_.read_at(*file, bytes.data(), bytes.size(), place_);
  if (!read) return false;
  bytes.resize(*read);
  std::size_t from = 0;
  if (inside_) {
    const auto end = bytes.find('\n');
    inside_ = end == std::string::npos;
    from = inside_ ? bytes.size() : end + 1;
  }
  const auto last = bytes.rfind('\n');
  const auto to = last == std::string::npos ? from : std::max(from, last + 1);
  learn(std::string_view(bytes).substr(from, to - from));
  for (std::size_t at = from; at < to;) {
    const auto end = bytes.find('\n', at);
    visit(place_ + at, std::string_view(bytes).substr(at, end - at));
    at = end + 1;
  }
  // Skip a longer line; read an incomplete line when it is whole.
  const bool too_long = to == from && !inside_ && bytes.size() - from >= bytes_at_once;
  inside_ = inside_ || too_long;
  place_ += too_long ? bytes.size() : to;
  return true;
}

void Transcript::learn(std::string_view lines) {
  auto signs = schema::transcript_signs(lines);
  if (!signs.version.empty()) version_ = std::move(signs.version);
  if (signs.interrupted) interrupted_ = *signs.interrupted;
}

bool Transcript::take_interruption() { return std::exchange(interrupted_, false); }

}  // namespace inbox_poller::poller
