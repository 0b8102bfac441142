// Answers that are too long for a client. Their longest texts are cut, so that one request does not hide the others.
#pragma once

#include <boost/json/object.hpp>

namespace inbox_poller::poller {

/// Cuts the longest texts of an answer that would have more than about `most` bytes as a line. Each cut text begins
/// with its size, and none gets shorter than an equal share.
void shorten(boost::json::object& answer, std::size_t most);

}  // namespace inbox_poller::poller
