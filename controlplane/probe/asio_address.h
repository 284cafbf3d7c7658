// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <boost/asio/ip/address.hpp>

#include "model/ip.h"

// Addresses as Asio has them. Included by sources of shells only.
namespace headgate::probe {

[[nodiscard]] inline boost::asio::ip::address to_asio(const Ip& address) {
  if (address.is_v4()) return boost::asio::ip::address_v4(address.v4().value);
  boost::asio::ip::address_v6::bytes_type bytes;
  std::copy(address.octets.begin(), address.octets.end(), bytes.begin());
  return boost::asio::ip::address_v6(bytes);
}

[[nodiscard]] inline Ip from_asio(const boost::asio::ip::address& address) {
  if (address.is_v4()) return Ipv4{address.to_v4().to_uint()};
  const auto bytes = address.to_v6().to_bytes();
  Ip result;
  std::copy(bytes.begin(), bytes.end(), result.octets.begin());
  return result;
}

}  // namespace headgate::probe
