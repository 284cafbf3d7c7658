// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <gtest/gtest.h>

#include "model/config_text.h"

// Configurations for tests, written as an administrator would.
namespace headgate::config {

/// The lab of the demo: one client port, one server port, three servers, HTTP and FTP.
constexpr std::string_view kLab = R"(/c/port 1
	device port1
	pvid 1
/c/port 2
	device port2
	pvid 2
/c/l3/if 1
	ena
	addr 10.10.1.5
	mask 255.255.255.0
/c/l3/if 2
	ena
	addr 10.10.2.5
	mask 255.255.255.0
	vlan 2
/c/slb
	on
/c/slb/real 1
	ena
	rip 10.10.2.11
/c/slb/real 2
	ena
	rip 10.10.2.12
/c/slb/group 1
	add 1
	add 2
/c/slb/group 2
	metric roundrobin
	add 1
/c/slb/port 1
	client ena
/c/slb/port 2
	server ena
/c/slb/virt 1
	ena
	vip 10.10.1.100
/c/slb/virt 1/service http
	group 1
	rport 8080
/c/slb/virt 1/service ftp
	group 2
)";

/// `base` with more lines applied; the test fails when they are not good.
inline Config with(Config base, std::string_view lines) {
  const Status loaded = text::load(lines, base);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  text::normalise(base);
  return base;
}

inline Config lab() {
  return with({}, kLab);
}

}  // namespace headgate::config
