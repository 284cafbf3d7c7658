// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/knocks.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "controlplane/probe/words.h"

namespace headgate::probe {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestClose{2};
constexpr std::chrono::milliseconds kSweep{50};
constexpr std::size_t kMostDiscarded = 256 * 1024;
constexpr std::size_t kEventsAtOnce = 256;

/// An address and port as the system takes them.
struct Endpoint {
  sockaddr_storage storage{};
  socklen_t length = 0;

  Endpoint(const Ip& address, L4Port port) {
    if (address.is_v4()) {
      auto& to = reinterpret_cast<sockaddr_in&>(storage);
      to.sin_family = AF_INET;
      to.sin_port = htons(port);
      to.sin_addr.s_addr = htonl(address.v4().value);
      length = sizeof to;
    } else {
      auto& to = reinterpret_cast<sockaddr_in6&>(storage);
      to.sin6_family = AF_INET6;
      to.sin6_port = htons(port);
      std::memcpy(&to.sin6_addr, address.octets.data(), sizeof to.sin6_addr);
      length = sizeof to;
    }
  }
};

}  // namespace

struct Knocks::Impl : std::enable_shared_from_this<Knocks::Impl> {
  explicit Impl(asio::io_context& io) : context(io), events(io, epoll_create1(EPOLL_CLOEXEC)), sweeper(io) {}
  ~Impl() {
    for (const Slot& slot : slots)
      if (slot.socket >= 0) ::close(slot.socket);
  }

  /// One socket. The upper half of an id tells who uses the slot now from who used it before.
  struct Slot {
    int socket = -1;
    std::uint32_t generation = 1;
    std::size_t discarded = 0;
    Clock::time_point started;
    Prober::OnResult on_result;
  };
  /// A result on its way: whoever hears of it may start others, so that slots may move.
  class Ended {
   public:
    Ended(Slot& slot, Result result) : result_(std::move(result)), on_result_(std::move(slot.on_result)) {
      slot.on_result = nullptr;
      result_.took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - slot.started);
      if (result_.passed) result_.reason = answered_in(result_.took);
    }
    void tell() {
      if (on_result_) on_result_(result_);
    }

   private:
    Result result_;
    Prober::OnResult on_result_;
  };
  struct Farewell {
    Id id;
    Clock::time_point until;
  };

  Id start(const Probe& probe, Prober::OnResult on_result);
  void cancel(Id id);
  void wait();
  void turn();
  void opened(Id id, Slot& slot, std::uint32_t what);
  [[nodiscard]] static bool done(Slot& slot);
  void refuse(Id id, int error);
  void fail(Id id, Slot& slot, int error);
  void free(Id id, Slot& slot);
  void sweep_later();
  void sweep();
  [[nodiscard]] Slot* find(Id id);

  asio::io_context& context;
  asio::posix::stream_descriptor events;
  asio::steady_timer sweeper;
  bool sweeping = false;
  std::vector<Slot> slots;
  std::vector<std::uint32_t> unused;
  std::vector<Farewell> farewells;
};

Knocks::Impl::Slot* Knocks::Impl::find(Id id) {
  Slot& slot = slots[id & 0xffffffff];
  return slot.generation == id >> 32 && slot.socket >= 0 ? &slot : nullptr;
}

Knocks::Id Knocks::Impl::start(const Probe& probe, Prober::OnResult on_result) {
  if (unused.empty()) {
    unused.push_back(static_cast<std::uint32_t>(slots.size()));
    slots.emplace_back();
  }
  const std::uint32_t index = unused.back();
  unused.pop_back();
  Slot& slot = slots[index];
  const Id id = Id{slot.generation} << 32 | index;
  slot.started = Clock::now();
  slot.on_result = std::move(on_result);
  slot.discarded = 0;
  const Endpoint to(probe.address, probe.port);
  slot.socket = ::socket(to.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  bool good = slot.socket >= 0 &&
              (connect(slot.socket, reinterpret_cast<const sockaddr*>(&to.storage), to.length) == 0 ||
               errno == EINPROGRESS);
  epoll_event event{.events = EPOLLOUT | EPOLLONESHOT, .data = {.u64 = id}};
  good = good && epoll_ctl(events.native_handle(), EPOLL_CTL_ADD, slot.socket, &event) == 0;
  if (!good) asio::post(context, [self = shared_from_this(), id, error = errno] { self->refuse(id, error); });
  return id;
}

/// One that could not even begin; its socket may not exist.
void Knocks::Impl::refuse(Id id, int error) {
  Slot& slot = slots[id & 0xffffffff];
  if (slot.generation == id >> 32) fail(id, slot, error);
}

void Knocks::Impl::fail(Id id, Slot& slot, int error) {
  Ended ended(slot, {.passed = false,
                     .heard = sign_of_life(error),
                     .unasked = own_fault(error),
                     .reason = words_of(error)});
  free(id, slot);
  ended.tell();
}

void Knocks::Impl::cancel(Id id) {
  Slot& slot = slots[id & 0xffffffff];
  if (slot.generation != id >> 32 || !slot.on_result) return;  // it is just closing in order
  slot.on_result = nullptr;
  free(id, slot);
}

void Knocks::Impl::wait() {
  events.async_wait(asio::posix::stream_descriptor::wait_read,
                    [self = weak_from_this()](const boost::system::error_code& error) {
                      const auto impl = self.lock();
                      if (error || !impl) return;
                      impl->turn();
                      impl->wait();
                    });
}

void Knocks::Impl::turn() {
  std::array<epoll_event, kEventsAtOnce> happened;
  const int count = epoll_wait(events.native_handle(), happened.data(), happened.size(), 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = happened[static_cast<std::size_t>(i)];
    if (Slot* slot = find(event.data.u64)) opened(event.data.u64, *slot, event.events);
  }
}

/// The connection stands, or it does not.
void Knocks::Impl::opened(Id id, Slot& slot, std::uint32_t what) {
  if ((what & EPOLLERR) != 0) {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(slot.socket, SOL_SOCKET, SO_ERROR, &error, &length);
    return fail(id, slot, error);
  }
  shutdown(slot.socket, SHUT_WR);
  farewells.push_back({id, Clock::now() + kLongestClose});
  sweep_later();
  Ended(slot, {.passed = true, .heard = true}).tell();
}

/// Reads what the server still says; whether it has said its last, or more than enough.
bool Knocks::Impl::done(Slot& slot) {
  while (slot.discarded < kMostDiscarded) {
    const ssize_t length = recv(slot.socket, nullptr, kMostDiscarded, MSG_TRUNC);
    if (length < 0 && errno == EAGAIN) return false;
    if (length <= 0) break;
    slot.discarded += static_cast<std::size_t>(length);
  }
  return true;
}

void Knocks::Impl::free(Id id, Slot& slot) {
  if (slot.socket >= 0) ::close(slot.socket);  // and it leaves the set
  slot.socket = -1;
  slot.on_result = nullptr;
  ++slot.generation;
  unused.push_back(static_cast<std::uint32_t>(id & 0xffffffff));
}

/// Nobody waits for farewells: they are looked at now and then, many at a time, instead of waking for each.
void Knocks::Impl::sweep_later() {
  if (std::exchange(sweeping, true)) return;
  sweeper.expires_after(kSweep);
  sweeper.async_wait([self = weak_from_this()](const boost::system::error_code& stopped) {
    const auto impl = self.lock();
    if (stopped || !impl) return;
    impl->sweeping = false;
    impl->sweep();
  });
}

void Knocks::Impl::sweep() {
  const auto now = Clock::now();
  std::vector<Farewell> waiting;
  for (const Farewell& farewell : std::exchange(farewells, {})) {
    Slot* slot = find(farewell.id);
    if (slot == nullptr) continue;
    if (farewell.until <= now || done(*slot))
      free(farewell.id, *slot);
    else
      waiting.push_back(farewell);
  }
  farewells = std::move(waiting);
  if (!farewells.empty()) sweep_later();
}

Knocks::Knocks(asio::io_context& context) : impl_(std::make_shared<Impl>(context)) {
  impl_->wait();
}
Knocks::~Knocks() = default;

Knocks::Id Knocks::start(const Probe& probe, Prober::OnResult on_result) {
  return impl_->start(probe, std::move(on_result));
}

void Knocks::cancel(Id id) {
  impl_->cancel(id);
}

}  // namespace headgate::probe
