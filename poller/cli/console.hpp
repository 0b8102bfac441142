// Input and outputs of a command. Each write reports whether all bytes were written, because `recv` acknowledges only
// messages that were written.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "poller/cli/cells.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller::cli {

class Console {
 public:
  /// Uses descriptors that the caller owns. Colors are on for a terminal that supports them, unless NO_COLOR is set.
  Console(int in, int out, int err);

  /// Writes all of the text to `out`; error "io.write".
  [[nodiscard]] Status write(std::string_view text);
  /// Flushes a file to the disk; does nothing for a pipe or a terminal. Error "io.write".
  [[nodiscard]] Status sync();
  /// Writes "inbox-poller: text" as a line to the error output. A failure is ignored.
  void complain(std::string_view text);
  /// Writes text unchanged to the error output. A failure is ignored.
  void explain(std::string_view text);
  /// Reads the whole input. Errors: "request.too_long" (more than `most` bytes), "io.read".
  [[nodiscard]] Result<std::string> read_all(std::size_t most);

  /// Reads one line, without its end, from a terminal that delivers line by line. Error "input.ended".
  [[nodiscard]] Result<std::string> read_line();

  struct Beginning {
    std::string text;
    bool is_cut = false;
  };
  /// Reads the input to its end and keeps the first `most` bytes. The rest is read so that its writer is not blocked.
  /// Errors: "input.open" when the input has not ended `within` this time, "io.read".
  [[nodiscard]] Result<Beginning> read_beginning(std::size_t most, std::chrono::milliseconds within);
  /// Does the same as explain(), but reports a failure.
  [[nodiscard]] Status write_error(std::string_view text);

  /// Asks a yes-or-no question on the error output. True only if the input is a terminal and the answer begins with y.
  [[nodiscard]] bool confirm(std::string_view question);

  [[nodiscard]] bool out_is_terminal() const { return terminal_; }
  /// Width of the terminal in cells; 0 when the output is not a terminal, or its width is unknown.
  [[nodiscard]] int columns() const;
  /// Formats a table as wide as the terminal, or as wide as needed without one.
  [[nodiscard]] std::string table(const std::vector<Row>& rows, std::string_view margin) const {
    return cli::table(rows, margin, columns());
  }
  /// Formats a line a row for the terminal: leaves out columns that do not fit, then cuts cells but those of `whole`.
  [[nodiscard]] std::string lines(std::vector<Row> rows, std::string_view whole,
                                  std::initializer_list<std::string_view> left_out) const {
    return list(without(std::move(rows), columns(), left_out), columns(), whole);
  }
  /// Wraps lines to the terminal's width. Lines with commands stay whole, so that they can be copied.
  [[nodiscard]] std::string fit(std::string text) const;
  /// Descriptors for a command that waits for them itself.
  [[nodiscard]] int in() const { return in_; }
  [[nodiscard]] int out() const { return out_; }
  [[nodiscard]] std::string bold(std::string_view text) const { return painted("1", text); }
  /// Highlights text that needs attention.
  [[nodiscard]] std::string loud(std::string_view text) const { return painted("1;33", text); }

 private:
  [[nodiscard]] std::string painted(std::string_view attributes, std::string_view text) const;

  int in_;
  int out_;
  int err_;
  bool terminal_;
  bool color_;
};

/// Writes all of the text, also to a terminal that another process made non-blocking; error "io.write".
[[nodiscard]] Status write_all(int descriptor, std::string_view text);

/// Formats a duration: "12s", "3m", "2h 5m", "3d 4h"; a negative one as "0s".
std::string span_text(long long ms);

/// Formats local time as "2026-02-07 15:20:46".
std::string time_text(long long epoch_ms);

/// Formats local time for a narrow column: "15:20:46" today, "02-07 15:20" this year, otherwise "2026-02-07".
std::string brief_time_text(long long epoch_ms, long long now_ms);

}  // namespace inbox_poller::poller::cli
