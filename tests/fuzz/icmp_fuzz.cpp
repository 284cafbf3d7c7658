// SPDX-License-Identifier: Apache-2.0
// ICMP errors: any bytes as a frame are read, translated there and back, and answered. Nothing outside of the
// buffer is touched, what is translated twice is what it was, and every answer is well-formed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "dataplane/core/bytes.h"
#include "dataplane/core/checksum.h"
#include "dataplane/core/ethernet.h"
#include "dataplane/core/icmp_answer.h"
#include "dataplane/core/icmp_error.h"

namespace headgate::core {
namespace {

using Bytes = std::vector<std::uint8_t>;

void require(bool holds) {
  if (!holds) std::abort();
}

/// A frame in a buffer of exactly its capacity: the sanitizer sees the rest.
struct Loaded {
  std::unique_ptr<std::uint8_t[]> buffer;
  Frame frame;

  Loaded(const Bytes& bytes, std::size_t room)
      : buffer(std::make_unique<std::uint8_t[]>(bytes.size() + room)) {
    std::copy(bytes.begin(), bytes.end(), buffer.get());
    frame.data = buffer.get();
    frame.length = static_cast<std::uint16_t>(bytes.size());
    frame.capacity = static_cast<std::uint16_t>(bytes.size() + room);
  }
  [[nodiscard]] HeaderFault read(IpHeader& header) const {
    return read_ip(frame.data + kEthernetHeader, frame.length - kEthernetHeader, Extent::whole, header);
  }
};

// Makes the checksums that would stop most inputs right.
void seal(Bytes& bytes) {
  std::uint8_t* ip = bytes.data() + kEthernetHeader;
  const std::size_t room = bytes.size() - kEthernetHeader;
  if (room < 20 || ip[0] / 16 != 4) return;
  const std::size_t header = std::size_t{ip[0]} % 16 * 4;
  if (header < 20 || header > room) return;
  store16(ip + 2, static_cast<std::uint16_t>(room));
  store16(ip + 10, 0);
  store_raw16(ip + 10, static_cast<std::uint16_t>(~sum_of(ip, header)));
}

void seal_icmp(Loaded& loaded, const IpHeader& header) {
  if (header.length < header.l4 + kIcmpHeader) return;
  std::uint8_t* icmp = loaded.frame.data + kEthernetHeader + header.l4;
  store16(icmp + 2, 0);
  store_raw16(icmp + 2, static_cast<std::uint16_t>(~icmp_sum(header, {icmp, header.length - header.l4})));
}

void translate_there_and_back(Loaded& loaded, const IpHeader& header, const IcmpError& error, bool source) {
  IpHeader now = header;
  const FlowKey& about = error.about;
  Endpoint other{about.source, 4711};
  other.address.octets[15] ^= 0x55;
  const Endpoint own = source ? Endpoint{about.source, about.source_port}
                              : Endpoint{about.destination, about.destination_port};
  translate(loaded.frame, header, error, other, source);
  require(loaded.read(now) == HeaderFault::none);
  IcmpError again;
  require(read_icmp(loaded.frame, now, again) == IcmpKind::error);
  require((source ? again.about.source : again.about.destination) == other.address);
  translate(loaded.frame, now, again, own, source);
  require(loaded.read(now) == HeaderFault::none);
  require(read_icmp(loaded.frame, now, again) == IcmpKind::error);
  require(again.about == about);
}

void answer(const Bytes& bytes, std::size_t room, Complaint complaint) {
  Loaded loaded(bytes, room);
  IpHeader header;
  if (loaded.read(header) != HeaderFault::none || !answerable(loaded.frame, header)) return;
  if (!write_answer(loaded.frame, header, complaint, header.destination, 1400)) return;
  require(loaded.frame.length <= loaded.frame.capacity);
  IpHeader outer;
  IcmpError error;
  require(loaded.read(outer) == HeaderFault::none);
  require(outer.source == header.destination && outer.destination == header.source);
  require(read_icmp(loaded.frame, outer, error) == IcmpKind::error);
  require(error.about.source == header.source);
}

}  // namespace
}  // namespace headgate::core

// The first byte chooses the room behind the frame, the kind of answer, and what is made right.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headgate::core;
  if (size < 1 + kEthernetHeader) return 0;
  Bytes bytes(data + 1, data + size);
  if ((data[0] & 1) != 0) seal(bytes);
  Loaded loaded(bytes, 0);
  IpHeader header;
  if (loaded.read(header) == HeaderFault::none && !header.fragment()) {
    if ((data[0] & 2) != 0) seal_icmp(loaded, header);
    IcmpError error;
    // An error that comes over more than one hop, or its hop count would run out here.
    if (header.ttl > 2 && read_icmp(loaded.frame, header, error) == IcmpKind::error)
      translate_there_and_back(loaded, header, error, (data[0] & 4) != 0);
  }
  answer(bytes, data[0] / 4u, static_cast<Complaint>(data[0] % kComplaints));
  return 0;
}
