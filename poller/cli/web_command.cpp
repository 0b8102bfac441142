// `web`: the page for a browser. This process is a client of the control socket; the daemon itself has no network.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "poller/cli/command.hpp"
#include "poller/cli/loop.hpp"
#include "poller/cli/web/files.hpp"
#include "poller/cli/web/site.hpp"
#include "poller/filesystem.hpp"

namespace inbox_poller::poller::cli {

namespace {

struct WebOptions {
  std::string listen = "127.0.0.1:8474";
  std::vector<std::string> names;
  bool link = false;
};

struct ListenAt {
  std::string address;
  unsigned short port = 0;
};

std::optional<ListenAt> place_of(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  ListenAt place{std::string(text.substr(0, colon)), 0};
  if (place.address.starts_with('[') && place.address.ends_with(']'))
    place.address = place.address.substr(1, place.address.size() - 2);
  if (place.address == "localhost") place.address = "127.0.0.1";
  const std::string_view digits = text.substr(colon + 1);
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), place.port);
  boost::system::error_code no_address;
  const bool is_here = boost::asio::ip::make_address(place.address, no_address).is_loopback();
  if (problem != std::errc() || end != digits.data() + digits.size() || !is_here) return std::nullopt;
  return place;
}

/// The file that `--link` reads, readable only for the user. The destructor removes it.
class LinkFile {
 public:
  LinkFile(std::string folder, unsigned short port)
      : path_(std::move(folder) + "/inbox-poller-web-" + std::to_string(port) + ".link") {}
  ~LinkFile() {
    if (written_) ::unlink(path_.c_str());
  }
  LinkFile(const LinkFile&) = delete;
  LinkFile& operator=(const LinkFile&) = delete;

  Status write(const std::string& text) {
    const std::string beside = path_ + ".new";
    ::unlink(beside.c_str());
    const Fd file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.get() < 0) return io_error(errno, "writing", beside);
    TRY(write_all(file.get(), text));
    if (::rename(beside.c_str(), path_.c_str()) != 0) return io_error(errno, "writing", path_);
    written_ = true;
    return Done{};
  }
  [[nodiscard]] Result<std::string> read() const {
    const Fd file(::open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (file.get() < 0) return io_error(errno, "reading the link of the page that runs", path_);
    std::string text(4096, '\0');
    const ssize_t size = ::read(file.get(), text.data(), text.size());
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return text;
  }

 private:
  const std::string path_;
  bool written_ = false;
};

/// Returns a folder that only the user can read: the runtime folder, or else that of the socket.
std::string private_folder(const std::string& socket) {
  if (const char* folder = std::getenv("XDG_RUNTIME_DIR"); folder != nullptr && *folder == '/') return folder;
  return std::filesystem::path(socket).parent_path().string();
}

/// Returns the listening socket from a service manager (sd_listen_fds(3)); -1: none.
int handed_over() {
  constexpr int first = 3;
  const char* whose = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  if (whose == nullptr || count == nullptr || std::to_string(::getpid()) != whose || std::string_view(count) == "0") return -1;
  ::fcntl(first, F_SETFD, FD_CLOEXEC);
  return first;
}

/// Waits until the page at that place answers any request. A service manager starts the page at the first connection,
/// and the page then writes its link.
Status knock(const ListenAt& place) {
  namespace asio = boost::asio;
  constexpr std::chrono::seconds patience{10};
  asio::io_context loop(1);
  asio::ip::tcp::socket page(loop);
  const std::string request = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(place.port) +
                              "\r\nConnection: close\r\n\r\n";
  std::array<char, 1> answer{};
  bool there = false, answered = false;
  page.async_connect({asio::ip::make_address(place.address), place.port}, [&](boost::system::error_code refused) {
    if (refused) return;
    there = true;
    asio::async_write(page, asio::buffer(request), [&](boost::system::error_code failed, std::size_t) {
      if (failed) return;
      asio::async_read(page, asio::buffer(answer), [&](boost::system::error_code unread, std::size_t) { answered = !unread; });
    });
  });
  loop.run_for(patience);
  if (answered) return Done{};
  const std::string at = place.address + ':' + std::to_string(place.port);
  return Error{std::string(code::no_daemon),
               there ? "what listens at " + at +
                           " does not answer as a page; `systemctl --user status inbox-poller-web` says how one fares "
                           "that a service manager starts"
                     : "no page is served at " + at +
                           ": start one with `inbox-poller web`, or name the address of one with --listen"};
}

/// Returns a link for each name of the page, a line each.
std::string links(unsigned short port, const std::vector<std::string>& names, const std::string& token) {
  std::string text = "http://127.0.0.1:" + std::to_string(port) + "/#token=" + token + '\n';
  for (const std::string& name : names) text += "https://" + name + "/#token=" + token + '\n';
  return text;
}

Status open_place(web::HttpServer& server, const ListenAt& place) {
  if (const int socket = handed_over(); socket >= 0) return server.adopt(socket);
  return server.listen(place.address, place.port);
}

ExitCode serve(Context& context, const WebOptions& options, const ListenAt& place, const std::string& socket) {
  boost::asio::io_context loop(1);
  web::ChangeFeed feed(loop, [&context] { return context.socket_path(); });
  std::optional<web::Site> site;
  web::HttpServer server(
      loop, [&site](web::Request request) { return site->answer(std::move(request)); },
      [&site](const web::Request& request) { return site->has_session(request); });
  if (const Status open = open_place(server, place); !open) return context.fail(open.error());
  const unsigned short port = server.port();
  web::Sessions sessions(port, web::new_secret);
  const std::string folder = private_folder(socket);
  std::error_code unseen;
  if (PosixFileSystem files; !std::filesystem::exists(folder, unseen))  // no daemon has run yet
    if (const auto made = ensure_private_dir(files, folder); !made) return context.fail(made.error());
  LinkFile file(folder, port);
  const auto put_link = [&] { return file.write(links(port, options.names, sessions.token())); };
  site.emplace(feed, web::Gate(port, options.names), sessions, user_name(), [&] {
    if (const Status written = put_link(); !written) context.console.complain(written.error().message);
  });
  if (const Status written = put_link(); !written) return context.fail(written.error());
  if (const auto daemon = context.connect(); !daemon)
    context.console.complain(printable(daemon.error().message) + "; the page is empty until a daemon runs");
  const Signals signals(loop, {SIGINT, SIGTERM, SIGHUP}, [&](int) { loop.stop(); });
  const std::string at = options.listen.substr(0, options.listen.rfind(':') + 1) + std::to_string(port);
  const std::string next = "inbox-poller web" + (at == WebOptions().listen ? "" : " --listen " + at) + " --link";
  const ExitCode printed = context.print(links(port, options.names, sessions.token()) +
                                         "each link lets one browser in; `" + next + "` gives the next\n");
  if (printed != ExitCode::done) return printed;
  feed.start();
  server.start();
  loop.run();
  return ExitCode::done;
}

ExitCode web_page(Context& context, const WebOptions& options) {
  const auto place = place_of(options.listen);
  const Result<std::string> socket = context.socket_path();
  if (!place)
    return context.fail(
        usage_error("--listen takes an address of this machine alone and a port, such as 127.0.0.1:8474 or "
                    "[::1]:8474; docs/reference/web.md says how the page is reached from elsewhere"));
  if (!socket) return context.fail(socket.error());
  if (options.link) {
    if (const Status there = knock(*place); !there) return context.fail(there.error());
    const auto text = LinkFile(private_folder(*socket), place->port).read();
    return text ? context.print(*text) : context.fail(text.error());
  }
  if (web::files().empty())
    return context.fail(Error{"web.left_out", "the page is not in this program: " + std::string(web::left_out())});
  return serve(context, options, *place, *socket);
}

// clang-format off
constexpr Argument web_takes[] = {
    takes<&WebOptions::listen>("--listen ADDRESS:PORT", "Where to listen; port 0 is any that is free").shows_default(),
    takes<&WebOptions::names>("--server-name NAME", "A further name under which a proxy serves it; several may be given"),
    takes<&WebOptions::link>("--link", "Print the link of the page that runs on that port, and leave"),
};

constexpr Command web_rows[] = {
    {.name = "web", .group = Group::look, .summary = "Serve a page in the browser that shows and answers requests",
     .help = "Serves a page on which a person sees and answers requests, and looks at workers, chat, one message's way,\n"
             "and how it went over time. It is a client of the daemon's socket; the daemon itself has no network.\n"
             "Only this machine is served, only browsers that were given a link, and each link counts once.\n"
             "From elsewhere: `ssh -L 8474:127.0.0.1:8474 HOST`, or a proxy of your own with --server-name.\n"
             "/metrics, /healthz and /readyz are answered without a session.",
     .examples = "inbox-poller web\n"
                 "inbox-poller web --link                       # the next link of the one that runs\n"
                 "inbox-poller web --server-name box.example.com       # behind a proxy that speaks TLS",
     .arguments = web_takes, .work = runs<web_page>},
};
// clang-format on

}  // namespace

std::span<const Command> web_commands() { return web_rows; }

}  // namespace inbox_poller::poller::cli
