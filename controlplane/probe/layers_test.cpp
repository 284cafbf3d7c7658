// SPDX-License-Identifier: Apache-2.0
// Checks of neighbours and links over the sockets of this machine, as far as a loopback goes.
#include "controlplane/probe/asio_prober.h"

#include <unistd.h>

#include <optional>

#include <gtest/gtest.h>

#include "controlplane/probe/run_until.h"

namespace headgate::probe {
namespace {

class LayersTest : public ::testing::Test {
 protected:
  Result probe(const Check& check, const Ip& address = Ipv4{0x7f000001}) {
    result_.reset();
    prober_->start(1, {.check = check, .address = address},
                   [this](const Result& result) { result_ = result; });
    EXPECT_FALSE(result_) << "never from inside of start()";
    EXPECT_TRUE(run_until(context_, [&] { return result_.has_value(); }));
    return result_.value_or(Result{});
  }
  static Check link(const std::string& device) {
    return {.kind = Kind::link, .carrier = Carrier::none, .port = 3, .path = device};
  }

  boost::asio::io_context context_;
  std::unique_ptr<Prober> prober_ = make_prober(context_);
  std::optional<Result> result_;
};

TEST_F(LayersTest, ALinkIsLookedAt) {
  EXPECT_TRUE(probe(link("lo")).passed);
  EXPECT_EQ(probe(link("absent0")).reason, "link of port 3 is down: absent0: it is not there");
  prober_->learn_links({{3, false}});
  EXPECT_EQ(probe(link("")).reason, "link of port 3 is down");
}

TEST_F(LayersTest, AnInvertedLinkPassesWhenItIsDown) {
  Check check = link("absent0");
  check.invert = true;
  EXPECT_TRUE(probe(check).passed);
}

TEST_F(LayersTest, WhatIsCancelledHasNoResult) {
  for (const Check& check : {link("lo"), Check{.kind = Kind::arp, .carrier = Carrier::none}}) {
    prober_->start(1, {.check = check, .address = Ipv4{0x7f000001}},
                   [this](const Result& result) { result_ = result; });
    prober_->cancel(1);
    context_.restart();
    context_.run_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(result_);
  }
}

TEST_F(LayersTest, ThisMachineIsNoNeighbourOfItself) {
  const Check arp{.kind = Kind::arp, .carrier = Carrier::none};
  EXPECT_EQ(probe(arp).reason, "not on a connected network");
  EXPECT_EQ(probe(arp, *Ip::parse("::1")).reason, "not on a connected network");
}

}  // namespace
}  // namespace headgate::probe
