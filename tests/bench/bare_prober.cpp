// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/bare_prober.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <memory>
#include <string_view>
#include <unordered_map>

namespace headgate::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Tls = std::unique_ptr<SSL, decltype(&SSL_free)>;

constexpr std::string_view kRequest = "GET / HTTP/1.0\r\n\r\n";
constexpr unsigned kTargets = 16384;  // addresses of 127.1.0.0/16 that take turns

class BareLoop {
 public:
  BareLoop(std::uint16_t port, bool tls) : port_(port) {
    if (tls) context_.reset(SSL_CTX_new(TLS_client_method()));
  }
  ~BareLoop() {
    for (const auto& [socket, tls] : talks_) close(socket);
    close(events_);
  }

  void start() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port_);
    to.sin_addr.s_addr = htonl(0x7f010000 + ++started_ % kTargets);
    (void)connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to);
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLET, .data = {.fd = socket}};
    epoll_ctl(events_, EPOLL_CTL_ADD, socket, &event);
    if (!context_) return;
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Tls tls(SSL_new(context_.get()), SSL_free);
    SSL_set_fd(tls.get(), socket);
    SSL_set_connect_state(tls.get());
    talks_.emplace(socket, std::move(tls));
  }

  void turn(int milliseconds) {
    std::array<epoll_event, 256> ready;
    const int count = epoll_wait(events_, ready.data(), ready.size(), milliseconds);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = ready[static_cast<std::size_t>(i)];
      if (context_ ? talk(event.data.fd) : connected(event.data.fd)) close(event.data.fd);
    }
  }

  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  bool connected(int socket) {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
    done_ += error == 0;
    return true;
  }

  /// Whether the connection is over.
  bool talk(int socket) {
    const auto found = talks_.find(socket);
    if (found == talks_.end()) return false;
    SSL* tls = found->second.get();
    if (!SSL_is_init_finished(tls)) {
      if (SSL_do_handshake(tls) != 1) return false;
      SSL_write(tls, kRequest.data(), static_cast<int>(kRequest.size()));
    }
    std::array<char, 1024> page;
    const int length = SSL_read(tls, page.data(), page.size());
    if (length <= 0) return SSL_get_error(tls, length) != SSL_ERROR_WANT_READ;
    ++done_;
    SSL_shutdown(tls);
    talks_.erase(found);
    return true;
  }

  int events_ = epoll_create1(0);
  std::uint16_t port_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{nullptr, SSL_CTX_free};
  std::unordered_map<int, Tls> talks_;
  unsigned started_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace

std::chrono::nanoseconds thread_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

BareShare bare_probes(std::uint16_t port, unsigned rate, bool tls, std::chrono::milliseconds time) {
  BareLoop loop(port, tls);
  const auto cpu = thread_time();
  const auto begun = Clock::now();
  std::uint64_t started = 0;
  for (auto now = begun; now < begun + time; now = Clock::now()) {
    const auto due = static_cast<std::uint64_t>(std::chrono::duration<double>(now - begun).count() * rate);
    for (; started < due; ++started) loop.start();
    loop.turn(1);
  }
  const std::chrono::duration<double> spent = thread_time() - cpu, wall = Clock::now() - begun;
  return {spent / wall, loop.done()};
}

}  // namespace headgate::bench
