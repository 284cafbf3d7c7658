// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "controlplane/probe/check.h"

// Which check a service really gets. Pure. Reference 4.2.
namespace headgate::probe {

/// The settings that decide about the check of one service.
struct Wish {
  Kind health = Kind::tcp;
  std::string content;  ///< of the group, or of the check that it names
  std::string hname;    ///< of the service
  std::string dname;    ///< of the virtual server
  L4Port vport = 0;
  bool udp = false;                  ///< the service is one over UDP
  bool allow_http_anywhere = false;  ///< /cfg/slb/adv/allowhc
  bool named = false;  ///< a check with settings of its own: made for this service, whatever its port
  Check settings =
      {};  ///< the other settings of such a check; kind, host, path, user, password come from above
};

/// The check that is really done. One that does not fit the service falls back to what its protocol has: tcp,
/// or icmp for a service over UDP. It does not fit when it is over the other protocol, and names no port of
/// its own; when it lacks what it asks for; http, httphead and https on another virtual port than theirs
/// without `allowhc`, unless the check is named. Named ones ask for "/" where they have no content.
///
/// The host of HTTP, RTSP and of SNI is hname.dname (either alone when the other is empty); a content of the
/// form //host/path overrides that of HTTP. Of a login the content is user:password.
[[nodiscard]] Check resolve(const Wish& wish);

}  // namespace headgate::probe
