// The error type of this program, and the type that holds a value or an error. Not for outcomes: "the lock is held" and
// "refused" are ordinary results with types of their own. Source: docs/dev/architecture.md, "Errors". Not
// boost::system::result 1.81, which may be ignored silently, and not std::expected, which the fuzzers' clang 14 lacks.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace inbox_poller {

/// An error. `code` is stable and for programs ("json.syntax", "io.enospc"). `message` is for people and names the
/// place, the fault and, if known, the remedy.
struct Error {
  std::string code;
  std::string message;
};

/// Returns the error with its context: "reading /x/y.json: permission denied".
inline Error in_context(std::string_view what, Error error) {
  error.message = std::string(what) + ": " + error.message;
  return error;
}

/// A T or the error that prevented it. Must be checked; reading the wrong one throws std::bad_variant_access.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value.
struct Done {};
using Status = Result<Done>;

}  // namespace inbox_poller

// TRY(auto row, table.find(id));   declares `row` with the value, or returns the error from this function
// TRY(table.add(row));             continues after success, or returns the error
// CO_TRY is the same in a coroutine. The first form is a declaration, because a statement expression may not contain
// co_return. The second form may not contain a comma outside of parentheses. It refuses a value that cannot be copied
// (a lock, a file), which needs a name.
#define TRY(...) INBOX_POLLER_TRY_FORM(__VA_ARGS__, V, V, V, V, V, V, V, DONE)(return, __VA_ARGS__)
#define CO_TRY(...) INBOX_POLLER_TRY_FORM(__VA_ARGS__, V, V, V, V, V, V, V, DONE)(co_return, __VA_ARGS__)
#define INBOX_POLLER_TRY_FORM(a, b, c, d, e, f, g, h, form, ...) INBOX_POLLER_TRY_##form
#define INBOX_POLLER_TRY_V(leave, declaration, ...) \
  INBOX_POLLER_TRY_DECLARE(leave, declaration, INBOX_POLLER_TRY_NAME(tried_, __LINE__), __VA_ARGS__)
#define INBOX_POLLER_TRY_DECLARE(leave, declaration, tried, ...) \
  auto tried = __VA_ARGS__;                                      \
  if (!tried) leave tried.error();                               \
  declaration = *std::move(tried)
#define INBOX_POLLER_TRY_DONE(leave, expression)                                                \
  do {                                                                                          \
    auto tried = (expression);                                                                  \
    static_assert(std::is_copy_constructible_v<decltype(tried)>, "a lock or a file: name it"); \
    if (!tried) leave tried.error();                                                            \
  } while (false)
#define INBOX_POLLER_TRY_NAME(first, second) INBOX_POLLER_TRY_JOIN(first, second)
#define INBOX_POLLER_TRY_JOIN(first, second) first##second
