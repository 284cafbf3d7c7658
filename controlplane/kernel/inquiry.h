// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "model/ip.h"

// Questions to the kernel that probes have, each answered at once.
namespace headgate::kernel {

/// How packets to an address leave this machine.
struct Way {
  int error = 0;      ///< errno: there is none
  int interface = 0;  ///< index
  Ip source;
  bool connected = false;  ///< the address is on the interface's own network, and none of this machine
};

/// An interface.
struct Interface {
  int error = 0;          ///< errno: it can't be asked, ENODEV when there is none of that name
  bool running = false;   ///< up, and its link is
  bool resolves = false;  ///< it asks for the addresses of its neighbours
  Mac mac;
};

class Inquiry {
 public:
  Inquiry();
  ~Inquiry();
  [[nodiscard]] Way way_to(const Ip& address);
  [[nodiscard]] Interface interface_of(const std::string& name);
  [[nodiscard]] Interface interface_of(int index);

 private:
  class Talk;
  std::unique_ptr<Talk> talk_;
};

}  // namespace headgate::kernel
