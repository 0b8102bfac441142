// Who may ask the page for what: what a browser says of where a request comes from, judged before anything is done.
// Pure: no socket, no clock. Invariants: a name that is not ours is answered nothing (rebinding makes a foreign page
// same-origin, GETs too); what changes something comes from our own page only; only a session sees or answers asks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inbox_poller::poller::cli::web {

/// What a request says of itself; a header that is absent is empty.
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
  unsigned status = 0;  // of HTTP
  std::string why;      // a sentence for a person
};

class Gate {
 public:
  /// Served on this port of the loopback, and as `names` by a proxy in front of it: "name" or "name:port".
  Gate(unsigned short port, std::vector<std::string> names);

  /// Why this is not answered; none when it is.
  [[nodiscard]] std::optional<Refusal> refuse(const Visit&) const;

 private:
  [[nodiscard]] bool is_ours(std::string_view host) const;

  std::vector<std::string> hosts_;
};

/// Who has been let in. A token opens one session; then there is another one.
class Sessions {
 public:
  using Secret = std::string (*)();

  /// `secret` makes one that nobody guesses.
  Sessions(unsigned short port, Secret secret) : cookie_("inbox-poller-" + std::to_string(port)), secret_(secret) {}

  /// To be given to the person, in the address' fragment.
  [[nodiscard]] const std::string& token() const { return token_; }
  /// The Set-Cookie of a new session; none when the token is wrong or was used before.
  std::optional<std::string> open(std::string_view token);
  /// By the Cookie header.
  [[nodiscard]] bool knows(std::string_view cookies) const;

 private:
  std::string cookie_;  // named by the port: cookies are for all ports of a host
  Secret secret_;
  std::string token_ = secret_();
  std::vector<std::string> open_;
};

/// As long for every pair of the same length.
bool is_same_secret(std::string_view, std::string_view);
/// 256 bits from the system, as hexadecimal digits.
std::string new_secret();

}  // namespace inbox_poller::poller::cli::web
