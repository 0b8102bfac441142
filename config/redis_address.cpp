#include "config/redis_address.hpp"

#include <algorithm>
#include <charconv>

#include "schema/ids.hpp"

namespace inbox_poller::config {

namespace {

constexpr std::string_view over_unix = "redis+unix://";
constexpr std::string_view over_tcp = "redis://";
constexpr std::string_view over_tls = "rediss://";

Error wrong(std::string what) { return {"redis.address", "the address of the Redis: " + std::move(what)}; }

bool is_one_word(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) return false;
  return true;
}

Status take_parameter(std::string_view text, RedisAddress& into) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const std::string value(equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1));
  const auto take_file = [&](std::string& file) -> Status {
    if (!value.starts_with('/')) return wrong(std::string(name) + "= names a file by its whole path");
    file = value;
    return Done{};
  };
  if (name == "secret") return take_file(into.secret);
  if (name == "ca") return take_file(into.ca);
  if (name == "user") {
    if (!schema::is_valid_name(value)) return wrong("user= is a name of A-Z a-z 0-9 _ -");
    into.user = value;
    return Done{};
  }
  if (name == "accept_risks") {
    if (value != "redis-not-durable") return wrong("accept_risks= knows only redis-not-durable");
    into.not_durable_is_meant = true;
    return Done{};
  }
  // Its value may be a password: it is not repeated.
  return wrong("it has a parameter that is none of user, secret, ca and accept_risks; a password stands in a file of "
               "mode 0600 that secret=FILE names");
}

Status take_host(std::string_view authority, RedisAddress& into) {
  if (authority.find('@') != std::string_view::npos)
    return wrong("no password and no user stand before the host: write ?user=NAME&secret=FILE behind it, and the "
                 "password into that file (mode 0600)");
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return wrong("a \"[\" without its \"]\"");
    into.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
  } else {
    into.host = authority.substr(0, authority.find(':'));
    port = authority.substr(into.host.size());
  }
  if (into.host.empty() || into.host.size() > 253) return wrong("it names no host");
  if (port.empty()) return Done{};
  const char* const end = port.data() + port.size();
  const auto read = std::from_chars(port.data() + 1, end, into.port);
  if (port.front() != ':' || read.ec != std::errc() || read.ptr != end || into.port == 0)
    return wrong("behind the host stands a port from 1 to 65535, as in redis://host:6379");
  return Done{};
}

}  // namespace

bool is_engine_address(std::string_view text) {
  return text.starts_with("redis:") || text.starts_with("rediss:") || text.starts_with("redis+unix:");
}

Result<RedisAddress> parse_redis_address(std::string_view text) {
  RedisAddress address;
  if (!is_one_word(text) || text.size() > 4096) return wrong("it has blanks or control characters, or is too long");
  const std::size_t hash = text.find('#');
  if (hash != std::string_view::npos) {
    address.team = text.substr(hash + 1);
    if (!schema::is_valid_name(address.team))
      return wrong("behind the # stands the team's name: A-Z a-z 0-9 _ -, at most 64");
  }
  std::string_view rest = text.substr(0, hash);
  const std::size_t question = rest.find('?');
  std::string_view parameters = question == std::string_view::npos ? std::string_view() : rest.substr(question + 1);
  rest = rest.substr(0, question);
  while (!parameters.empty()) {
    const std::string_view one = parameters.substr(0, parameters.find('&'));
    TRY(take_parameter(one, address));
    parameters.remove_prefix(std::min(parameters.size(), one.size() + 1));
  }
  if (rest.starts_with(over_unix)) {
    address.path = rest.substr(over_unix.size());
    if (!address.path.starts_with('/'))
      return wrong("redis+unix:// is followed by the whole path of a socket, as in redis+unix:///run/redis/team.sock");
    return address;
  }
  const bool tls = rest.starts_with(over_tls);
  if (!tls && !rest.starts_with(over_tcp))
    return wrong("it begins with redis+unix:///PATH, redis://HOST:PORT or rediss://HOST:PORT");
  address.scheme = tls ? RedisAddress::Scheme::tls : RedisAddress::Scheme::tcp;
  rest.remove_prefix(tls ? over_tls.size() : over_tcp.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find('/') != std::string_view::npos)
    return wrong("nothing stands behind the host: only database 0 is used, under the team's own keys");
  TRY(take_host(rest, address));
  return address;
}

std::string RedisAddress::shown() const {
  const std::string behind = team.empty() ? "" : "#" + team;
  if (scheme == Scheme::unix_socket) return std::string(over_unix) + path + behind;
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return std::string(scheme == Scheme::tls ? over_tls : over_tcp) + name + ":" + std::to_string(port) + behind;
}

}  // namespace inbox_poller::config
