// The server as a process: lines on the standard input, lines on the standard output and nothing else there ever.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>

#include "poller/cli/command.hpp"
#include "poller/cli/mcp/server.hpp"

namespace inbox_poller::poller::cli::mcp {

/// Until the input ends (within two seconds of it), or somebody ends us. `began` gets the server before its first line.
ExitCode serve(Context&, boost::asio::io_context& loop, Backend&, Server::Settings,
               const std::function<void(Server&)>& began = {});

}  // namespace inbox_poller::poller::cli::mcp
