// Masking of apparent credentials in logs, lists and one-line subjects. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace inbox_poller::schema {

/// Replaces apparent credentials (known token prefixes, `password=…`, bearer tokens) by "***".
std::string mask_secrets(std::string_view text);

/// Returns false only if no secret, and no introduction of one, begins at `i`. Decides by three bytes, which excludes
/// nearly every place.
bool may_begin_secret(std::string_view text, std::size_t i);

}  // namespace inbox_poller::schema
