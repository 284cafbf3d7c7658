// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "controlplane/daemon/announcements.h"
#include "controlplane/health/standby.h"

// Keeps a picture of all states, and looks again only at what may have changed, a slice at a time: verdicts
// wait for the dataplane no longer with ten thousand targets than with ten.
namespace headgate::daemon {

/// The state of one real server over all of its targets.
[[nodiscard]] health::ServerState server_state_of(const Targets& targets, std::uint32_t real);

/// Who does what for the services of a configuration, and what is to be told of it.
class Announcer {
 public:
  using ServiceKey = Picture::ServiceKey;
  enum class News : std::uint8_t { told, known_already };

  /// `monitor` has the configuration that this is told of, and outlives this.
  explicit Announcer(const Monitor& monitor) : monitor_(monitor) {}

  /// Looks at everything, at first and after each change of the configuration; `compiled` stays where it is
  /// until the next call.
  void configure(const config::Compiled& compiled, News news);

  /// The state of a target may have changed, or that of all targets of a real server.
  void changed(const TargetKey& key) { next_.targets.insert(key); }
  void changed(std::uint32_t real);
  /// The sessions of the real servers: who has as many as it may?
  void learn_sessions(const forwarding::Stats& stats);

  /// The next lines. Looks at a bounded number of what has changed and hands out a bounded number of lines:
  /// to be called again while it is busy.
  [[nodiscard]] std::vector<Announcement> look();
  [[nodiscard]] bool busy() const { return passing_ || !next_.empty() || !lines_.empty(); }

  /// Real servers that take the new sessions of each service.
  [[nodiscard]] const std::map<ServiceKey, std::set<std::uint32_t>>& taking() const { return taking_; }
  /// Why a service is closed for new sessions though servers of it are up; empty: it is not.
  [[nodiscard]] std::string why_closed(const ServiceKey& key) const;
  /// Real servers at maxcon.
  [[nodiscard]] const std::set<std::uint32_t>& full() const { return full_; }

 private:
  using Pair = Picture::Pair;

  /// A service, and what was last found out about it.
  struct Part {
    const forwarding::Service* service = nullptr;
    unsigned size = 0;  ///< of those who can take its sessions
    health::Standby standby = {};
    std::set<Pair> stepped_in_groups = {};
    std::set<Pair> stepped_in_servers = {};
    std::set<Pair> available = {};  ///< its group and each member that is not gone, if the group has realthr
  };
  using Parts = std::map<ServiceKey, Part>;

  /// What services claim, each claim once however many do.
  class Claims {
   public:
    void replace(const std::set<Pair>& old, const std::set<Pair>& fresh);
    /// What may have begun or ended since the last time: whether it was there, and whether it is.
    void settle(std::set<Pair>& before, std::set<Pair>& now);

   private:
    std::map<Pair, unsigned> count_;
    std::map<Pair, bool> touched_;  ///< whether it was there
  };

  /// What has changed, and what of it is still to be looked at.
  struct Changes {
    std::set<TargetKey> targets;
    std::set<ServiceKey> services;
    std::vector<ServiceKey> painted;
    std::set<std::uint32_t> groups;
    std::set<std::uint32_t> virts;
    std::set<std::uint32_t> filled;  ///< real servers that have come to maxcon
    [[nodiscard]] bool empty() const { return targets.empty() && filled.empty(); }
  };

  struct Seen {
    Picture before;
    Picture now;
  };

  void index(const config::Compiled& compiled);
  void index(const forwarding::Service& service);
  [[nodiscard]] health::Availability availability(const forwarding::Member& member) const;
  [[nodiscard]] Part painted(const Part& part) const;
  void replace(const Part& old, const Part& fresh);
  void repaint(const ServiceKey& key);
  unsigned look_at(const TargetKey& key, Seen& seen);
  void look_at_service(const TargetKey& key, const Watched& watched, Seen& seen);
  unsigned look_at_server(std::uint32_t real, Seen& seen);
  unsigned look_at_buddies(std::uint32_t real, Seen& seen);
  void look_at_group(std::uint32_t group, Seen& seen);
  void look_at_virt(std::uint32_t virt, Seen& seen);
  unsigned look_at_next(Seen& seen);
  void finish(Seen& seen);
  [[nodiscard]] std::vector<Announcement> settle(const Names& names, Seen seen);

  const Monitor& monitor_;
  Names names_;
  Parts parts_;
  std::map<TargetKey, std::vector<ServiceKey>> services_of_;  ///< by target
  std::map<std::uint32_t, std::vector<ServiceKey>> services_of_group_;
  std::map<TargetKey, std::set<std::uint32_t>> depending_;  ///< real servers, by their buddy
  std::unordered_map<const forwarding::Member*, Targets::const_iterator> target_of_;
  std::map<ServiceKey, std::set<std::uint32_t>> taking_;
  std::set<std::uint32_t> full_;

  Picture told_;  ///< all but what services claim
  Claims failover_, overflow_, stepped_in_groups_, stepped_in_servers_;
  std::map<std::uint32_t, std::map<std::uint32_t, unsigned>>
      available_;  ///< by group: members, and in how many of its services
  Changes pass_;
  Changes next_;  ///< since `pass_` began
  bool passing_ = false;
  std::deque<Announcement> lines_;
};

}  // namespace headgate::daemon
