// The common form of all written messages: answers, orders, notices. Invariant: the same letter gives the same message,
// so that a second copy can be recognized.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// Returns a hash of several values, each with its length, so that two different lists never hash the same bytes.
std::string digest_of(std::initializer_list<std::string_view> parts);

struct Outgoing {
  std::string_view from;
  std::string_view to;  // bare member name
  std::string_view text;
  std::string_view origin;  // the cause, from which the message's id is derived
  EpochMs at_ms = 0;        // its timestamp
};
Post post_of(const Outgoing&, const TeamView&);

/// A message of InboxPoller to the lead session; it is in no inbox.
struct Notice {
  schema::MessageKey key;
  schema::Message message;
};
/// Returns a notice. `origin`: its subject; the same origin and time give the same key. `sender`: "system", or the
/// worker concerned.
Notice notice_of(std::string_view text, std::initializer_list<std::string_view> origin, const TeamView&,
                 EpochMs now_ms, std::string_view sender = "system");

}  // namespace inbox_poller::handlers
