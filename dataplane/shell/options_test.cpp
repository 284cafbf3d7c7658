// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/options.h"

#include <gtest/gtest.h>

#include <vector>

#include "dataplane/shell/device_spec.h"

namespace headgate::shell {
namespace {

Result<Options> parse(std::vector<const char*> arguments) {
  return parse_options({const_cast<char**>(arguments.data()), arguments.size()});
}

TEST(OptionsTest, HaveDefaults) {
  const auto options = parse({});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->run_dir, "/run/headgate");
  EXPECT_EQ(options->workers, 1U);
  EXPECT_EQ(options->sessions, 1048576U);
  EXPECT_TRUE(options->huge);
}

TEST(OptionsTest, TakeValuesAsNextWordOrAfterAnEqualSign) {
  const auto options = parse({"--workers", "2", "--sessions=4096", "--no-huge", "--poll", "--run-dir", "/x"});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->workers, 2U);
  EXPECT_EQ(options->sessions, 4096U);
  EXPECT_FALSE(options->huge);
  EXPECT_TRUE(options->poll);
  EXPECT_EQ(options->run_dir, "/x");
}

TEST(OptionsTest, RefuseWhatTheyDoNotKnow) {
  for (const std::vector<const char*>& bad : std::vector<std::vector<const char*>>{{"--frobnicate"},
                                                                                   {"--workers"},
                                                                                   {"--workers", "0"},
                                                                                   {"--workers", "17"},
                                                                                   {"--workers", "2x"},
                                                                                   {"--workers", "-1"},
                                                                                   {"--sessions", ""},
                                                                                   {"--poll=yes"},
                                                                                   {"--run-dir", ""}}) {
    const auto options = parse(bad);
    EXPECT_FALSE(options.ok()) << bad[0];
  }
}

forwarding::Port port(forwarding::Driver driver, const char* device) {
  forwarding::Port port;
  port.set_number(3);
  port.set_driver(driver);
  port.set_device(device);
  return port;
}

TEST(DeviceSpecTest, NamesTheDriversDeviceAndItsArguments) {
  const auto spec = [](forwarding::Driver driver, const char* device) {
    return device_spec(port(driver, device), "/s.o");
  };
  EXPECT_EQ(
      spec(forwarding::XDP_SOCKET, "port1"),
      (DeviceSpec{"net_af_xdp3", "iface=port1,start_queue=0,queue_count=1,busy_budget=0,xdp_prog=/s.o"}));
  EXPECT_EQ(spec(forwarding::TAP, "t0"), (DeviceSpec{"net_tap3", "iface=t0"}));
  EXPECT_EQ(spec(forwarding::PCAP, "eth0"), (DeviceSpec{"net_pcap3", "rx_iface_in=eth0,tx_iface=eth0"}));
  EXPECT_EQ(spec(forwarding::PCAP, "rx_pcap=a,tx_pcap=b"), (DeviceSpec{"net_pcap3", "rx_pcap=a,tx_pcap=b"}));
  EXPECT_EQ(spec(forwarding::RING, "r"), (DeviceSpec{"net_ring3", ""}));
  EXPECT_EQ(spec(forwarding::PCI, "0000:00:1f.6"), (DeviceSpec{"0000:00:1f.6", ""}));
}

}  // namespace
}  // namespace headgate::shell
