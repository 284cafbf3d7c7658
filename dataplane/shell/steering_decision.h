/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#pragma once

/*
 * Which frames are the switch's and which are the kernel's: one decision, compiled into the XDP program for
 * ports driven through AF_XDP and into the worker for all others, so that both agree by construction.
 *
 * The includer says first how the tables are read, with functions or macros of these meanings (addresses and
 * ports as on the wire):
 *   STEER_IS_VIP(tables, address)                        a virtual server's address
 *   STEER_IS_SERVICE(tables, address, port, protocol)    a real service; port 0: any of that real server
 *   STEER_IS_LOCAL(tables, address)                      an address of this box, no VIP
 */

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/types.h>

enum steer_verdict {
  STEER_KERNEL, /* ARP, ND, ICMP echo, and everything else that is not switched */
  STEER_SWITCH, /* TCP and UDP for a VIP, replies of real services, fragments and ICMP errors of those */
};

/* An IP header behind an Ethernet header is aligned to two bytes only. */
typedef struct iphdr steer_ip __attribute__((aligned(2)));

/* The first four bytes of TCP and of UDP. */
struct steer_ports {
  __be16 source;
  __be16 destination;
};

#define STEER_BE16(x) ((__be16)__builtin_bswap16(x))
#define STEER_OFFSET_MASK STEER_BE16(0x1fff)

static inline __attribute__((always_inline)) int steer_transport(__u8 protocol) {
  return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;
}

/* The ICMP types that carry the header of a packet they complain about. */
static inline __attribute__((always_inline)) int steer_is_error(__u8 type) {
  return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

/*
 * An ICMP error belongs to the switch when the packet it complains about was sent by it: to a client from a
 * VIP, or to a real service. Errors about this box's own probes are the kernel's: their destination is local.
 */
static inline __attribute__((always_inline)) enum steer_verdict steer_icmp(const void* icmp, const void* end,
                                                                           const void* tables,
                                                                           __be32 destination) {
  const steer_ip* inner = (const steer_ip*)((const __u8*)icmp + 8);
  if ((const void*)(inner + 1) > end || !steer_is_error(*(const __u8*)icmp)) return STEER_KERNEL;
  if (inner->version != 4 || inner->ihl < 5 || !steer_transport(inner->protocol)) return STEER_KERNEL;
  if (STEER_IS_VIP(tables, inner->saddr)) return STEER_SWITCH;

  const struct steer_ports* ports = (const struct steer_ports*)((const __u8*)inner + inner->ihl * 4);
  if ((const void*)(ports + 1) > end) return STEER_KERNEL;
  const __be16 port = (inner->frag_off & STEER_OFFSET_MASK) ? 0 : ports->destination;
  if (!STEER_IS_SERVICE(tables, inner->daddr, port, inner->protocol)) return STEER_KERNEL;
  return STEER_IS_LOCAL(tables, destination) ? STEER_KERNEL : STEER_SWITCH;
}

/* A frame from its Ethernet header on, of which the bytes up to `end` may be read. */
static inline __attribute__((always_inline)) enum steer_verdict steer(const void* frame, const void* end,
                                                                      const void* tables) {
  const struct ethhdr* ether = (const struct ethhdr*)frame;
  const steer_ip* ip = (const steer_ip*)(ether + 1);
  if ((const void*)(ip + 1) > end || ether->h_proto != STEER_BE16(ETH_P_IP)) return STEER_KERNEL;
  if (ip->version != 4 || ip->ihl < 5) return STEER_KERNEL;

  const void* payload = (const __u8*)ip + ip->ihl * 4;
  const int later_fragment = (ip->frag_off & STEER_OFFSET_MASK) != 0;
  if (ip->protocol == IPPROTO_ICMP) {
    return later_fragment ? STEER_KERNEL : steer_icmp(payload, end, tables, ip->daddr);
  }
  if (!steer_transport(ip->protocol)) return STEER_KERNEL;
  if (STEER_IS_VIP(tables, ip->daddr)) return STEER_SWITCH;

  const struct steer_ports* ports = (const struct steer_ports*)payload;
  if (!later_fragment && (const void*)(ports + 1) > end) return STEER_KERNEL;
  const __be16 port = later_fragment ? 0 : ports->source;
  if (!STEER_IS_SERVICE(tables, ip->saddr, port, ip->protocol)) return STEER_KERNEL;
  return STEER_IS_LOCAL(tables, ip->daddr) ? STEER_KERNEL : STEER_SWITCH;
}
