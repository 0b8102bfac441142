// What a lead's model is given in a block of text.
#pragma once

#include <string>

#include "tests/sim/machine.hpp"

namespace inbox_poller::sim {

/// The model sees the messages in this text: the oracle judges each of them, with its label of a repeat.
void model_sees(Machine& machine, const std::string& text);

}  // namespace inbox_poller::sim
