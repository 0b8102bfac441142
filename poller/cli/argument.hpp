// Arguments of commands as table rows: name, help text, allowed values, and the member that receives the value.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "schema/names.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace inbox_poller::poller::cli {

/// A positional argument, an option or a flag of a command. The type of the member that receives the value decides.
class Argument {
  template <class T>
  [[nodiscard]] constexpr Argument with(T Argument::* field, T value) const {
    Argument changed = *this;
    changed.*field = value;
    return changed;
  }

 public:
  using Bind = CLI::Option* (*)(CLI::App&, void* options, const Argument&);

  constexpr Argument(Bind bind, std::string_view shown, std::string_view about)
      : bind_(bind), shown_(shown), about_(about) {}

  // Each of these functions returns a changed copy of the row.
  [[nodiscard]] constexpr Argument required() const { return with(&Argument::is_required_, true); }
  /// Limits a number to this range, both ends included.
  [[nodiscard]] constexpr Argument within(long long least, long long most) const {
    return with(&Argument::least_, least).with(&Argument::most_, most);
  }
  /// Limits the value to these words, separated by ", ".
  [[nodiscard]] constexpr Argument one_of(std::string_view words) const { return with(&Argument::words_, words); }
  /// Shows the member's initial value as the default in --help.
  [[nodiscard]] constexpr Argument shows_default() const { return with(&Argument::shows_default_, true); }
  /// Names the options that exclude this one, and those that it requires, separated by ", ". Their rows come first.
  [[nodiscard]] constexpr Argument excludes(std::string_view names) const { return with(&Argument::excludes_, names); }
  [[nodiscard]] constexpr Argument needs(std::string_view name) const { return with(&Argument::needs_, name); }

  /// Adds the argument to the parser; `options`: the object that has the row's member.
  void add(CLI::App&, void* options) const;

  [[nodiscard]] std::string name() const { return std::string(shown_.substr(0, shown_.find(' '))); }
  [[nodiscard]] std::string about() const { return std::string(about_); }

 private:
  Bind bind_;
  std::string_view shown_;  // "--limit N", "--all", "WORKER"
  std::string_view about_;
  std::string_view words_ = {};
  std::string_view excludes_ = {};
  std::string_view needs_ = {};
  long long least_ = 0, most_ = 0;  // both 0: any number
  bool is_required_ = false;
  bool shows_default_ = false;
};

/// A value that parses its own text; read() throws CLI::ValidationError on a wrong command line.
template <class T>
concept Read = requires(T value, const std::string& option, const std::string& text) { value.read(option, text); };
/// A value with optional text. The text can be given only after "=".
template <class T>
concept ReadOrLeftOut = Read<T> && T::may_be_left_out;

// One overload for each type of value. CLI11 parses numbers and lists; a flag has no value.
CLI::Option* put(CLI::App&, const Argument&, bool& into);
CLI::Option* put(CLI::App&, const Argument&, std::string& into);
CLI::Option* put(CLI::App&, const Argument&, std::vector<std::string>& into);
CLI::Option* put(CLI::App&, const Argument&, int& into);
CLI::Option* put(CLI::App&, const Argument&, long long& into);
CLI::Option* put(CLI::App&, const Argument&, std::size_t& into);
CLI::Option* put(CLI::App&, const Argument&, std::optional<double>& into);
CLI::Option* put(CLI::App&, const Argument&, std::optional<std::string>& into);
CLI::Option* put(CLI::App&, const Argument&, std::optional<config::Duration>& into);
CLI::Option* put_text(CLI::App&, const Argument&, std::function<void(const std::string& option, const std::string& text)>,
                       bool may_be_left_out);

CLI::Option* put(CLI::App& command, const Argument& argument, Read auto& into) {
  constexpr bool left_out = ReadOrLeftOut<std::remove_reference_t<decltype(into)>>;
  return put_text(
      command, argument, [&into](const std::string& option, const std::string& text) { into.read(option, text); }, left_out);
}

template <class E>
  requires std::is_enum_v<E>
CLI::Option* put(CLI::App& command, const Argument& argument, std::optional<E>& into) {
  return put_text(
      command, argument, [&into](const std::string&, const std::string& text) { into = schema::parse<E>(text); }, false);
}

template <auto First, auto... Rest>
auto& member_at(auto& options) {
  if constexpr (sizeof...(Rest) == 0)
    return options.*First;
  else
    return member_at<Rest...>(options.*First);
}

template <class T>
struct OwnerOf;
template <class T, class O>
struct OwnerOf<T O::*> {
  using Type = O;
};

/// Returns the row of an argument whose value goes into this member of the command's options, or into its member.
/// `shown`: "WORKER" is a positional argument, "--all" a flag or an option, "--limit N" an option and its value's name.
template <auto First, auto... Rest>
constexpr Argument takes(std::string_view shown, std::string_view about) {
  return {[](CLI::App& command, void* options, const Argument& argument) {
            auto& owner = *static_cast<typename OwnerOf<decltype(First)>::Type*>(options);
            return put(command, argument, member_at<First, Rest...>(owner));
          },
          shown, about};
}

/// Returns one row that stands for all rows of a member that is itself an options struct.
template <auto Member, const auto& Rows>
constexpr Argument takes_each() {
  return {[](CLI::App& command, void* options, const Argument&) -> CLI::Option* {
            auto& owner = *static_cast<typename OwnerOf<decltype(Member)>::Type*>(options);
            for (const Argument& row : Rows) row.add(command, &(owner.*Member));
            return nullptr;
          },
          "", ""};
}

}  // namespace inbox_poller::poller::cli
