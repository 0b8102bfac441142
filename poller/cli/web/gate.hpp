// Access to the page, by what a browser sends about a request's origin, before any other work. Pure: no socket, no
// clock. Invariants:
// An unknown host name gets only a refusal, because rebinding makes a foreign page same-origin, also for GET.
// Changes are accepted only from the page itself. Only a session sees or decides requests.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inbox_poller::poller::cli::web {

/// The data of a request that access depends on; an absent header is empty.
struct Visit {
  std::string_view method = {};
  std::string_view path = {};  // without the query
  std::string_view host = {};
  std::string_view origin = {};
  std::string_view fetch_site = {};  // Sec-Fetch-Site, and so on
  std::string_view fetch_mode = {};
  std::string_view fetch_dest = {};
  std::string_view content_type = {};
  bool has_session = false;
};

struct Refusal {
  unsigned status = 0;  // HTTP status
  std::string why;      // a sentence for a person
};

class Gate {
 public:
  /// Accepts this port of the loopback, and the `names` of a proxy in front: "name" or "name:port".
  Gate(unsigned short port, std::vector<std::string> names);

  /// Explains why a request is refused; empty when it is not.
  [[nodiscard]] std::optional<Refusal> refuse(const Visit&) const;

 private:
  [[nodiscard]] bool is_ours(std::string_view host) const;

  std::vector<std::string> hosts_;
};

/// Browsers with access. A token opens one session; then it is replaced.
class Sessions {
 public:
  using Secret = std::string (*)();

  /// Creates the first token. `secret`: returns an unguessable text.
  Sessions(unsigned short port, Secret secret) : cookie_("inbox-poller-" + std::to_string(port)), secret_(secret) {}

  /// The token for a person, in the fragment of a link.
  [[nodiscard]] const std::string& token() const { return token_; }
  /// Opens a session and returns its Set-Cookie header; empty when the token is wrong or used.
  std::optional<std::string> open(std::string_view token);
  /// True when a Cookie header has an open session.
  [[nodiscard]] bool knows(std::string_view cookies) const;

 private:
  std::string cookie_;  // name with the port, because cookies are shared by all ports of a host
  Secret secret_;
  std::string token_ = secret_();
  std::vector<std::string> open_;
};

/// Compares in a time that depends only on the length.
bool is_same_secret(std::string_view, std::string_view);
/// Returns 256 bits from the system in hexadecimal. Throws when the system gave no random bytes.
std::string new_secret();

}  // namespace inbox_poller::poller::cli::web
