// What stands behind a command's name, as rows: how it is shown, where its value goes, what may be said.
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

/// A word, an option or a flag of a command. Its form follows from the type that the value goes into.
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

  // What else holds; each returns a row with that.
  [[nodiscard]] constexpr Argument required() const { return with(&Argument::is_required_, true); }
  /// The numbers that may be said.
  [[nodiscard]] constexpr Argument within(long long least, long long most) const {
    return with(&Argument::least_, least).with(&Argument::most_, most);
  }
  /// The words that may be said, separated by ", ".
  [[nodiscard]] constexpr Argument one_of(std::string_view words) const { return with(&Argument::words_, words); }
  /// Its text is shown by --help as what holds without it.
  [[nodiscard]] constexpr Argument shows_default() const { return with(&Argument::shows_default_, true); }
  /// The options that may not stand beside it, and that have to, separated by ", ". Their rows come before.
  [[nodiscard]] constexpr Argument excludes(std::string_view names) const { return with(&Argument::excludes_, names); }
  [[nodiscard]] constexpr Argument needs(std::string_view name) const { return with(&Argument::needs_, name); }

  /// Into the parser; `options` is what the row's member belongs to.
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

/// A value that reads its text itself; throws what CLI11 tells as a wrong command line.
template <class T>
concept Read = requires(T value, const std::string& option, const std::string& text) { value.read(option, text); };
/// One whose text may be left out, behind "=" only.
template <class T>
concept ReadOrLeftOut = Read<T> && T::may_be_left_out;

// One for each form. A number and a list take what CLI11 takes; a flag takes nothing.
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

/// The row of an argument whose value goes into this member of the command's options (or of a member of it).
/// `shown`: "WORKER" is a word, "--all" a flag or an option, "--limit N" an option and what its value is called.
template <auto First, auto... Rest>
constexpr Argument takes(std::string_view shown, std::string_view about) {
  return {[](CLI::App& command, void* options, const Argument& argument) {
            auto& owner = *static_cast<typename OwnerOf<decltype(First)>::Type*>(options);
            return put(command, argument, member_at<First, Rest...>(owner));
          },
          shown, about};
}

/// The rows of a member that is options of its own.
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
