// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/probe_servers.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace headgate::bench {
namespace {

constexpr int kBacklog = 16384;
constexpr std::string_view kPage = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

/// Accepts, and closes when the client has.
[[noreturn]] void accept_all(int listener) {
  const int events = epoll_create1(0);
  const auto watch = [&](int socket) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = socket}};
    epoll_ctl(events, EPOLL_CTL_ADD, socket, &event);
  };
  watch(listener);
  std::array<epoll_event, 256> ready;
  while (true) {
    const int count = epoll_wait(events, ready.data(), ready.size(), -1);
    for (int i = 0; i < count; ++i) {
      const int socket = ready[static_cast<std::size_t>(i)].data.fd;
      if (socket != listener) {
        close(socket);
        continue;
      }
      for (int client; (client = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) watch(client);
    }
  }
}

SSL_CTX* server_context() {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
  X509_set_pubkey(certificate, key);
  X509_sign(certificate, key, EVP_sha256());
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_use_certificate(context, certificate);
  SSL_CTX_use_PrivateKey(context, key);
  return context;
}

/// Answers each request over TLS with a page. One thread: the library's locks are nobody's to wait for.
class Pages {
 public:
  explicit Pages(int listener) : listener_(listener) { watch(listener); }

  [[noreturn]] void serve() {
    std::array<epoll_event, 256> ready;
    while (true) {
      const int count = epoll_wait(events_, ready.data(), ready.size(), -1);
      for (int i = 0; i < count; ++i) {
        const int socket = ready[static_cast<std::size_t>(i)].data.fd;
        if (socket == listener_)
          accept_waiting();
        else if (!go_on(talks_.at(socket)))
          end(socket);
      }
    }
  }

 private:
  struct Talk {
    std::unique_ptr<SSL, decltype(&SSL_free)> tls{nullptr, SSL_free};
    bool answered = false;
  };

  void watch(int socket) const {
    epoll_event event{.events = EPOLLIN, .data = {.fd = socket}};
    epoll_ctl(events_, EPOLL_CTL_ADD, socket, &event);
  }

  void accept_waiting() {
    for (int client; (client = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK)) >= 0; watch(client)) {
      const int on = 1;
      setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      SSL* tls = SSL_new(context_);
      talks_[client].tls.reset(tls);
      SSL_set_fd(tls, client);
      SSL_set_accept_state(tls);
    }
  }

  void end(int socket) {
    talks_.erase(socket);
    close(socket);
  }

  /// Whether it is not over yet.
  static bool go_on(Talk& talk) {
    SSL* tls = talk.tls.get();
    std::array<char, 1024> request;
    const int length = SSL_read(tls, request.data(), request.size());  // the handshake first
    if (length <= 0) return SSL_get_error(tls, length) == SSL_ERROR_WANT_READ;
    if (std::exchange(talk.answered, true)) return true;
    SSL_write(tls, kPage.data(), static_cast<int>(kPage.size()));
    SSL_shutdown(tls);
    return true;  // until the client has said goodbye
  }

  int listener_;
  int events_ = epoll_create1(0);
  SSL_CTX* context_ = server_context();
  std::unordered_map<int, Talk> talks_;
};

}  // namespace

ProbeServer::ProbeServer(Speaks speaks) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t length = sizeof any;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&any), length) != 0 || listen(listener_, kBacklog) != 0)
    return;
  getsockname(listener_, reinterpret_cast<sockaddr*>(&any), &length);
  port_ = ntohs(any.sin_port);
  process_ = fork();
  if (process_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_IGN);
  if (speaks == Speaks::https) Pages(listener_).serve();
  accept_all(listener_);
}

ProbeServer::~ProbeServer() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  if (listener_ >= 0) close(listener_);
}

}  // namespace headgate::bench
