// What looks like a credential, kept out of logs, lists and one-line subjects. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace inbox_poller::schema {

/// Replaces what looks like a credential (known token prefixes, `password=…`, bearer tokens) by "***".
std::string mask_secrets(std::string_view text);

/// False only when no secret, and no words before one, begin at i; told by two bytes, as nearly every place of a text
/// can be.
bool may_begin_secret(std::string_view text, std::size_t i);

}  // namespace inbox_poller::schema
