// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/md5.h"

#include <array>

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace headgate::probe {
namespace {

using Digest = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string text_of(const Digest& digest, unsigned size) {
  return {reinterpret_cast<const char*>(digest.data()), size};
}

}  // namespace

std::optional<std::string> md5(std::string_view bytes) {
  Digest digest;
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_md5(), nullptr) != 1)
    return std::nullopt;
  return text_of(digest, size);
}

std::optional<std::string> hmac_md5(std::string_view key, std::string_view bytes) {
  Digest digest;
  unsigned size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  if (HMAC(EVP_md5(), key.data(), static_cast<int>(key.size()), data, bytes.size(), digest.data(), &size) ==
      nullptr)
    return std::nullopt;
  return text_of(digest, size);
}

}  // namespace headgate::probe
