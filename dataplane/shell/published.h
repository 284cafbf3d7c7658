// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_rcu_qsbr.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>

namespace headgate::shell {

/// A value that workers read and one publisher replaces whole; the value before is freed when no worker can
/// see it any more. Workers report between bursts that they hold nothing (DPDK's quiescent state RCU).
template <class T>
class Published {
 public:
  Published(unsigned workers, std::unique_ptr<const T> first) : current_(first.release()) {
    const std::size_t size = rte_rcu_qsbr_get_memsize(workers);
    rcu_.reset(static_cast<rte_rcu_qsbr*>(std::aligned_alloc(RTE_CACHE_LINE_SIZE, size)));
    if (!rcu_ || rte_rcu_qsbr_init(rcu_.get(), workers) != 0) throw std::bad_alloc();
    for (unsigned worker = 0; worker < workers; ++worker) {
      static_cast<void>(rte_rcu_qsbr_thread_register(rcu_.get(), worker));
    }
  }
  ~Published() { delete current_.load(); }
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  /// Worker, before its first enter() and after leave().
  void join(unsigned worker) noexcept { rte_rcu_qsbr_thread_online(rcu_.get(), worker); }
  /// Worker: holds nothing, and will not look until it joins again; nobody waits for it.
  void leave(unsigned worker) noexcept { rte_rcu_qsbr_thread_offline(rcu_.get(), worker); }
  /// Worker, between bursts: holds nothing from before. The result is good until its next call.
  [[nodiscard]] const T& enter(unsigned worker) noexcept {
    rte_rcu_qsbr_quiescent(rcu_.get(), worker);
    return *current_.load(std::memory_order_acquire);
  }

  /// Publisher. Returns after no worker can see the value before.
  void publish(std::unique_ptr<const T> next) {
    const std::unique_ptr<const T> old(current_.exchange(next.release(), std::memory_order_acq_rel));
    wait();
  }
  /// Publisher: returns after each worker has passed a point between two bursts.
  void wait() {
    const std::uint64_t token = rte_rcu_qsbr_start(rcu_.get());
    while (rte_rcu_qsbr_check(rcu_.get(), token, false) == 0) std::this_thread::yield();
  }
  /// Publisher: the latest value.
  [[nodiscard]] const T& latest() const noexcept { return *current_.load(std::memory_order_acquire); }

 private:
  struct Free {
    void operator()(rte_rcu_qsbr* rcu) const noexcept { std::free(rcu); }
  };
  std::unique_ptr<rte_rcu_qsbr, Free> rcu_;
  std::atomic<const T*> current_;
};

}  // namespace headgate::shell
