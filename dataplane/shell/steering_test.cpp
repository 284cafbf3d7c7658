// SPDX-License-Identifier: Apache-2.0
//
// The steering decision on whole frames, taken twice: by the XDP program in the kernel (BPF_PROG_TEST_RUN,
// needs root) and by the worker's code. Both must agree on every frame.
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "dataplane/shell/steering_program.h"
#include "dataplane/shell/steering_tables.h"

namespace headgate::shell {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint8_t kIcmp = 1;
constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kUdp = 17;
constexpr std::uint8_t kIcmp6 = 58;
constexpr std::uint8_t kFragment = 44;
constexpr std::uint8_t kOptions = 60;
constexpr std::uint16_t kEtherIp = 0x0800;
constexpr std::uint16_t kEtherIp6 = 0x86dd;

Ipv4 ip(const char* text) {
  return *Ipv4::parse(text);
}

void put16(Bytes& out, std::uint16_t value) {
  out.push_back(static_cast<std::uint8_t>(value >> 8));
  out.push_back(static_cast<std::uint8_t>(value));
}
void put32(Bytes& out, std::uint32_t value) {
  put16(out, static_cast<std::uint16_t>(value >> 16));
  put16(out, static_cast<std::uint16_t>(value));
}
Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Bytes ether(std::uint16_t type, const Bytes& payload) {
  Bytes frame(12, 0x02);
  put16(frame, type);
  return frame + payload;
}

struct Header {
  const char* from;
  const char* to;
  std::uint8_t protocol = kTcp;
  std::uint16_t fragment = 0;  ///< the field: flags and offset
  unsigned options = 0;        ///< words
};

Bytes ipv4(const Header& header, const Bytes& payload) {
  Bytes out{static_cast<std::uint8_t>(0x45 + header.options), 0};
  put16(out, static_cast<std::uint16_t>(20 + header.options * 4 + payload.size()));
  put16(out, 1);
  put16(out, header.fragment);
  out.push_back(64);
  out.push_back(header.protocol);
  put16(out, 0);
  put32(out, ip(header.from).value);
  put32(out, ip(header.to).value);
  out.resize(out.size() + header.options * 4, 1);
  return out + payload;
}

Bytes ports(std::uint16_t source, std::uint16_t destination) {
  Bytes out;
  put16(out, source);
  put16(out, destination);
  out.resize(20, 0);
  return out;
}

Bytes packet(const Header& header, const Bytes& payload) {
  return ether(kEtherIp, ipv4(header, payload));
}

Bytes ipv6(const char* from, const char* to, std::uint8_t next, const Bytes& payload) {
  Bytes out{0x60, 0, 0, 0};
  put16(out, static_cast<std::uint16_t>(payload.size()));
  out.push_back(next);
  out.push_back(64);
  for (const char* text : {from, to}) {
    const Ip address = *Ip::parse(text);
    out.insert(out.end(), address.octets.begin(), address.octets.end());
  }
  return out + payload;
}

Bytes packet6(const char* from, const char* to, std::uint8_t next, const Bytes& payload) {
  return ether(kEtherIp6, ipv6(from, to, next, payload));
}

/// An extension header of 8 * (1 + `more`) bytes before a payload of protocol `next`.
Bytes extension(std::uint8_t next, const Bytes& payload, std::uint8_t more = 0) {
  Bytes out{next, more, 1, 4, 0, 0, 0, 0};
  out.resize(8 * (1u + more), 0);
  return out + payload;
}

Bytes fragment(std::uint8_t next, std::uint16_t offset, const Bytes& payload) {
  Bytes out{next, 0};
  put16(out, static_cast<std::uint16_t>(offset << 3 | 1));
  put32(out, 7);
  return out + payload;
}

Bytes icmp(std::uint8_t type, const Bytes& embedded) {
  Bytes out{type, 0, 0, 0, 0, 0, 0, 0};
  return out + embedded;
}

void add_service(forwarding::Generation& generation, std::uint32_t protocol, const char* vip,
                 const char* rip) {
  auto& service = *generation.add_service();
  service.set_virt(1);
  service.set_vip(Ip::parse(vip)->wire());
  service.set_vport(80);
  service.set_protocol(protocol);
  auto& member = *service.add_member();
  member.set_rip(Ip::parse(rip)->wire());
  member.set_rport(8080);
}

constexpr const char* kClient6 = "2001:db8:1::10";
constexpr const char* kVip6 = "2001:db8:1::100";
constexpr const char* kServer6 = "2001:db8:2::11";
constexpr const char* kOwn6 = "2001:db8:2::5";

forwarding::Generation web() {
  forwarding::Generation generation;
  for (const std::uint32_t protocol : {kTcp, kUdp}) {
    add_service(generation, protocol, "10.10.1.100", "10.10.2.11");
    add_service(generation, protocol, kVip6, kServer6);
  }
  return generation;
}

SteeringTables tables() {
  return steering_tables(web(), {ip("10.10.1.5"), ip("10.10.2.5"), ip("10.10.1.100"), ip("127.0.0.1"),
                                 *Ip::parse(kOwn6), *Ip::parse(kVip6)});
}

/// The program in the kernel, attached to nothing.
class LoadedProgram {
 public:
  LoadedProgram() {
    const char* path = std::getenv("STEERING_OBJECT");
    if (path == nullptr || geteuid() != 0) return;
    object_.reset(bpf_object__open_file(path, nullptr));
    if (!object_ || bpf_object__load(object_.get()) != 0) return;
    fd_ = bpf_program__fd(bpf_object__next_program(object_.get(), nullptr));
  }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::uint32_t run(const Bytes& frame) const {
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(),
                .data_size_in = static_cast<__u32>(frame.size()), .repeat = 1);
    return bpf_prog_test_run_opts(fd_, &options) == 0 ? options.retval : ~0U;
  }

 private:
  struct Close {
    void operator()(bpf_object* object) const { bpf_object__close(object); }
  };
  std::unique_ptr<bpf_object, Close> object_;
  int fd_ = -1;
};

class SteeringTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "loading a BPF program needs root";
    ASSERT_GE(program_.fd(), 0) << "STEERING_OBJECT does not load";
    auto maps = SteeringProgram::from(program_.fd());
    ASSERT_TRUE(maps.ok()) << maps.error().message;
    maps_ = std::make_unique<SteeringProgram>(std::move(maps.value()));
    ASSERT_TRUE(maps_->update(tables()).ok());
  }

  /// Without a socket in xsks_map, switched traffic is dropped; XDP_PASS is the kernel's.
  [[nodiscard]] bool switched(const Bytes& frame) const {
    const std::uint32_t verdict = program_.run(frame);
    EXPECT_TRUE(verdict == XDP_DROP || verdict == XDP_PASS) << verdict;
    EXPECT_EQ(worker_.takes(frame), verdict == XDP_DROP) << "kernel and worker disagree";
    return verdict == XDP_DROP;
  }

  LoadedProgram program_;
  std::unique_ptr<SteeringProgram> maps_;
  Steering worker_{tables()};
};

TEST_F(SteeringTest, TcpAndUdpForAVipAreSwitchedOnAnyPort) {
  EXPECT_TRUE(switched(packet({"10.10.1.10", "10.10.1.100"}, ports(40000, 80))));
  EXPECT_TRUE(switched(packet({"10.10.1.10", "10.10.1.100"}, ports(40000, 22))));
  EXPECT_TRUE(switched(packet({"10.10.1.10", "10.10.1.100", kUdp}, ports(40000, 80))));
  EXPECT_TRUE(switched(packet({"10.10.1.10", "10.10.1.100", kTcp, 0, 3}, ports(40000, 80))));
}

TEST_F(SteeringTest, RepliesOfARealServiceAreSwitchedUnlessTheyAnswerThisBox) {
  EXPECT_TRUE(switched(packet({"10.10.2.11", "10.10.1.10"}, ports(8080, 40000))));
  EXPECT_FALSE(switched(packet({"10.10.2.11", "10.10.2.5"}, ports(8080, 40000))));
  EXPECT_FALSE(switched(packet({"10.10.2.11", "10.10.1.10"}, ports(22, 40000))));
  EXPECT_FALSE(switched(packet({"10.10.2.12", "10.10.1.10"}, ports(8080, 40000))));
}

TEST_F(SteeringTest, AFrameToManyIsNotTheSwitchsWhateverItHolds) {
  for (const Bytes& one : {packet({"10.10.1.10", "10.10.1.100"}, ports(40000, 80)),
                           packet({"10.10.2.11", "10.10.1.10"}, ports(8080, 40000)),
                           packet6("2001:db8:1::10", "2001:db8:1::100", kTcp, ports(40000, 80))}) {
    Bytes frame = one;
    ASSERT_TRUE(switched(frame));
    frame[0] = 0x03;
    EXPECT_FALSE(switched(frame)) << "multicast";
    std::fill_n(frame.begin(), 6, std::uint8_t{0xff});
    EXPECT_FALSE(switched(frame)) << "broadcast";
  }
}

TEST_F(SteeringTest, AVipIsNoAddressOfThisBox) {
  EXPECT_TRUE(switched(packet({"10.10.2.11", "10.10.1.100"}, ports(8080, 40000))));
}

TEST_F(SteeringTest, LaterFragmentsGoWhereTheirPacketGoes) {
  const Bytes middle(64, 0xaa);
  EXPECT_TRUE(switched(packet({"10.10.1.10", "10.10.1.100", kTcp, 0x2010}, middle)));
  EXPECT_TRUE(switched(packet({"10.10.2.11", "10.10.1.10", kUdp, 0x0010}, middle)));
  EXPECT_TRUE(switched(packet({"10.10.2.11", "10.10.1.10", kUdp, 0x0010}, {})));
  EXPECT_FALSE(switched(packet({"10.10.2.11", "10.10.2.5", kUdp, 0x0010}, middle)));
  EXPECT_FALSE(switched(packet({"10.10.2.12", "10.10.1.10", kUdp, 0x0010}, middle)));
}

TEST_F(SteeringTest, IcmpErrorsAboutSwitchedPacketsAreSwitched) {
  const Bytes to_client = ipv4({"10.10.1.100", "10.10.1.10"}, ports(80, 40000));
  const Bytes to_real = ipv4({"10.10.1.10", "10.10.2.11"}, ports(40000, 8080));
  for (const std::uint8_t type : {3, 4, 5, 11, 12}) {
    EXPECT_TRUE(switched(packet({"10.10.1.1", "10.10.1.100", kIcmp}, icmp(type, to_client)))) << int{type};
    EXPECT_TRUE(switched(packet({"10.10.2.1", "10.10.1.10", kIcmp}, icmp(type, to_real)))) << int{type};
  }
}

TEST_F(SteeringTest, IcmpErrorsAboutThisBoxsOwnProbesAreTheKernels) {
  const Bytes probe = ipv4({"10.10.2.5", "10.10.2.11"}, ports(40000, 8080));
  EXPECT_FALSE(switched(packet({"10.10.2.11", "10.10.2.5", kIcmp}, icmp(3, probe))));
}

TEST_F(SteeringTest, TheRestIsTheKernels) {
  EXPECT_FALSE(switched(packet({"10.10.1.10", "10.10.1.100", kIcmp}, icmp(8, Bytes(32, 0)))));
  EXPECT_FALSE(switched(packet({"10.10.1.10", "10.10.1.100", 89}, Bytes(32, 0))));
  EXPECT_FALSE(switched(packet({"10.10.1.10", "10.10.1.5"}, ports(40000, 22))));
  EXPECT_FALSE(switched(ether(0x0806, Bytes(28, 0))));
  EXPECT_FALSE(switched(ether(0x86dd, Bytes(60, 0x60))));
  const Bytes tagged = Bytes{0, 1, 8, 0} + ipv4({"10.10.1.10", "10.10.1.100"}, ports(40000, 80));
  EXPECT_FALSE(switched(ether(0x8100, tagged)));
}

TEST_F(SteeringTest, Ipv6IsSwitchedAsIpv4Is) {
  EXPECT_TRUE(switched(packet6(kClient6, kVip6, kTcp, ports(40000, 22))));
  EXPECT_TRUE(switched(packet6(kClient6, kVip6, kUdp, ports(40000, 80))));
  EXPECT_TRUE(switched(packet6(kServer6, kClient6, kTcp, ports(8080, 40000))));
  EXPECT_TRUE(switched(packet6(kServer6, kClient6, kUdp, ports(8080, 40000))));
  EXPECT_TRUE(switched(packet6(kServer6, kVip6, kTcp, ports(8080, 40000))))
      << "a VIP is no address of this box";
  EXPECT_FALSE(switched(packet6(kServer6, kOwn6, kTcp, ports(8080, 40000)))) << "the answer to a probe";
  EXPECT_FALSE(switched(packet6(kServer6, kClient6, kTcp, ports(22, 40000))));
  EXPECT_FALSE(switched(packet6(kClient6, kOwn6, kTcp, ports(40000, 22))));
  EXPECT_FALSE(switched(packet6(kClient6, kVip6, 89, Bytes(32, 0))));
}

// RFC 4861 4: neighbour discovery, also for a VIP, and echo are the kernel's.
TEST_F(SteeringTest, NeighbourDiscoveryAndEchoOfIpv6AreTheKernels) {
  for (const std::uint8_t type : {128, 129, 133, 134, 135, 136, 137}) {
    EXPECT_FALSE(switched(packet6(kClient6, kVip6, kIcmp6, icmp(type, Bytes(32, 0))))) << int{type};
    EXPECT_FALSE(switched(packet6(kClient6, "ff02::1:ff00:100", kIcmp6, icmp(type, Bytes(32, 0)))))
        << int{type};
  }
}

TEST_F(SteeringTest, ExtensionHeadersAreFollowed) {
  const Bytes tcp = ports(40000, 80);
  EXPECT_TRUE(switched(packet6(kClient6, kVip6, kOptions, extension(kTcp, tcp))));
  EXPECT_TRUE(switched(packet6(kClient6, kVip6, 0, extension(kOptions, extension(kTcp, tcp, 3)))));
  EXPECT_TRUE(switched(packet6(kServer6, kClient6, 43, extension(kTcp, ports(8080, 40000), 2))));
  EXPECT_FALSE(switched(packet6(kServer6, kClient6, 43, extension(kTcp, ports(22, 40000), 2))));
  EXPECT_FALSE(switched(packet6(kClient6, kVip6, kOptions, extension(kIcmp6, icmp(128, Bytes(32, 0))))));
  EXPECT_FALSE(switched(packet6(kClient6, kVip6, kOptions, extension(59, {})))) << "no next header";
}

/// Eight are followed, as the core does; what is for a VIP behind more of them is the core's to count.
TEST_F(SteeringTest, MoreExtensionHeadersThanTheCoreFollowsAreItsToDrop) {
  Bytes to_vip = extension(kTcp, ports(40000, 80));
  Bytes to_client = extension(kTcp, ports(8080, 40000));
  for (int headers = 1; headers <= 12; ++headers) {
    EXPECT_TRUE(switched(packet6(kClient6, kVip6, kOptions, to_vip))) << headers;
    EXPECT_EQ(switched(packet6(kServer6, kClient6, kOptions, to_client)), headers <= 8) << headers;
    to_vip = extension(kOptions, to_vip);
    to_client = extension(kOptions, to_client);
  }
}

TEST_F(SteeringTest, FragmentsOfIpv6GoWhereTheirPacketGoes) {
  const Bytes middle(64, 0xaa);
  EXPECT_TRUE(switched(packet6(kClient6, kVip6, kFragment, fragment(kTcp, 0, ports(40000, 80)))));
  EXPECT_TRUE(switched(packet6(kClient6, kVip6, kFragment, fragment(kTcp, 16, middle))));
  EXPECT_TRUE(switched(packet6(kServer6, kClient6, kFragment, fragment(kUdp, 0, ports(8080, 40000)))));
  EXPECT_TRUE(switched(packet6(kServer6, kClient6, kFragment, fragment(kUdp, 16, middle))));
  EXPECT_TRUE(switched(packet6(kClient6, kVip6, kFragment, fragment(kOptions, 16, middle))));
  EXPECT_FALSE(switched(packet6(kServer6, kOwn6, kFragment, fragment(kUdp, 16, middle))));
  EXPECT_FALSE(switched(packet6(kClient6, kVip6, kFragment, fragment(kIcmp6, 16, middle))));
}

TEST_F(SteeringTest, Icmp6ErrorsAboutSwitchedPacketsAreSwitched) {
  const Bytes to_client = ipv6(kVip6, kClient6, kTcp, ports(80, 40000));
  const Bytes to_real = ipv6(kClient6, kServer6, kUdp, ports(40000, 8080));
  const Bytes probe = ipv6(kOwn6, kServer6, kTcp, ports(40000, 8080));
  for (const std::uint8_t type : {1, 2, 3, 4}) {
    EXPECT_TRUE(switched(packet6("2001:db8:1::1", kVip6, kIcmp6, icmp(type, to_client)))) << int{type};
    EXPECT_TRUE(switched(packet6("2001:db8:2::1", kClient6, kIcmp6, icmp(type, to_real)))) << int{type};
    EXPECT_FALSE(switched(packet6("2001:db8:2::1", kOwn6, kIcmp6, icmp(type, probe)))) << int{type};
  }
  EXPECT_FALSE(switched(packet6("2001:db8:1::1", kVip6, kIcmp6, icmp(128, to_client))));
}

TEST_F(SteeringTest, CutFramesAreReadNoFurtherThanTheyGo) {
  const Bytes whole = packet({"10.10.2.11", "10.10.1.10"}, ports(8080, 40000));
  for (std::size_t length = 14; length < 38; ++length) {
    EXPECT_FALSE(switched(Bytes(whole.begin(), whole.begin() + static_cast<long>(length)))) << length;
  }
  const Bytes error = packet({"10.10.2.1", "10.10.1.10", kIcmp},
                             icmp(3, ipv4({"10.10.1.10", "10.10.2.11"}, ports(40000, 8080))));
  for (std::size_t length = 34; length < 66; ++length) {
    EXPECT_FALSE(switched(Bytes(error.begin(), error.begin() + static_cast<long>(length)))) << length;
  }
  const Bytes chain =
      packet6(kServer6, kClient6, 0, extension(kOptions, extension(kTcp, ports(8080, 40000)), 1));
  for (std::size_t length = 14; length < 14 + 40 + 16 + 8 + 4; ++length) {
    EXPECT_FALSE(switched(Bytes(chain.begin(), chain.begin() + static_cast<long>(length)))) << length;
  }
}

TEST_F(SteeringTest, KernelAndWorkerAgreeOnArbitraryBytes) {
  std::mt19937 random(20);
  const std::vector<Bytes> bases{
      packet({"10.10.2.1", "10.10.1.10", kIcmp},
             icmp(3, ipv4({"10.10.1.10", "10.10.2.11"}, ports(40000, 8080)))),
      packet({"10.10.2.11", "10.10.1.10"}, ports(8080, 40000)),
      packet6(kServer6, kClient6, 0, extension(kFragment, fragment(kTcp, 0, ports(8080, 40000)))),
      packet6("2001:db8:2::1", kClient6, kIcmp6,
              icmp(2, ipv6(kClient6, kServer6, kOptions, extension(kUdp, ports(40000, 8080)))))};
  for (int i = 0; i < 10000; ++i) {
    Bytes frame = bases[static_cast<std::size_t>(i) % bases.size()];
    for (unsigned n = random() % 4; n > 0; --n) frame[12 + random() % (frame.size() - 12)] = random() & 0xff;
    frame.resize(14 + random() % (frame.size() - 13));
    static_cast<void>(switched(frame));  // expects that both agree
  }
}

// A start waits for it, once for each port.
TEST_F(SteeringTest, CostsTheKernelLittleToVerify) {
  bpf_prog_info info{};
  __u32 length = sizeof info;
  ASSERT_EQ(bpf_obj_get_info_by_fd(program_.fd(), &info, &length), 0);
  EXPECT_LT(info.verified_insns, 10'000u);
}

TEST_F(SteeringTest, TablesFollowAConfiguration) {
  const Bytes frame = packet({"10.10.1.10", "10.10.1.100"}, ports(40000, 80));
  ASSERT_EQ(program_.run(frame), static_cast<std::uint32_t>(XDP_DROP));
  ASSERT_TRUE(maps_->update({}).ok());
  EXPECT_EQ(program_.run(frame), static_cast<std::uint32_t>(XDP_PASS));
  ASSERT_TRUE(maps_->update(tables()).ok());
  EXPECT_EQ(program_.run(frame), static_cast<std::uint32_t>(XDP_DROP));
}

TEST(SteeringGate, BeforeTheFirstTablesNoTcpReachesTheKernelButArpDoes) {
  if (geteuid() != 0) GTEST_SKIP() << "loading a BPF program needs root";
  const LoadedProgram program;
  ASSERT_GE(program.fd(), 0);
  EXPECT_EQ(program.run(packet({"10.10.1.10", "10.10.1.100"}, ports(1, 80))),
            static_cast<std::uint32_t>(XDP_DROP));
  EXPECT_EQ(program.run(packet6(kClient6, kVip6, kOptions, extension(kUdp, ports(1, 80)))),
            static_cast<std::uint32_t>(XDP_DROP));
  EXPECT_EQ(program.run(ether(0x0806, Bytes(28, 0))), static_cast<std::uint32_t>(XDP_PASS));
  EXPECT_EQ(program.run(packet6(kClient6, kVip6, kIcmp6, icmp(135, Bytes(32, 0)))),
            static_cast<std::uint32_t>(XDP_PASS));
}

TEST(SteeringTablesTest, NameVipsServicesAndLocalAddressesWithoutVips) {
  const SteeringTables made = tables();
  EXPECT_EQ(made.vips, (std::set<Ip>{ip("10.10.1.100"), *Ip::parse(kVip6)}));
  EXPECT_EQ(made.locals,
            (std::set<Ip>{ip("10.10.1.5"), ip("10.10.2.5"), ip("127.0.0.1"), *Ip::parse(kOwn6)}));
  std::set<ServiceKey> services;
  for (const Ip& server : {Ip(ip("10.10.2.11")), *Ip::parse(kServer6)})
    for (const std::uint8_t protocol : {kTcp, kUdp})
      for (const L4Port port : {L4Port{0}, L4Port{8080}}) services.insert({server, port, protocol});
  EXPECT_EQ(made.services, services);
}

}  // namespace
}  // namespace headgate::shell
