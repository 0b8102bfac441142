// `--name value` pairs of the measuring programs; what they are given is written by tests/bench/*.py, so a mistake ends
// them.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace inbox_poller::bench {

[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "bench: %s\n", why.c_str());
  std::exit(2);
}

class Options {
 public:
  Options(int argc, char** argv, int first) {
    for (int i = first; i + 1 < argc; i += 2) {
      const std::string name = argv[i];
      if (!name.starts_with("--")) give_up("expected --name, found " + name);
      values_[name.substr(2)] = argv[i + 1];
    }
    if ((argc - first) % 2 != 0) give_up(std::string("no value for ") + argv[argc - 1]);
  }

  [[nodiscard]] std::string text(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) give_up("--" + name + " is missing");
    return found->second;
  }
  [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise) const {
    return values_.contains(name) ? values_.at(name) : otherwise;
  }
  [[nodiscard]] long number(const std::string& name) const { return std::atol(text(name).c_str()); }
  [[nodiscard]] long number(const std::string& name, long otherwise) const {
    return values_.contains(name) ? number(name) : otherwise;
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace inbox_poller::bench
