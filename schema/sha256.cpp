#include "schema/sha256.hpp"

#include <openssl/evp.h>

#include <memory>
#include <new>

namespace inbox_poller::schema {

std::array<std::uint8_t, 32> sha256(std::string_view bytes) {
  struct Free {
    void operator()(EVP_MD* method) const { EVP_MD_free(method); }
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  // Fetched once: fetching the method costs as much as hashing 500 bytes.
  static const std::unique_ptr<EVP_MD, Free> method{EVP_MD_fetch(nullptr, "SHA256", nullptr)};
  thread_local const std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
  std::array<std::uint8_t, 32> digest{};
  const bool done = method && context && EVP_DigestInit_ex2(context.get(), method.get(), nullptr) == 1 &&
                    EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1 &&
                    EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) == 1;
  if (!done) throw std::bad_alloc();
  return digest;
}

}  // namespace inbox_poller::schema
