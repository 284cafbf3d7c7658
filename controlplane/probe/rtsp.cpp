// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/rtsp.h"

#include <fmt/format.h>

#include "controlplane/probe/http_reply.h"

namespace headgate::probe {
namespace {

constexpr L4Port kRtsp = 554;

std::string url(const RtspAsk& ask) {
  const std::string literal =
      ask.address.is_v4() ? ask.address.text() : fmt::format("[{}]", ask.address.text());
  const std::string port = ask.port == kRtsp ? "" : fmt::format(":{}", ask.port);
  return fmt::format("rtsp://{}{}{}", ask.host.empty() ? literal : ask.host, port, ask.path);
}

}  // namespace

std::unique_ptr<Conversation> rtsp(const RtspAsk& ask) {
  constexpr const char* kRequest = "{} {} RTSP/1.0\r\nCSeq: 1\r\nUser-Agent: headgate\r\n{}\r\n";
  const std::string request =
      ask.path.empty() ? fmt::format(kRequest, "OPTIONS", url(ask), "")
                       : fmt::format(kRequest, "DESCRIBE", url(ask), "Accept: application/sdp\r\n");
  return http_exchange(request, {.statuses = ask.statuses, .version = "RTSP/1."});
}

}  // namespace headgate::probe
