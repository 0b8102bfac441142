#include "config/presets.hpp"

namespace inbox_poller::config {
namespace {

constexpr std::string_view working_rules[] = {
    // read-only
    "Bash(git status *)", "Bash(git diff *)", "Bash(git log *)", "Bash(git show *)", "Bash(git branch --show-current)",
    "Bash(git rev-parse *)", "Bash(ls *)", "Bash(pwd)", "Bash(which *)", "Bash(echo *)", "Read(/**)",
    // working
    "Edit(/**)", "Bash(git add *)", "Bash(git commit *)", "Bash(git checkout -b *)", "Bash(git switch -c *)",
    "Bash(cat *)", "Bash(head *)", "Bash(tail *)", "Bash(wc *)", "Bash(grep *)", "Bash(rg *)", "Bash(find *)",
    "Bash(sed -n *)", "Bash(sort *)", "Bash(uniq *)", "Bash(cut *)", "Bash(tr *)", "Bash(jq *)", "Bash(diff *)",
    "Bash(tree *)", "Bash(mkdir *)", "Bash(touch *)", "Bash(make *)", "Bash(npm run *)", "Bash(npm test *)",
    "Bash(npx tsc *)", "Bash(npx eslint *)", "Bash(npx jest *)", "Bash(npx vitest *)", "Bash(npx prettier *)",
    "Bash(python -m pytest *)", "Bash(python3 -m pytest *)", "Bash(pytest *)", "Bash(ruff *)", "Bash(mypy *)",
    "Bash(cargo build *)", "Bash(cargo check *)", "Bash(cargo test *)", "Bash(cargo clippy *)", "Bash(cargo fmt *)",
    "Bash(go build *)", "Bash(go test *)", "Bash(go vet *)"};

constexpr std::size_t read_only_count = 11;

}  // namespace

std::span<const std::string_view> preset_rules(std::string_view preset) {
  const std::span<const std::string_view> all(working_rules);
  if (preset == "read-only") return all.first(read_only_count);
  return preset == "working" ? all : std::span<const std::string_view>();
}

}  // namespace inbox_poller::config
