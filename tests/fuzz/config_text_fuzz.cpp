// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/config_text.h"

/// Whatever bytes the loader is given: it refuses them whole, or what it read survives dump and load.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headgate;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  config::Config read;
  if (!text::load(text, read)) {
    if (read.ByteSizeLong() != 0) std::abort();
    return 0;
  }
  config::Config again;
  if (!text::load(text::dump(read), again)) std::abort();
  if (again.SerializeAsString() != read.SerializeAsString()) std::abort();
  return 0;
}
