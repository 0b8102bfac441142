// How texts of agents reach a person's terminal: always through these.
#pragma once

#include "schema/printable.hpp"

namespace inbox_poller::poller::cli {

using schema::printable;
using schema::printable_block;
using schema::printable_json;
using schema::shell_word;

}  // namespace inbox_poller::poller::cli
