// A folder that lives as long as a test, with a team in it, and a clock that moves when told to.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "poller/clock.hpp"
#include "tests/support/patience.hpp"

namespace inbox_poller::test {

class ScratchDir {
 public:
  ScratchDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "inbox-poller-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed for " + pattern);
    path_ = pattern;
  }
  ~ScratchDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  [[nodiscard]] std::filesystem::path path(std::string_view below = {}) const {
    return below.empty() ? std::filesystem::path(path_) : std::filesystem::path(path_) / below;
  }

 private:
  std::string path_;
};

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream out;
  out << in.rdbuf();
  return std::move(out).str();
}

/// Truncates and writes in place, as client 2.1.50 does.
inline void spill(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

/// Replaces the file by rename, as client 2.1.329 does.
inline void replace(const std::filesystem::path& path, std::string_view bytes) {
  const std::filesystem::path temporary = path.string() + ".tmp.0badcafe";
  spill(temporary, bytes);
  std::filesystem::rename(temporary, path);
}

/// Starts at the present and stands still until it is moved.
class ManualClock final : public poller::Clock {
 public:
  [[nodiscard]] poller::SteadyTime steady() const override { return steady_; }
  [[nodiscard]] poller::EpochMs wall_ms() const override { return wall_ms_; }
  [[nodiscard]] poller::EpochMs system_ms() const override { return wall_ms_ + set_by_.count(); }

  void advance(std::chrono::milliseconds by) {
    steady_ += by;
    wall_ms_ += by.count();
  }
  void jump_wall(std::chrono::milliseconds by) { wall_ms_ += by.count(); }
  /// Somebody sets the system's clock while we run.
  void set_system(std::chrono::milliseconds by) { set_by_ += by; }

 private:
  poller::SystemClock now_;
  poller::SteadyTime steady_ = now_.steady();
  poller::EpochMs wall_ms_ = now_.wall_ms();
  std::chrono::milliseconds set_by_{0};
};

}  // namespace inbox_poller::test
