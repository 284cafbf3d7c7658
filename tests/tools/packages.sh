# SPDX-License-Identifier: Apache-2.0
# Installs what Headgate's commands need (Debian 12), without starting a single service. Sourced by `run`.

PACKAGES="meson ninja-build pkg-config g++ ccache clang-14 libclang-rt-14-dev clang-format-14 clang-tidy-14
  libdpdk-dev dpdk dpdk-dev librte-net-af-xdp23 librte-net-tap23 librte-net-pcap23 librte-net-ring23 librte-net-virtio23
  librte-net-null23 libbpf-dev libxdp-dev protobuf-compiler libprotobuf-dev libgtest-dev libgmock-dev
  libbenchmark-dev libboost1.81-dev libssl-dev libmnl-dev libnftables-dev libedit-dev libfmt-dev
  nginx-light vsftpd haproxy wrk iproute2 iputils-ping nftables ethtool tcpdump python3 curl procps util-linux systemd"

POLICY=/usr/sbin/policy-rc.d
POLICY_KEPT=/usr/sbin/policy-rc.d.before-headgate

missing_packages() {
  local name
  for name in $PACKAGES; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || echo "$name"
  done
}

# Debian starts a service when its package is installed, unless this script answers 101.
forbid_service_starts() {
  trap restore_service_starts EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  if [ -e "$POLICY" ] && [ ! -e "$POLICY_KEPT" ]; then mv "$POLICY" "$POLICY_KEPT"; fi
  printf '#!/bin/sh\n# Written by Headgate for the time of an installation.\nexit 101\n' >"$POLICY"
  chmod 755 "$POLICY"
}

restore_service_starts() {
  if grep -qs 'Written by Headgate' "$POLICY"; then rm -f "$POLICY"; fi
  if [ -e "$POLICY_KEPT" ]; then mv -f "$POLICY_KEPT" "$POLICY"; fi
}

apt_quietly() {
  DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l apt-get -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
    -qq -y --no-install-recommends "$@" </dev/null
}

# Does nothing, quickly, when all is there.
install_packages() {
  restore_service_starts  # in case that an earlier run was killed
  local missing log status=0
  missing=$(missing_packages)
  [ -z "$missing" ] && return 0
  echo "installing $(echo "$missing" | wc -w) packages, which can take a few minutes:" $missing
  log=$(mktemp)
  (
    forbid_service_starts
    apt_quietly update && apt_quietly install $missing
  ) >"$log" 2>&1 || status=$?
  if [ "$status" -ne 0 ]; then
    grep -E '^(E|W):' "$log" | tail -n 5
    rm -f "$log"
    echo "run failed: packages could not be installed (apt-get status $status)"
    return 1
  fi
  rm -f "$log"
  missing=$(missing_packages)
  [ -z "$missing" ] || { echo "run failed: still missing after the installation:" $missing; return 1; }
}
