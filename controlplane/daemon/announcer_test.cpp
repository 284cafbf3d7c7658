// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/announcer.h"

#include <random>

#include <fmt/format.h>

#include "controlplane/daemon/engine_fixture.h"

// What is found out by looking at changes only is what looking at everything finds out.
namespace headgate::daemon {
namespace {

using testing::IsEmpty;

constexpr unsigned kReals = 10;
constexpr std::uint32_t kFirst = 0x0a0a0215;

/// Servers of every role, behind more services than are looked at in one go.
std::string site() {
  std::string text;
  for (unsigned real = 1; real <= kReals; ++real)
    text += fmt::format("/c/slb/real {}/ena/rip 10.10.2.{}/inter 2/retry 2/restr 2/maxcon 10\n", 10 + real,
                        20 + real);
  text += "/c/slb/real 11/backup 17\n/c/slb/real 12/backup 18/preempt dis\n";
  text += "/c/slb/real 13/buddyhc/addbd 14 11 2000\n";
  for (unsigned real = 11; real <= 16; ++real) text += fmt::format("/c/slb/group 11/add {}\n", real);
  text += "/c/slb/group 12/add 13/add 14/add 15/advhlth 13&(14|15)\n/c/slb/group 12/backup g13\n";
  text += "/c/slb/group 13/add 19/add 20\n/c/slb/group 11/minthrsh 2/maxthrsh 4/realthr 3\n";
  for (unsigned virt = 11; virt <= 40; ++virt) {
    text += fmt::format("/c/slb/virt {}/ena/vip 10.10.1.{}\n", virt, virt);
    for (unsigned service = 0; service < 4; ++service)
      text += fmt::format("/c/slb/virt {}/service {}/group {}\n", virt, 2000 + service, 11 + service % 2);
  }
  return text;
}

class AnnouncerTest : public EngineTest {
 protected:
  /// Something happens to a server: to one of its services, its sessions or its operation.
  void disturb(std::mt19937& random) {
    const unsigned real = random() % kReals;
    const std::pair<std::uint32_t, L4Port> service{kFirst + real, static_cast<L4Port>(2000 + random() % 4)};
    switch (random() % 8) {
      case 0:
        dataplane_.stats.clear_real();
        break;
      case 1: {
        forwarding::RealStats& row = *dataplane_.stats.add_real();
        row.set_real(11 + real);
        row.mutable_counts()->set_current(10);
        break;
      }
      case 2:
        (void)engine_->set_operation(11 + real, random() % 2 == 0 ? forwarding::ENABLED : forwarding::DRAIN);
        break;
      default:
        if (prober_->down.erase(service) == 0) prober_->down.insert(service);
    }
  }
};

TEST_F(AnnouncerTest, LooksAtChangesAndFindsWhatALookAtEverythingFinds) {
  start_lab(site());
  const config::Compiled compiled = config::compile(config::with(config::lab(), site()));
  std::mt19937 random(4);
  std::size_t told = 0;
  for (unsigned round = 0; round < 150; ++round) {
    for (unsigned count = random() % 12; count > 0; --count) disturb(random);
    time_->pass(milliseconds(random() % 4000));
    while (engine_->announcer().busy()) time_->pass(milliseconds(1));
    told += std::exchange(lines_, {}).size();
    Announcer twin = engine_->announcer();
    twin.configure(compiled, Announcer::News::told);
    for (std::vector<Announcement> more = twin.look(); !more.empty(); more = twin.look())
      ADD_FAILURE() << "round " << round << ": not told: " << more.front().text;
    ASSERT_EQ(twin.taking(), engine_->announcer().taking()) << "round " << round;
    if (HasFailure()) return;
  }
  EXPECT_GT(told, 1000u);
}

TEST_F(AnnouncerTest, ManyLinesAreHandedOutFewAtATime) {
  start_lab(site());
  for (unsigned real = 0; real < kReals; ++real)
    for (L4Port port = 2000; port < 2004; ++port) prober_->down.insert({kFirst + real, port});
  Announcer announcer = engine_->announcer();
  time_->pass(milliseconds(9000));
  for (unsigned real = 0; real < kReals; ++real) announcer.changed(11 + real);
  std::size_t all = 0;
  while (announcer.busy()) {
    const std::size_t count = announcer.look().size();
    EXPECT_LE(count, 32u);
    all += count;
  }
  EXPECT_GT(all, 64u);
}

}  // namespace
}  // namespace headgate::daemon
