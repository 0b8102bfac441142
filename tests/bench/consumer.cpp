#include "tests/bench/consumer.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstring>

namespace inbox_poller::bench {

namespace json = boost::json;

namespace {

constexpr std::size_t most_problems = 20;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) give_up("too long for a socket: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

int connect_to(const std::string& path) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(path);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    give_up("cannot connect to " + path);
  return socket;
}

/// Says on standard output when it listens, so that the other side is started then.
int accept_at(const std::string& path) {
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(path);
  ::unlink(path.c_str());
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(listener, 1) != 0)
    give_up("cannot listen at " + path);
  pollfd wanted{listener, POLLIN, 0};
  if (::poll(&wanted, 1, 20'000) != 1) give_up("nobody connected to " + path);
  const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  ::close(listener);
  return socket;
}

}  // namespace

Consumer::Consumer(const std::string& kind, const std::string& socket, const std::string& team, std::span<Slot> slots)
    : control_(kind == "control"), team_(team), slots_(slots) {
  socket_ = control_ ? connect_to(socket) : accept_at(socket);
  if (!control_) return;
  send(json::serialize(json::object{{"verb", "attach"}, {"method", "socket"}, {"team", team_}}));
  for (int i = 0; i < 100 && !attached_; ++i) take(100);
  if (!attached_) give_up("the daemon did not let us attach");
}

Consumer::~Consumer() { ::close(socket_); }

void Consumer::send(const std::string& line) {
  const std::string all = line + "\n";
  for (std::size_t sent = 0; sent < all.size();) {
    const ssize_t count = ::send(socket_, all.data() + sent, all.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) give_up("the connection broke");
    sent += static_cast<std::size_t>(count);
  }
}

void Consumer::take(int milliseconds) {
  pollfd wanted{closed_ ? -1 : socket_, POLLIN, 0};
  if (::poll(&wanted, 1, milliseconds) <= 0) return;
  char bytes[262144];
  const ssize_t count = ::read(socket_, bytes, sizeof bytes);
  const Nanoseconds at = now_ns();
  if (count <= 0) {  // the floor leaves with the last writer; what has not come by then is found missing
    closed_ = true;
    return;
  }
  buffer_.append(bytes, static_cast<std::size_t>(count));
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = buffer_.find('\n', std::max(begin, searched_));
    if (end == std::string::npos) break;
    line_came(std::string_view(buffer_).substr(begin, end - begin), at);
    begin = end + 1;
  }
  buffer_.erase(0, begin);
  searched_ = buffer_.size();
}

void Consumer::line_came(std::string_view line, Nanoseconds at) {
  boost::system::error_code error;
  const json::value value = json::parse(line, error);
  if (error || !value.is_object()) return problem("a line that is no object: " + std::string(line.substr(0, 200)));
  const json::object& object = value.as_object();
  if (!control_) {
    const json::value* text = object.if_contains("text");
    return text ? message_came(text->as_string(), at) : problem("a line without text");
  }
  const json::value* ok = object.if_contains("ok");
  if (!ok || !ok->is_bool() || !ok->as_bool()) give_up("the daemon answered " + std::string(line.substr(0, 300)));
  json::object next{{"verb", "recv"}, {"team", team_}, {"max", 1000}, {"wait_ms", 3'600'000}, {"ignore_busy", true},
                    {"block", false}};
  attached_ = true;
  if (const json::value* messages = object.if_contains("messages"); messages && !messages->as_array().empty()) {
    next["acked"] = messages->as_array().back().at("message_key");
    send(json::serialize(next));
    for (const json::value& message : messages->as_array()) message_came(message.at("text").as_string(), at);
  } else {
    send(json::serialize(next));
  }
}

void Consumer::message_came(std::string_view text, Nanoseconds at) {
  std::size_t id = 0;
  long long stamp = 0;
  if (std::sscanf(std::string(text.substr(0, 100)).c_str(), "bench %zu %lld", &id, &stamp) != 2 || id >= slots_.size())
    return problem("a message that nobody here wrote: " + std::string(text.substr(0, 100)));
  Slot& slot = slots_[id];
  if (slot.stamp != stamp) ++slot.wrong_stamp;
  if (slot.times++ > 0) return;
  slot.received = at;
  ++distinct_;
}

void Consumer::problem(std::string what) {
  if (problems_.size() < most_problems) problems_.push_back(std::move(what));
}

}  // namespace inbox_poller::bench
