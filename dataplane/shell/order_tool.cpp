// SPDX-License-Identifier: Apache-2.0
//
// Gives orders to a dataplane by hand, for tests: "orders SOCKET FILE..." sends each file, an Order in
// protobuf's text format, and prints the reports that answer it. Installed nowhere.
#include <google/protobuf/text_format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "model/forwarding.pb.h"
#include "model/frame.h"

namespace {

using headgate::forwarding::Order;
using headgate::forwarding::Report;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(EXIT_FAILURE);
}

int connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) die("path too long");
  path.copy(address.sun_path, path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    die("no dataplane at " + path);
  return fd;
}

Order read_order(const char* file) {
  std::ifstream stream(file);
  if (!stream) die(std::string("can't read ") + file);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  Order order;
  if (!google::protobuf::TextFormat::ParseFromString(text, &order)) die(std::string("no order: ") + file);
  return order;
}

Report next_report(int fd, headgate::FrameReader& reader) {
  for (;;) {
    auto body = reader.next();
    if (!body) die(body.error().message);
    if (body->has_value()) {
      Report report;
      if (!report.ParseFromString(**body)) die("no report");
      return report;
    }
    char buffer[65536];
    const ssize_t received = recv(fd, buffer, sizeof buffer, 0);
    if (received <= 0) die("the dataplane hung up");
    reader.append({buffer, static_cast<std::size_t>(received)});
  }
}

/// Sends an order, prints its reports; false when it was refused.
bool give(int fd, headgate::FrameReader& reader, const Order& order) {
  const std::string bytes = headgate::frame(order);
  if (send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) die("send");
  for (;;) {
    const Report report = next_report(fd, reader);
    if (report.id() != order.id()) continue;  // of its own accord
    std::printf("%s", report.DebugString().c_str());
    if (!report.has_sessions() || !report.sessions().more()) return report.error().empty();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) die("usage: orders SOCKET FILE...");
  const int fd = connect_to(argv[1]);
  headgate::FrameReader reader;
  bool good = true;
  for (int i = 2; i < argc; ++i) {
    Order order = read_order(argv[i]);
    order.set_id(static_cast<std::uint64_t>(i));
    good &= give(fd, reader, order);
  }
  close(fd);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
