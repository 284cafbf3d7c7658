// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/packet/bench.h"

// Sites and sessions that the tests of choosing a server have in common.
namespace headgate::testing {

/// Edits every member of every service, backups and fallbacks aside.
template <class Edit>
Site with_members(Site site, Edit edit) {
  for (auto& service : *site.edit().mutable_service())
    for (auto& member : *service.mutable_member()) edit(member);
  return site;
}

inline Site limited(unsigned servers, std::uint32_t maxcon) {
  return with_members(web(servers), [&](auto& member) { member.set_maxcon(maxcon); });
}

/// HTTP and HTTPS at the same VIP over the same servers, which remember their clients for a minute.
inline Site shop(unsigned servers = 4, std::uint32_t seconds = 60) {
  std::vector<std::uint32_t> reals;
  for (unsigned real = 1; real <= servers; ++real) reals.push_back(real);
  Site site;
  site.service(1, 80, 8080, reals).service(1, 443, 8080, reals);
  for (auto& service : *site.edit().mutable_service()) service.set_persist_seconds(seconds);
  return site;
}

inline forwarding::Member backup_of(const Site& site, std::uint32_t real) {
  forwarding::Member backup = site.generation().service(0).member(0);
  backup.set_real(real);
  backup.set_rip(Ip(Ipv4{0x0a0a020a + real}).wire());
  backup.mutable_target()->set_real(real);
  backup.clear_backup();
  backup.clear_maxcon();
  return backup;
}

inline std::string server_of(Bench& bench, std::uint16_t port, std::string_view client = kClient,
                             std::uint16_t vport = 80) {
  return Connection::open(bench, port, client, kVip, vport).server_address();
}

inline void close(Bench& bench, const Connection& session) {
  bench.from_client(session.says(kRst));
}

inline std::vector<forwarding::Session> bound(const Bench& bench) {
  std::vector<forwarding::Session> out;
  std::size_t cursor = 0;
  while (bench.persistence.dump(cursor, 1, bench.now,
                                [&](const auto& view) { out.push_back(bench.director.describe(view)); })) {
  }
  return out;
}

// A group as backup: server 1 is down, 2 and 3 stand in for it.
inline Site with_two_stand_ins(Site site) {
  for (auto& service : *site.edit().mutable_service()) {
    for (const std::uint32_t real : {2u, 3u})
      *service.mutable_member(0)->add_backup() = backup_of(site, real);
  }
  return site;
}

}  // namespace headgate::testing
