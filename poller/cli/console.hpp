// Where a command reads from and writes to. Writing answers whether everything was taken: `recv` acknowledges nothing
// that was not written out.
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
  /// The descriptors stay the caller's. Colours are used when `out` is a terminal and NO_COLOR is not set.
  Console(int in, int out, int err);

  /// Writes everything, or says why not.
  [[nodiscard]] Status write(std::string_view text);
  /// Brings what was written to the disk, where `out` is a file.
  [[nodiscard]] Status sync();
  /// One line to the error output, as "inbox-poller: text". There is nobody to tell when that fails.
  void complain(std::string_view text);
  /// Lines to the error output as they are.
  void explain(std::string_view text);
  /// All of the input; an error when it is longer than `most`.
  [[nodiscard]] Result<std::string> read_all(std::size_t most);

  /// A line of the input without its end, as a terminal gives one at a time; an error at the end of the input.
  [[nodiscard]] Result<std::string> read_line();

  struct Beginning {
    std::string text;
    bool is_cut = false;
  };
  /// The input's first bytes, at most so many. What is behind them is read too, for whoever writes it, and thrown away.
  /// An error when the input does not end in time.
  [[nodiscard]] Result<Beginning> read_beginning(std::size_t most, std::chrono::milliseconds within);
  /// As explain(), for a reader that has to have it.
  [[nodiscard]] Status write_error(std::string_view text);

  /// Asks on the error output; true only when a person at a terminal says yes.
  [[nodiscard]] bool confirm(std::string_view question);

  [[nodiscard]] bool out_is_terminal() const { return terminal_; }
  /// How wide the terminal is; 0 for what is none, or does not say.
  [[nodiscard]] int columns() const;
  /// As wide as the output is, whatever that takes.
  [[nodiscard]] std::string table(const std::vector<Row>& rows, std::string_view margin) const {
    return cli::table(rows, margin, columns());
  }
  /// Lines as wide as the output is. Commands stay whole, to be copied.
  [[nodiscard]] std::string fit(std::string text) const;
  /// For a command that waits for them itself.
  [[nodiscard]] int in() const { return in_; }
  [[nodiscard]] int out() const { return out_; }
  [[nodiscard]] std::string bold(std::string_view text) const { return painted("1", text); }
  /// For what wants attention.
  [[nodiscard]] std::string loud(std::string_view text) const { return painted("1;33", text); }

 private:
  [[nodiscard]] std::string painted(std::string_view attributes, std::string_view text) const;

  int in_;
  int out_;
  int err_;
  bool terminal_;
  bool colour_;
};

/// Writes everything, or says why not; also to a terminal that somebody made non-blocking.
[[nodiscard]] Status write_all(int descriptor, std::string_view text);

/// "12s", "3m", "2h 5m", "3d 4h"; never negative.
std::string span_text(long long ms);

/// Local time, "2026-02-07 15:20:46".
std::string time_text(long long epoch_ms);

/// The same for a narrow column: "15:20:46" of today, "02-07 15:20" of this year, else "2026-02-07".
std::string brief_time_text(long long epoch_ms, long long now_ms);

}  // namespace inbox_poller::poller::cli
