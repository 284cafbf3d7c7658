// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/icmp.h"

#include <netinet/icmp6.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <unordered_map>

#include <fmt/format.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/icmp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "controlplane/probe/asio_address.h"
#include "controlplane/probe/icmp_packet.h"
#include "controlplane/probe/words.h"

namespace headgate::probe {

namespace asio = boost::asio;

namespace {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    number = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return number;
}

}  // namespace

struct IcmpProber::Impl : std::enable_shared_from_this<Impl> {
  struct Pending {
    TargetId target;
    Ip address;
    Echo echo;
    std::chrono::steady_clock::time_point started;
    Prober::OnResult on_result;
  };

  /// The raw socket of one family.
  struct Way {
    asio::ip::icmp::socket socket;
    int open_error = 0;
  };

  explicit Impl(asio::io_context& io)
      : context(io), ipv4{asio::ip::icmp::socket(io)}, ipv6{asio::ip::icmp::socket(io)} {}

  void open(Way& way, const asio::ip::icmp& protocol) {
    boost::system::error_code error;
    way.socket.open(protocol, error);
    if (!error) way.socket.non_blocking(true, error);  // a full send buffer fails one probe, and stops nobody
    way.open_error = error.value();
    if (!error) asio::co_spawn(context, listen(shared_from_this(), way), asio::detached);
  }

  void open() {
    open(ipv4, asio::ip::icmp::v4());
    open(ipv6, asio::ip::icmp::v6());
    if (ipv6.open_error == 0) listen_to_answers_only();
  }

  /// Of ICMPv6 only what read_echo_answer6() reads: neighbour discovery would wake us for nothing.
  void listen_to_answers_only() {
    icmp6_filter filter;
    ICMP6_FILTER_SETBLOCKALL(&filter);
    ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &filter);
    ICMP6_FILTER_SETPASS(ICMP6_DST_UNREACH, &filter);
    setsockopt(ipv6.socket.native_handle(), IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof filter);
  }

  static asio::awaitable<void> listen(std::shared_ptr<Impl> self, Way& way) {
    std::array<std::uint8_t, 2048> packet;
    asio::ip::icmp::endpoint sender;
    while (way.socket.is_open()) {
      const auto [error, length] = co_await way.socket.async_receive_from(
          asio::buffer(packet), sender, asio::as_tuple(asio::use_awaitable));
      if (error == asio::error::operation_aborted) co_return;
      if (error) continue;  // a pending ICMP error of the socket: reading it has cleared it
      const std::span<const std::uint8_t> read(packet.data(), length);
      const auto answer =
          &way == &self->ipv4 ? read_echo_answer(read) : read_echo_answer6(read, from_asio(sender.address()));
      if (answer) self->settle(*answer);
    }
  }

  void settle(const EchoAnswer& answer) {
    const auto found = pending.find(answer.echo.sequence);
    if (found == pending.end() || answer.from != found->second.address || answer.echo.id != id) return;
    const bool reply = answer.what == EchoAnswer::What::reply;
    if (reply && answer.echo != found->second.echo) return;
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() -
                                                                            found->second.started);
    finish(answer.echo.sequence, {.passed = reply,
                                  .heard = reply,
                                  .reason = reply ? answered_in(took) : "host unreachable",
                                  .took = took});
  }

  void finish(std::uint16_t sequence, const Result& result) {
    const auto found = pending.find(sequence);
    if (found == pending.end()) return;
    const auto on_result = std::move(found->second.on_result);
    sequence_of.erase(found->second.target);
    pending.erase(found);
    on_result(result);
  }

  void send(std::uint16_t sequence) {
    const Pending& probe = pending.at(sequence);
    Way& way = probe.address.is_v4() ? ipv4 : ipv6;
    boost::system::error_code error(way.open_error, boost::system::system_category());
    const asio::ip::icmp::endpoint server(to_asio(probe.address), 0);
    if (!error) way.socket.send_to(asio::buffer(echo_request(probe.echo, probe.address)), server, 0, error);
    if (!error) return;
    asio::post(context, [self = shared_from_this(), sequence, error = error.value()] {
      self->finish(sequence, {.passed = false, .unasked = own_fault(error), .reason = words_of(error)});
    });
  }

  std::uint16_t free_sequence() {
    while (pending.contains(++next_sequence)) {
    }
    return next_sequence;
  }

  asio::io_context& context;
  Way ipv4, ipv6;
  const std::uint16_t id = static_cast<std::uint16_t>(random_number());
  std::uint16_t next_sequence = 0;
  std::unordered_map<std::uint16_t, Pending>
      pending;  // by sequence; one for each target, far fewer than 65,536
  std::unordered_map<TargetId, std::uint16_t> sequence_of;
};

IcmpProber::IcmpProber(asio::io_context& context) : impl_(std::make_shared<Impl>(context)) {
  impl_->open();
}

IcmpProber::~IcmpProber() {
  impl_->pending.clear();
  impl_->sequence_of.clear();
  boost::system::error_code ignored;
  impl_->ipv4.socket.close(ignored);
  impl_->ipv6.socket.close(ignored);
}

void IcmpProber::start(TargetId target, const Ip& address, Prober::OnResult on_result) {
  cancel(target);
  const std::uint16_t sequence = impl_->free_sequence();
  const Echo echo{impl_->id, sequence, random_number()};
  impl_->sequence_of[target] = sequence;
  impl_->pending.emplace(
      sequence, Impl::Pending{target, address, echo, std::chrono::steady_clock::now(), std::move(on_result)});
  impl_->send(sequence);
}

void IcmpProber::cancel(TargetId target) {
  const auto found = impl_->sequence_of.find(target);
  if (found == impl_->sequence_of.end()) return;
  impl_->pending.erase(found->second);
  impl_->sequence_of.erase(found);
}

}  // namespace headgate::probe
