// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/validate_remedies.h"

#include <fmt/format.h>

#include "controlplane/action/way.h"
#include "controlplane/probe/app.h"
#include "controlplane/probe/status_set.h"

namespace headgate::config {
namespace {

void check_action(const char* word, const std::string& text, const Wrong& wrong) {
  if (text.empty()) return;
  if (const auto way = action::read_way(text); !way) wrong(fmt::format("{}: {}", word, way.error().message));
}

void check_window(const HealthCheck& check, const Wrong& wrong) {
  if (check.window() != 0 && check.window() <= check.inter())
    wrong(fmt::format("window {} is not longer than inter {}: no two checks would be within it",
                      check.window(), check.inter()));
  if (check.retry() == 0) return;
  if (check.type() == HEALTH_APP)
    wrong("app has no use for retry: its failures count within window");
  else if (check.window() != 0)
    wrong(fmt::format("retry {} has no effect with window {}; remove one of them", check.retry(),
                      check.window()));
}

}  // namespace

void check_pages(const std::string& content, const Wrong& wrong) {
  if (const auto pages = probe::read_app_pages(content); !pages) wrong("content: " + pages.error().message);
}

void check_app(const HealthCheck& check, const Wrong& wrong) {
  if (check.ports().empty() && check.content().empty())
    wrong("app needs ports that it connects to, or content, the pages that it fetches, or both");
  if (const auto ports = probe::read_app_ports(check.ports()); !ports)
    wrong("ports: " + ports.error().message);
  if (check.failnow().empty()) return;
  if (const auto statuses = probe::StatusSet::parse(check.failnow()); !statuses)
    wrong("failnow: " + statuses.error().message);
  if (check.failover().empty()) wrong("failnow has no effect without failover");
}

void check_remedies(const HealthCheck& check, const Wrong& wrong) {
  check_window(check, wrong);
  check_action("restart", check.restart(), wrong);
  check_action("failover", check.failover(), wrong);
  if (check.has_rcount() && check.restart().empty()) wrong("rcount has no effect without restart");
}

}  // namespace headgate::config
