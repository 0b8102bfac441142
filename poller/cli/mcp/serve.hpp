// The server as a process: lines on standard input and output, and nothing else on standard output.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>

#include "poller/cli/command.hpp"
#include "poller/cli/mcp/server.hpp"

namespace inbox_poller::poller::cli::mcp {

/// Serves until the input ends, at most two seconds longer, or until a signal. `began`: called before the first line.
ExitCode serve(Context&, boost::asio::io_context& loop, Backend&, Server::Settings,
               const std::function<void(Server&)>& began = {});

}  // namespace inbox_poller::poller::cli::mcp
