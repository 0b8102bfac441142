#include "schema/decimal.hpp"

#include <locale.h>
#include <stdlib.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include <cmath>

namespace inbox_poller::schema {

std::optional<double> read_decimal(const std::string& text) {
  // strtod_l also accepts spaces, hexadecimal numbers and words.
  if (text.empty() || text.front() == '+' || text.find_first_not_of("0123456789+-.eE") != std::string::npos) return std::nullopt;
  static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
  char* end = nullptr;
  const double number = ::strtod_l(text.c_str(), &end, plain);
  if (end != text.c_str() + text.size() || !std::isfinite(number)) return std::nullopt;
  const bool is_too_small = number == 0 && text.find_first_of("123456789") < text.find_first_of("eE");
  return is_too_small ? std::nullopt : std::optional(number);
}

}  // namespace inbox_poller::schema
