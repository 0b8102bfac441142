// `mcp`: the server that a client starts.
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "poller/cli/box_place.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/mcp/lead_box.hpp"
#include "poller/cli/mcp/channel.hpp"
#include "poller/cli/mcp/relay.hpp"
#include "poller/cli/mcp/serve.hpp"
#include "poller/cli/mcp/servers.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;
using std::chrono::milliseconds;

namespace {

struct McpOptions {
  BoxPlace place;
  std::optional<config::Duration> ack_within;
  bool channel = false;
};

ExitCode serve_lead(Context& context, const mcp::Server::Settings& settings) {
  const auto complain = [&context](const std::string& what) { context.console.complain(what); };
  const auto socket = context.socket_path();
  if (!socket) return context.fail(socket.error());
  boost::asio::io_context loop{1};
  const mcp::LeadPlace place{*socket, context.team};
  mcp::LeadBox box(loop, place);
  mcp::LeadBackend backend(loop, box, place);
  if (!settings.channel) return mcp::serve(context, loop, backend, settings);
  mcp::Server* server = nullptr;
  const auto push = [&](json::object params) { server->notify("notifications/claude/channel", std::move(params)); };
  mcp::Channel channel(loop, {*socket, context.team, "channel", false, {}}, push, complain);
  backend.push_over(channel);
  const auto answer = [&](json::object params) {
    server->notify("notifications/claude/channel/permission", std::move(params));
  };
  mcp::Relay relay(loop, place, answer, complain);
  return mcp::serve(context, loop, backend, settings, [&](mcp::Server& began) {
    server = &began;
    began.client_is_ready = [&channel] { channel.start(); };
    began.client_asks = [&relay](const json::object& params) { relay.asked(params); };
  });
}

// The server answers nothing during this wait; a model repeats its call.
constexpr milliseconds engine_patience_of_a_server{2000};

/// Serves the mailbox of one actor; needs no daemon.
ExitCode serve_actor(Context& context, const McpWhom& whom, const mcp::Server::Settings& settings) {
  PosixFileSystem files;
  const SystemClock clock;
  boost::asio::io_context loop{1};
  auto box = open_box(whom.root, whom.actor, files, clock, loop.get_executor(), engine_patience_of_a_server);
  if (!box) return context.fail(box.error());
  const auto known = BoxPlace{whom.root, whom.actor, whom.known_actors}.known();
  if (!known) return context.fail(known.error());
  (*box)->set_known_actors(*known);
  if (Status made = (*box)->make(); !made.ok()) return context.fail(made.error());  // others write to it before
  for (const std::string& worry : (*box)->worries()) context.console.complain(worry);
  mcp::ActorBackend backend(**box, box->get(), whom.root);
  return mcp::serve(context, loop, backend, settings);
}

ExitCode run_mcp(Context& context, const McpOptions& options) {
  const auto whom = mcp_whom(options.place, context.team, options.channel);
  if (!whom) return context.fail(whom.error());
  mcp::Server::Settings settings;
  if (options.ack_within) settings.ack_within = *options.ack_within;
  settings.channel = options.channel;
  return whom->root.empty() ? serve_lead(context, settings) : serve_actor(context, *whom, settings);
}

// clang-format off
constexpr Argument mcp_takes[] = {
    takes<&McpOptions::place, &BoxPlace::actor>("--actor NAME", "Whose mailbox it is (default: COLLAB_ACTOR)"),
    takes<&McpOptions::place, &BoxPlace::root>("--root DIR", "The folder of the mailboxes, or redis+unix:///PATH#TEAM (default: COLLAB_ROOT)"),
    takes_each<&McpOptions::place, box_known_actors>(),
    takes<&McpOptions::ack_within>("--ack-within DURATION", "A message that the client does not acknowledge for so long comes again (default: 10min)"),
    takes<&McpOptions::channel>("--channel", "Push messages into the session too, where its client takes that"),
};

constexpr Command mcp_rows[] = {
    {.name = "mcp", .group = Group::deliver, .summary = "Serve mail and tasks as tools of an assistant, over MCP",
     .help = "Speaks the model context protocol on its standard input and output: a client starts it, one for each\n"
             "session (`mcp install` writes that into its settings). With --root it is the mailbox of one actor; without\n"
             "it the lead of a team that a daemon serves. A message that recv returned is taken when the client asks for\n"
             "something else; a call that is canceled, a client or a server that dies takes nothing along.",
     .examples = "inbox-poller mcp --root ~/project/coordination --actor alice\n"
                 "inbox-poller mcp --team demo",
     .arguments = mcp_takes, .work = runs<run_mcp>},
};
// clang-format on

}  // namespace

std::span<const Command> mcp_commands() { return mcp_rows; }

}  // namespace inbox_poller::poller::cli
