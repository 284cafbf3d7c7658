# SPDX-License-Identifier: Apache-2.0
# Installs what Headgate's commands need (Debian 12), without starting a single service. Sourced by `run`.

PACKAGES="meson ninja-build pkg-config g++ ccache clang-14 libclang-rt-14-dev clang-format-14 clang-tidy-14
  libdpdk-dev dpdk dpdk-dev librte-net-af-xdp23 librte-net-tap23 librte-net-pcap23 librte-net-ring23 librte-net-virtio23
  librte-net-null23 libbpf-dev libxdp-dev protobuf-compiler libprotobuf-dev libgtest-dev libgmock-dev
  libbenchmark-dev libboost1.81-dev libssl-dev libmnl-dev libnftables-dev libedit-dev libfmt-dev
  nginx-light apache2-bin vsftpd haproxy dovecot-imapd dovecot-pop3d postfix bind9 snmpd freeradius tftpd-hpa chrony kamailio slapd
  389-ds-base redis-server wrk iproute2 iputils-ping nftables ethtool tcpdump python3 curl openssl procps util-linux systemd"

# inn2 refuses to be configured on a machine without a domain: what the tests use of it is unpacked beside, with its libraries.
PACKAGES="$PACKAGES libcanlock3 libdb5.3 libperl5.36 libpython3.11"
UNPACKED="inn2 inn2-inews"
UNPACKED_HOME=/usr/local/lib/headgate-tests/inn2

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

# Fetches and unpacks what is not installed; whole or not at all.
unpack_packages() {
  [ -d "$UNPACKED_HOME" ] && return 0
  local folder status=0
  mkdir -p "$(dirname "$UNPACKED_HOME")" || return 1
  folder=$(mktemp -d -p "$(dirname "$UNPACKED_HOME")") && chmod 755 "$folder" || return 1  # beside: it is moved in one step
  (
    cd "$folder" || exit 1
    apt-get -qq download $UNPACKED || { apt_quietly update && apt-get -qq download $UNPACKED; } || exit 1
    for package in *.deb; do dpkg-deb -x "$package" whole || exit 1; done
    mv whole "$UNPACKED_HOME"
  ) >"$folder/log" 2>&1 || status=$?
  [ "$status" -eq 0 ] || grep -E '^(E|W):|dpkg' "$folder/log" | tail -n 5
  rm -rf "$folder"
  [ "$status" -eq 0 ] || { echo "run failed: could not unpack $UNPACKED"; return 1; }
}

# Runs "$@" to its end even when this shell is interrupted: half an installation would be worse than a late answer.
# Returns its status, or 130 when an interrupt came meanwhile.
uninterrupted() {
  local interrupted="" child status
  trap 'interrupted=yes; echo "interrupted: the installation is finished first"' INT TERM HUP
  ( trap '' INT TERM HUP; "$@" ) &
  child=$!
  while :; do
    wait "$child"
    status=$?
    kill -0 "$child" 2>/dev/null || break
  done
  trap - INT TERM HUP
  [ -z "$interrupted" ] || return 130
  return "$status"
}

install_without_starts() {
  forbid_service_starts
  local status=0
  { dpkg --configure -a && apt_quietly update && apt_quietly install "$@"; } || status=$?
  restore_service_starts
  return "$status"
}

# Does nothing, quickly, when all is there.
install_packages() {
  restore_service_starts  # in case that an earlier run was killed
  local missing log status=0
  missing=$(missing_packages)
  [ -z "$missing" ] && { unpack_packages; return; }
  echo "installing $(echo "$missing" | wc -w) packages, which can take a few minutes:" $missing
  log=$(mktemp)
  uninterrupted install_without_starts $missing >"$log" 2>&1 || status=$?
  [ "$status" -eq 0 ] || grep -E '^(E|W):|^interrupted' "$log" | tail -n 5
  rm -f "$log"
  [ "$status" -ne 130 ] || { echo "run failed: interrupted during the installation of packages"; return 1; }
  [ "$status" -eq 0 ] || { echo "run failed: packages could not be installed (status $status)"; return 1; }
  missing=$(missing_packages)
  [ -z "$missing" ] || { echo "run failed: still missing after the installation:" $missing; return 1; }
  unpack_packages
}
