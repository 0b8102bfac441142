#include "poller/cli/web/gate.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace inbox_poller::poller::cli::web {

namespace {

constexpr std::size_t most_sessions = 64;

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& byte : small)
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte - 'A' + 'a');
  return small;
}

/// True for a person who follows a link to the page from anywhere; the page itself shows and changes nothing.
bool is_arrival(const Visit& visit) {
  return visit.method == "GET" && visit.path == "/" && visit.fetch_mode == "navigate" &&
         (visit.fetch_dest.empty() || visit.fetch_dest == "document");
}

bool is_for_anybody(const Visit& visit) {
  return !visit.path.starts_with("/api/") || (visit.path == "/api/session" && visit.method == "POST");
}

}  // namespace

Gate::Gate(unsigned short port, std::vector<std::string> names) {
  for (const char* host : {"127.0.0.1", "localhost", "[::1]"}) {
    hosts_.push_back(std::string(host) + ':' + std::to_string(port));
    if (port == 80) hosts_.emplace_back(host);
  }
  for (const std::string& name : names) hosts_.push_back(lower(name));
}

bool Gate::is_ours(std::string_view host) const {
  return std::find(hosts_.begin(), hosts_.end(), lower(host)) != hosts_.end();
}

std::optional<Refusal> Gate::refuse(const Visit& visit) const {
  if (!is_ours(visit.host))
    return Refusal{421, "this page is not served under that name; `inbox-poller web --server-name NAME` allows one"};
  if (visit.method != "GET" && visit.method != "POST") return Refusal{405, "only GET and POST are answered"};
  const bool own_site = visit.fetch_site.empty() || visit.fetch_site == "same-origin" || visit.fetch_site == "none";
  if (!own_site && !is_arrival(visit)) return Refusal{403, "asked for by another site"};
  if (visit.method == "POST") {
    // A proxy in front may use TLS; the operator has allowed its name.
    const std::string host = lower(visit.host);
    if (visit.origin != "http://" + host && visit.origin != "https://" + host)
      return Refusal{403, "sent by another page, or by none"};
    if (visit.content_type != "application/json") return Refusal{415, "the body has to be application/json"};
  }
  if (!is_for_anybody(visit) && !visit.has_session)
    return Refusal{401, "this browser is not signed in: open the link that `inbox-poller web --link` prints"};
  return std::nullopt;
}

std::optional<std::string> Sessions::open(std::string_view token) {
  if (!is_same_secret(token, token_)) return std::nullopt;
  token_ = secret_();
  if (open_.size() == most_sessions) open_.erase(open_.begin());
  open_.push_back(secret_());
  return cookie_ + '=' + open_.back() + "; HttpOnly; SameSite=Strict; Path=/";
}

bool Sessions::knows(std::string_view cookies) const {
  while (!cookies.empty()) {
    const std::size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view one = cookies.substr(0, end);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (!one.starts_with(cookie_ + '=')) continue;
    one.remove_prefix(cookie_.size() + 1);
    bool known = false;
    for (const std::string& session : open_) known |= is_same_secret(one, session);
    if (known) return true;
  }
  return false;
}

bool is_same_secret(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  volatile unsigned char differs = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    differs = static_cast<unsigned char>(differs | static_cast<unsigned char>(one[i] ^ other[i]));
  return differs == 0;
}

std::string new_secret() {
  std::array<unsigned char, 32> bytes{};
  if (::getentropy(bytes.data(), bytes.size()) != 0) throw std::runtime_error("the system gave no random bytes");
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace inbox_poller::poller::cli::web
