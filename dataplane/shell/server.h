// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dataplane/shell/fd.h"
#include "model/forwarding.pb.h"
#include "model/frame.h"
#include "model/result.h"

namespace headgate::shell {

/// The seam's end: listens on dataplane.sock, takes orders, sends reports. Never blocks. A client that sends
/// nonsense, or does not read what it asked for, loses its connection; nobody else notices.
class Server {
 public:
  using ClientId = std::uint64_t;
  using Handler = std::function<void(ClientId, const forwarding::Order&)>;

  static constexpr std::size_t kMostClients = 32;
  static constexpr std::size_t kMostPending = std::size_t{64} << 20;  ///< bytes that wait for one client

  Server(std::string path, Handler handler) : path_(std::move(path)), handler_(std::move(handler)) {}
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Takes over a socket that a dead process left; an error when a living one listens there.
  [[nodiscard]] Status listen();
  /// Adds what is to be polled.
  void add_to(std::vector<pollfd>& fds) const;
  /// Handles what poll() found; calls the handler for each whole order.
  void handle(const std::vector<pollfd>& fds);

  void send(ClientId client, const forwarding::Report& report);
  void broadcast(const forwarding::Report& report);
  [[nodiscard]] bool connected(ClientId client) const { return clients_.contains(client); }
  [[nodiscard]] bool anyone() const noexcept { return !clients_.empty(); }
  /// Bytes that wait to be read by the client.
  [[nodiscard]] std::size_t pending(ClientId client) const;

 private:
  struct Client {
    Fd fd;
    FrameReader reader;
    std::string out;
    bool broken = false;
  };
  void accept_all();
  void receive(ClientId id, Client& client);
  void take_orders(ClientId id, Client& client);
  static void flush(Client& client);

  std::string path_;
  Handler handler_;
  Fd listener_;
  std::map<ClientId, Client> clients_;
  ClientId next_ = 1;
};

}  // namespace headgate::shell
