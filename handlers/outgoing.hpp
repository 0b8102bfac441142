// What everything that we write into an inbox has in common: answers, orders, notices. Invariant: the same letter gives
// the same message, so that one written twice can be told as one.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// A hash of several values, each with its length, so that no two different lists hash the same bytes.
std::string digest_of(std::initializer_list<std::string_view> parts);

struct Letter {
  std::string_view from;
  std::string_view to;  // bare member name
  std::string_view text;
  std::string_view origin;  // what caused it; the message's id is derived from this
  EpochMs at_ms = 0;        // its timestamp
};
Post post_of(const Letter&, const TeamView&);

/// Something of our own for the lead session; it stands in no inbox.
struct Notice {
  schema::MessageKey key;
  schema::Message message;
};
/// `origin`: what it is about; the same origin and moment give the same key. `sender`: "system", or the worker whose
/// matter it is.
Notice notice_of(std::string_view text, std::initializer_list<std::string_view> origin, const TeamView&,
                 EpochMs now_ms, std::string_view sender = "system");

}  // namespace inbox_poller::handlers
