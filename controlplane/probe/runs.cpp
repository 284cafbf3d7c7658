// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/runs.h"

#include <exception>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "controlplane/probe/app_run.h"
#include "controlplane/probe/connection.h"
#include "controlplane/probe/exchange.h"
#include "controlplane/probe/expression.h"

namespace headgate::probe {
namespace {

/// An echo request and its reply.
class Echo final : public Run {
 public:
  Echo(IcmpProber& prober, TargetId id, const Ip& address, Prober::OnResult on_result)
      : prober_(prober), id_(id) {
    prober_.start(id, address, std::move(on_result));
  }
  ~Echo() override { prober_.cancel(id_); }

 private:
  IcmpProber& prober_;
  TargetId id_;
};

/// The question for a neighbour's address, and its answer.
class Solicitation final : public Run {
 public:
  Solicitation(Neighbours& neighbours, const Ip& address, Prober::OnResult on_result)
      : neighbours_(neighbours), id_(neighbours.start(address, std::move(on_result))) {}
  ~Solicitation() override { neighbours_.cancel(id_); }

 private:
  Neighbours& neighbours_;
  Neighbours::Id id_;
};

/// A result that is known at once, and told when begin() is over.
class Look final : public Run {
 public:
  Look(asio::io_context& context, Result result, Prober::OnResult on_result)
      : on_result_(std::make_shared<Prober::OnResult>(std::move(on_result))) {
    asio::post(context, [told = on_result_, result = std::move(result)] {
      if (*told) std::exchange(*told, nullptr)(result);
    });
  }
  ~Look() override { *on_result_ = nullptr; }

 private:
  std::shared_ptr<Prober::OnResult> on_result_;
};

/// A connection, and nothing more.
class Knock final : public Run {
 public:
  Knock(Knocks& knocks, const Probe& probe, Prober::OnResult on_result)
      : knocks_(knocks), id_(knocks.start(probe, std::move(on_result))) {}
  ~Knock() override { knocks_.cancel(id_); }

 private:
  Knocks& knocks_;
  Knocks::Id id_;
};

/// Connections one after the other, as long as each passes.
class Sequence final : public std::enable_shared_from_this<Sequence> {
 public:
  Sequence(asio::io_context& context, const Probe& probe, std::vector<Leg> legs, Prober::OnResult on_result)
      : context_(context), probe_(probe), legs_(std::move(legs)), on_result_(std::move(on_result)) {}

  void begin() {
    asio::post(context_, [self = shared_from_this()] {
      if (self->on_result_) self->carry();
    });
  }

  void cancel() {
    on_result_ = nullptr;
    const auto attempt = attempt_.lock();
    if (attempt && !attempt->reported()) attempt->cancel();  // else it is just closing in order
  }

 private:
  void carry() {
    const Leg& leg = legs_[at_];
    Probe probe = probe_;
    probe.port = leg.port;
    auto on_result = [self = shared_from_this()](const Result& result) { self->ended(result); };
    if (leg.carrier == Carrier::datagrams)
      spawn(
          std::make_shared<Exchange>(context_, probe, Exchange::Manner{leg.any_port}, std::move(on_result)));
    else
      spawn(std::make_shared<Connection>(context_, probe, std::move(on_result)));
  }

  template <class Carried>
  void spawn(std::shared_ptr<Carried> attempt) {
    attempt_ = attempt;
    asio::co_spawn(context_, converse(attempt, std::move(legs_[at_].talk)),
                   [attempt](const std::exception_ptr& thrown) {
                     if (thrown) attempt->report({.reason = "a fault of the check itself", .unasked = true});
                   });
  }

  void ended(Result result) {
    if (!on_result_) return;
    if (result.passed && ++at_ < legs_.size()) return carry();
    if (legs_.size() > 1) {
      result.took =
          std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - started_);
      result.reason =
          result.passed ? answered_in(result.took)
                        : fmt::format("connection {}, port {}: {}", at_ + 1, legs_[at_].port, result.reason);
    }
    std::exchange(on_result_, nullptr)(result);
  }

  asio::io_context& context_;
  const Probe probe_;
  std::vector<Leg> legs_;
  std::size_t at_ = 0;
  Prober::OnResult on_result_;
  std::weak_ptr<Attempt> attempt_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

class SequenceRun final : public Run {
 public:
  explicit SequenceRun(std::shared_ptr<Sequence> sequence) : sequence_(std::move(sequence)) {
    sequence_->begin();
  }
  ~SequenceRun() override { sequence_->cancel(); }

 private:
  std::shared_ptr<Sequence> sequence_;
};

/// A check of nothing: one whose configuration is refused (config/validate_health.cpp).
class Nothing final : public Run {
 public:
  Nothing(asio::io_context& context, Prober::OnResult on_result)
      : on_result_(std::make_shared<Prober::OnResult>(std::move(on_result))) {
    asio::post(context, [weak = std::weak_ptr(on_result_)] {
      if (const auto told = weak.lock()) (*told)({.unasked = true, .reason = "there is nothing to check"});
    });
  }

 private:
  std::shared_ptr<Prober::OnResult> on_result_;
};

/// What fails passes.
class Inverted final : public Run {
 public:
  explicit Inverted(std::unique_ptr<Run> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] bool silence_passes() const override { return !inner_->silence_passes(); }
  [[nodiscard]] Result late(std::chrono::milliseconds time) const override {
    Result result = inner_->late(time);
    result.passed = !result.passed;
    return result;
  }

  [[nodiscard]] static Result of(Result result) {
    if (result.unasked) return result;
    result.reason = result.passed ? "answered, and must not" : result.reason + ", as wanted";
    result.passed = !result.passed;
    return result;
  }

 private:
  std::unique_ptr<Run> inner_;
};

/// Checks of which an expression makes one, all at once, until it is decided.
class Compound final : public Run {
 public:
  Compound(asio::io_context& context, Expression expression, Prober::OnResult on_result)
      : state_(std::make_shared<State>(context, std::move(expression), std::move(on_result))) {
    state_->known.resize(state_->expression.names().size());
    state_->results.resize(state_->known.size());
  }
  ~Compound() override {
    state_->on_result = nullptr;
    state_->parts.clear();
  }

  /// The next name of the expression is what `begin` begins.
  void add(const std::function<std::unique_ptr<Run>(Prober::OnResult)>& begin) {
    const std::size_t part = state_->parts.size();
    if (part == state_->known.size()) return;
    state_->parts.push_back(
        begin([state = state_, part](const Result& result) { state->take(part, result); }));
  }

  [[nodiscard]] bool silence_passes() const override {
    auto known = state_->known;
    for (std::size_t i = 0; i < state_->parts.size(); ++i)
      if (!known[i]) known[i] = state_->parts[i]->silence_passes();
    return state_->expression.value(known).value_or(false);
  }

 private:
  struct State : std::enable_shared_from_this<State> {
    State(asio::io_context& io, Expression what, Prober::OnResult whom)
        : context(io), expression(std::move(what)), on_result(std::move(whom)) {}

    asio::io_context& context;
    Expression expression;
    Prober::OnResult on_result;
    std::vector<std::unique_ptr<Run>> parts =
        {};  ///< hold this state: they end with the compound, or once decided
    std::vector<std::optional<bool>> known = {};
    std::vector<Result> results = {};

    void take(std::size_t part, const Result& result) {
      if (!on_result) return;
      known[part] = result.passed;
      results[part] = result;
      const auto value = expression.value(known);
      if (!value && !result.unasked) return;
      asio::post(context,
                 [self = shared_from_this()] { self->parts.clear(); });  // not within a part's own call
      std::exchange(on_result, nullptr)(result.unasked ? result : summary(*value, result));
    }

    /// What a part that has passed says of its server.
    static void add(Result& all, const Result& part) {
      all.reading = health::worse(all.reading, part.reading);
      if (!all.bears) all.bears = part.bears;
      all.measured.insert(all.measured.end(), part.measured.begin(), part.measured.end());
    }

    /// Of a failure the reasons are those of the parts that have not passed, and the worst of these counts.
    [[nodiscard]] Result summary(bool passed, const Result& last) const {
      Result all = last;
      all.passed = passed;
      all.failure = 0;
      all.failover = false;
      all.reason = passed ? answered_in(last.took) : "";
      all.reading = {};
      all.bears.reset();
      all.measured.clear();
      for (std::size_t i = 0; i < results.size(); ++i) {
        all.heard |= results[i].heard;
        if (known[i] == true) add(all, results[i]);
        if (passed || !known[i]) continue;
        all.failure = std::max(all.failure, *known[i] ? 0 : results[i].failure);
        all.failover |= !*known[i] && results[i].failover;
        all.reason +=
            fmt::format("{}{}: {}", all.reason.empty() ? "" : "; ", expression.names()[i], results[i].reason);
      }
      if (all.failure == 0) all.failure = health::kComplete;
      return all;
    }
  };

  std::shared_ptr<State> state_;
};

}  // namespace

Runs::Runs(asio::io_context& context)
    : context_(context), icmp_(context), knocks_(context), neighbours_(context) {}

std::unique_ptr<Run> Runs::begin(const Probe& probe, Prober::OnResult on_result) {
  if (!probe.check.invert) return begin_plain(probe, std::move(on_result));
  return std::make_unique<Inverted>(begin_plain(
      probe, [on_result = std::move(on_result)](const Result& result) { on_result(Inverted::of(result)); }));
}

std::unique_ptr<Run> Runs::begin_plain(const Probe& probe, Prober::OnResult on_result) {
  const Check& check = probe.check;
  if (check.kind == Kind::icmp)
    return std::make_unique<Echo>(icmp_, ++last_echo_, probe.address, std::move(on_result));
  if (check.kind == Kind::arp)
    return std::make_unique<Solicitation>(neighbours_, probe.address, std::move(on_result));
  if (check.kind == Kind::link)
    return std::make_unique<Look>(context_, links_.look(check), std::move(on_result));
  if (check.kind == Kind::tcp) {
    Probe knock = probe;
    if (check.port != 0) knock.port = check.port;
    return std::make_unique<Knock>(knocks_, knock, std::move(on_result));
  }
  if (check.kind == Kind::app) return begin_app(context_, probe, std::move(on_result));
  if (check.kind == Kind::logexp) {
    auto expression = Expression::parse(check.path);
    if (!expression) return std::make_unique<Nothing>(context_, std::move(on_result));
    auto compound = std::make_unique<Compound>(context_, std::move(*expression), std::move(on_result));
    for (const Check& part : check.parts) {
      Probe probed = probe;
      probed.check = part;
      compound->add([&](Prober::OnResult on_part) { return begin(probed, std::move(on_part)); });
    }
    return compound;
  }
  if (check.kind == Kind::udp && !check.reply) return begin_unanswered(probe, std::move(on_result));
  return begin_legs(probe, std::move(on_result));
}

/// That nobody refuses proves nothing of a host that is gone: it has to answer an echo as well.
std::unique_ptr<Run> Runs::begin_unanswered(const Probe& probe, Prober::OnResult on_result) {
  const auto told = [on_result = std::move(on_result)](Result result) {
    if (result.passed) result.reason = "not refused, and the host answers";
    on_result(result);
  };
  auto both = std::make_unique<Compound>(context_, *Expression::parse("host & port"), told);
  Probe host = probe;
  host.check = {.kind = Kind::icmp, .carrier = Carrier::none};
  both->add([&](Prober::OnResult on_part) { return begin(host, std::move(on_part)); });
  both->add([&](Prober::OnResult on_part) { return begin_legs(probe, std::move(on_part)); });
  return both;
}

std::unique_ptr<Run> Runs::begin_legs(const Probe& probe, Prober::OnResult on_result) {
  const auto salt = std::uint64_t{entropy_()} << 32 | entropy_();
  const Means means{tls_, salt, std::chrono::system_clock::now()};
  auto legs = legs_of(probe.check, probe.address, probe.port, means);
  if (legs.empty()) return std::make_unique<Nothing>(context_, std::move(on_result));
  return std::make_unique<SequenceRun>(
      std::make_shared<Sequence>(context_, probe, std::move(legs), std::move(on_result)));
}

}  // namespace headgate::probe
