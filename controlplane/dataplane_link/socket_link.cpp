// SPDX-License-Identifier: Apache-2.0
#include "controlplane/dataplane_link/socket_link.h"

#include <chrono>
#include <deque>
#include <unordered_map>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "model/frame.h"

namespace headgate::link {
namespace {

namespace asio = boost::asio;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds kRetry{100};
constexpr std::chrono::milliseconds kStalled{500};
constexpr std::size_t kMostWaiting = std::size_t{128} << 20;  // bytes that a stuck dataplane may leave unread

class Link final : public SocketLink, public std::enable_shared_from_this<Link> {
 public:
  Link(asio::io_context& context, std::string path, Events events, std::chrono::milliseconds patience)
      : context_(context),
        socket_(context),
        retry_(context),
        answer_(context),
        patience_(patience),
        path_(std::move(path)),
        events_(std::move(events)) {}

  void start() override { asio::co_spawn(context_, run(shared_from_this()), asio::detached); }

  void stop() override {
    stopped_ = true;
    retry_.cancel();
    answer_.cancel();
    drop();
  }

  [[nodiscard]] bool connected() const override { return connected_; }

  void send(forwarding::Order order, OnReport on_report) override {
    if (!connected_) return on_report(absent());
    post(std::move(order), std::move(on_report));
  }

 private:
  static forwarding::Report absent() {
    forwarding::Report report;
    report.set_error("the dataplane is not there");
    return report;
  }

  static asio::awaitable<void> run(std::shared_ptr<Link> self) {
    while (!self->stopped_) {
      co_await self->one_connection();
      if (self->stopped_) co_return;
      self->retry_.expires_after(kRetry);
      co_await self->retry_.async_wait(kAwait);
    }
  }

  asio::awaitable<void> one_connection() {
    socket_ = asio::local::stream_protocol::socket(context_);
    const auto [error] = co_await socket_.async_connect(path_, kAwait);
    if (error || stopped_) {
      if (!stopped_) events_.on_absent();
      co_return;
    }
    greet();
    for (bool good = true; good;) good = co_await read_report();
    lose();
  }

  void greet() {
    forwarding::Order order;
    order.mutable_hello();
    post(std::move(order), [this](const forwarding::Report& report) {
      if (!report.has_hand_back()) return drop();
      connected_ = true;
      events_.on_connected(report.hand_back());
    });
  }

  /// From now on the dataplane has `patience_` to say something, as long as anything is expected of it.
  void await_answer() {
    answer_.expires_after(patience_);
    answer_.async_wait([self = shared_from_this()](const boost::system::error_code& stopped) {
      if (stopped || self->waiting_.empty()) return;
      // Late, because this process was stopped itself: the answer may lie unread.
      if (std::chrono::steady_clock::now() - self->answer_.expiry() > kStalled) return self->await_answer();
      self->drop();
    });
  }

  void post(forwarding::Order order, OnReport on_report) {
    if (waiting_.empty()) await_answer();
    order.set_id(++last_id_);
    waiting_[last_id_] = std::move(on_report);
    std::string bytes = frame(order);
    queued_ += bytes.size();
    queue_.push_back(std::move(bytes));
    if (queued_ > kMostWaiting) return drop();
    if (queue_.size() == 1) write_now();
  }

  /// Writes what the socket takes without waiting: a change of state is on its way before this returns.
  void write_now() {
    boost::system::error_code error;
    socket_.non_blocking(true, error);
    std::string& first = queue_.front();
    const std::size_t written = socket_.write_some(asio::buffer(first), error);
    if (!error && written == first.size()) {
      queued_ -= written;
      return queue_.pop_front();
    }
    if (!error) {
      queued_ -= written;
      first.erase(0, written);
    }
    asio::co_spawn(context_, write_queue(shared_from_this()), asio::detached);
  }

  static asio::awaitable<void> write_queue(std::shared_ptr<Link> self) {
    while (!self->queue_.empty()) {
      const auto [error, written] =
          co_await asio::async_write(self->socket_, asio::buffer(self->queue_.front()), kAwait);
      if (error || self->queue_.empty()) co_return self->drop();
      self->queued_ -= written;
      self->queue_.pop_front();
    }
  }

  asio::awaitable<bool> read_report() {
    std::string header(kFrameHeader, '\0');
    const auto [failed, got] = co_await asio::async_read(socket_, asio::buffer(header), kAwait);
    const auto length = failed ? Result<std::size_t>(Error{}) : frame_length(header);
    if (!length) co_return false;
    std::string body(*length, '\0');
    const auto [cut, read] = co_await asio::async_read(socket_, asio::buffer(body), kAwait);
    forwarding::Report report;
    if (cut || !report.ParseFromString(body)) co_return false;
    deliver(report);
    co_return true;
  }

  void deliver(const forwarding::Report& report) {
    await_answer();
    if (report.id() == 0) return events_.on_report(report);
    const auto found = waiting_.find(report.id());
    if (found == waiting_.end()) return;
    const bool last = !report.has_sessions() || !report.sessions().more();
    const OnReport on_report = last ? std::move(found->second) : found->second;
    if (last) waiting_.erase(found);
    on_report(report);
  }

  void drop() {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

  void lose() {
    drop();
    answer_.cancel();
    queue_.clear();
    queued_ = 0;
    const bool was_connected = std::exchange(connected_, false);
    const auto waiting = std::exchange(waiting_, {});
    for (const auto& [id, on_report] : waiting) on_report(absent());
    if (was_connected && !stopped_) events_.on_lost();
  }

  asio::io_context& context_;
  asio::local::stream_protocol::socket socket_;
  asio::steady_timer retry_;
  asio::steady_timer answer_;
  std::chrono::milliseconds patience_;
  std::string path_;
  Events events_;
  bool connected_ = false;
  bool stopped_ = false;
  std::uint64_t last_id_ = 0;
  std::unordered_map<std::uint64_t, OnReport> waiting_;
  std::deque<std::string> queue_;
  std::size_t queued_ = 0;
};

/// Keeps the shared link, whose coroutines may outlive the holder by a moment.
class Holder final : public SocketLink {
 public:
  explicit Holder(std::shared_ptr<Link> link) : link_(std::move(link)) {}
  ~Holder() override { link_->stop(); }
  void start() override { link_->start(); }
  void stop() override { link_->stop(); }
  [[nodiscard]] bool connected() const override { return link_->connected(); }
  void send(forwarding::Order order, OnReport on_report) override {
    link_->send(std::move(order), std::move(on_report));
  }

 private:
  std::shared_ptr<Link> link_;
};

}  // namespace

std::unique_ptr<SocketLink> make_link(asio::io_context& context, std::string path, Events events,
                                      std::chrono::milliseconds patience) {
  return std::make_unique<Holder>(
      std::make_shared<Link>(context, std::move(path), std::move(events), patience));
}

}  // namespace headgate::link
