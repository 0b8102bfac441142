// What may happen to one daemon between two of its calls to the system: peers go on, the machine pauses, the call
// fails, the process is killed. A killed daemon still runs to its next wait, but none of its calls has an effect.
#pragma once

#include <cstdint>
#include <functional>

#include "tests/sim/dice.hpp"

namespace inbox_poller::sim {

class Fate {
 public:
  explicit Fate(Dice& dice, std::uint64_t calls_until_kill = 0) : kill_in(calls_until_kill), dice_(dice) {}

  bool is_dead = false;
  std::uint64_t kill_in = 0;  // calls until the kill; 0: no kill is due
  std::uint64_t error_one_in = 0;
  std::uint64_t pause_one_in = 0;
  bool disk_is_full = false;
  std::function<void()> meanwhile;   // lets the peers act up to the present
  std::function<void(Span)> pause;   // the machine stops for a while, and others go on; empty: there are no others
  std::uint64_t errors = 0;         // errors so far

  enum class Turn { goes_on, fails, dead };
  /// Called before each call; `may_fail` is false where the kernel reports no error.
  Turn next(bool may_fail = true) {
    if (is_dead) return Turn::dead;
    pass(std::chrono::microseconds(5));
    if (dice_.one_in(pause_one_in)) {
      const auto longest = std::chrono::seconds(dice_.one_in(10) ? 20 : 4);  // also longer than a lock is respected
      const auto span = dice_.between(std::chrono::milliseconds(20), longest);
      if (pause)
        pause(span);
      else
        pass(span);
    }
    if (meanwhile) meanwhile();
    if (kill_in > 0 && --kill_in == 0) {
      is_dead = true;
      return Turn::dead;
    }
    if (may_fail && dice_.one_in(error_one_in)) {
      ++errors;
      return Turn::fails;
    }
    return Turn::goes_on;
  }
  Dice& dice() { return dice_; }

 private:
  Dice& dice_;
};

}  // namespace inbox_poller::sim
