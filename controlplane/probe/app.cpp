// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/app.h"

#include <charconv>

#include <fmt/format.h>

namespace headgate::probe {
namespace {

constexpr unsigned kInternalError = 500;

std::vector<std::string_view> entries_of(std::string_view list) {
  std::vector<std::string_view> entries;
  for (;;) {
    const auto first = list.find_first_not_of(" \t");
    if (first == std::string_view::npos) return entries;
    list.remove_prefix(first);
    const auto size = std::min(list.find_first_of(" \t"), list.size());
    entries.push_back(list.substr(0, size));
    list.remove_prefix(size);
  }
}

std::optional<L4Port> port_of(std::string_view text) {
  L4Port port = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || stop != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

/// The address in front of a port, in brackets when it is one of IPv6.
std::optional<Ip> address_of(std::string_view text) {
  const bool bracketed = text.size() > 2 && text.starts_with('[') && text.ends_with(']');
  const auto address = Ip::parse(bracketed ? text.substr(1, text.size() - 2) : text);
  if (!address || address->none() || address->is_v4() == bracketed) return std::nullopt;
  return address;
}

std::optional<AppPort> read_port(std::string_view entry) {
  const auto colon = entry.rfind(':');
  const auto port = port_of(entry.substr(colon == std::string_view::npos ? 0 : colon + 1));
  if (!port) return std::nullopt;
  if (colon == std::string_view::npos) return AppPort{.port = *port};
  const auto address = address_of(entry.substr(0, colon));
  return address ? std::optional(AppPort{*address, *port}) : std::nullopt;
}

/// The host that a page names for itself; empty: none.
std::string_view own_host(std::string_view page) {
  if (!page.starts_with("//")) return {};
  return page.substr(2, page.find('/', 2) - 2);
}

/// Whether a host has a colon that is not part of an IPv6 address.
bool has_port(std::string_view host) {
  return host.find(':', host.starts_with('[') ? host.find(']') : 0) != std::string_view::npos;
}

std::string_view path_of(std::string_view page) {
  if (!page.starts_with("//")) return page;
  const auto slash = page.find('/', 2);
  return slash == std::string_view::npos ? "/" : page.substr(slash);
}

AppStep fetch_of(const Check& check, const std::string& page, const Ip& address, L4Port port) {
  const std::string literal = address.is_v4() ? address.text() : fmt::format("[{}]", address.text());
  std::string host(own_host(page));
  if (host.empty()) host = check.host.empty() ? literal : check.host;
  const Check get{.kind = Kind::http, .host = std::move(host), .path = std::string(path_of(page))};
  return {address, port, page, http_request(get, address, port)};
}

}  // namespace

headgate::Result<std::vector<AppPort>> read_app_ports(std::string_view list) {
  std::vector<AppPort> ports;
  for (const std::string_view entry : entries_of(list)) {
    const auto port = read_port(entry);
    if (!port)
      return Error{
          fmt::format("\"{}\" is no port; 1 to 65535 is allowed, alone or behind an address, as in "
                      "10.0.0.1:80 and [fd00::1]:80",
                      entry)};
    ports.push_back(*port);
  }
  return ports;
}

headgate::Result<std::vector<std::string>> read_app_pages(std::string_view list) {
  std::vector<std::string> pages;
  for (const std::string_view entry : entries_of(list)) {
    const bool names_host = entry.starts_with("//");
    if (!entry.starts_with('/') || (names_host && own_host(entry).empty()))
      return Error{fmt::format("\"{}\" is no page; /path and //host/path are allowed", entry)};
    if (names_host && has_port(own_host(entry)))
      return Error{fmt::format("\"{}\" has a port behind its host; that is for dport", entry)};
    pages.emplace_back(entry);
  }
  return pages;
}

std::vector<AppStep> app_steps(const Check& check, const Ip& address, L4Port port) {
  std::vector<AppStep> steps;
  const auto ports = read_app_ports(check.ports);
  const auto pages = read_app_pages(check.path);
  if (!ports || !pages) return steps;
  for (const AppPort& entry : *ports)
    steps.push_back({entry.address.none() ? address : entry.address, entry.port});
  for (const std::string& page : *pages)
    steps.push_back(fetch_of(check, page, address, check.port != 0 ? check.port : port));
  return steps;
}

std::string app_words(const AppStep& step, AppAct act, std::string_view cause) {
  const std::string doing = act == AppAct::connect      ? "connect"
                            : act == AppAct::disconnect ? "disconnect"
                                                        : "GET " + step.page;
  return fmt::format("{} {}: {}", endpoint_text(step.address, step.port), doing, cause);
}

AppFailure not_done_in(std::chrono::milliseconds time) {
  return {fmt::format("not done in {:.1f} s", std::chrono::duration<double>(time).count()), kHalf};
}

AppAnswer::AppAnswer(std::string_view failnow) {
  if (failnow.empty()) return;
  if (auto parsed = StatusSet::parse(failnow)) failnow_ = std::move(*parsed);
}

/// By the status alone, as soon as it is known.
std::optional<AppFailure> AppAnswer::judge_status() const {
  const auto status = reply_.status();
  if (!status) return std::nullopt;
  const bool failover = failnow_ && failnow_->has(*status);
  if (!failover && *status != kInternalError) return std::nullopt;
  return AppFailure{fmt::format("status {}", *status), health::kComplete, failover};
}

std::optional<AppFailure> AppAnswer::judge(const Outcome& outcome) const {
  if (outcome.passed) return std::nullopt;
  return AppFailure{outcome.reason, kHalf};
}

AppAnswer::End AppAnswer::hear(std::string_view bytes) {
  const auto& outcome = reply_.append(bytes);
  if (auto failure = judge_status()) return std::optional(std::move(*failure));
  if (outcome) return judge(*outcome);
  return std::nullopt;
}

std::optional<AppFailure> AppAnswer::end() {
  return judge(reply_.end());
}

}  // namespace headgate::probe
