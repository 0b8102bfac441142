#include "poller/cli/argument.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <set>
#include <utility>

#include "poller/cli/command.hpp"

namespace inbox_poller::poller::cli {

namespace {

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const auto end = list.find(", ");
    parts.emplace_back(list.substr(0, end));
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 2);
  }
  return parts;
}

template <class T>
CLI::Option* put_value(CLI::App& command, const Argument& argument, T& into) {
  return command.add_option(argument.name(), into, argument.about());
}

}  // namespace

CLI::Option* put(CLI::App& command, const Argument& argument, bool& into) {
  return command.add_flag(argument.name(), into, argument.about());
}

CLI::Option* put(CLI::App& command, const Argument& argument, std::string& into) {
  return put_value(command, argument, into);
}

CLI::Option* put(CLI::App& command, const Argument& argument, std::vector<std::string>& into) {
  return put_value(command, argument, into);
}

CLI::Option* put(CLI::App& command, const Argument& argument, int& into) { return put_value(command, argument, into); }

CLI::Option* put(CLI::App& command, const Argument& argument, long long& into) {
  return put_value(command, argument, into);
}

CLI::Option* put(CLI::App& command, const Argument& argument, std::size_t& into) {
  return put_value(command, argument, into);
}

CLI::Option* put(CLI::App& command, const Argument& argument, std::optional<double>& into) {
  return put_value(command, argument, into);
}

CLI::Option* put(CLI::App& command, const Argument& argument, std::optional<std::string>& into) {
  return put_value(command, argument, into);
}

CLI::Option* put(CLI::App& command, const Argument& argument, std::optional<config::Duration>& into) {
  const auto read = [&into](const std::string& option, const std::string& text) { into = read_duration(option, text); };
  return put_text(command, argument, read, false);
}

CLI::Option* put_text(CLI::App& command, const Argument& argument,
                       std::function<void(const std::string& option, const std::string& text)> read, bool may_be_left_out) {
  const auto name = argument.name();
  auto* option = command.add_option_function<std::string>(
      name, [name, read = std::move(read)](const std::string& text) { read(name, text); }, argument.about());
  if (may_be_left_out) option->expected(0, 1);
  return option;
}

void Argument::add(CLI::App& command, void* options) const {
  auto* option = bind_(command, options, *this);
  if (option == nullptr) return;
  if (const auto space = shown_.find(' '); space != std::string_view::npos)
    option->type_name(std::string(shown_.substr(space + 1)));
  else if (option->get_positional())
    option->type_name("");
  option->required(is_required_);
  if (shows_default_) option->capture_default_str();
  const auto words = split(words_);
  if (!words.empty()) option->check(CLI::IsMember(std::set(words.begin(), words.end())).description(""));
  if (least_ != 0 || most_ != 0) option->check(CLI::Range(least_, most_).description(""));
  for (const auto& name : split(excludes_)) option->excludes(name);
  for (const auto& name : split(needs_)) option->needs(name);
}

}  // namespace inbox_poller::poller::cli
