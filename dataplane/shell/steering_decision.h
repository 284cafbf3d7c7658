/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#pragma once

/*
 * Which frames are the switch's and which are the kernel's: one decision, compiled into the XDP program for
 * ports driven through AF_XDP and into the worker for all others, so that both agree by construction.
 *
 * The includer says first how the tables are read, with functions or macros of these meanings (addresses are
 * pointers to struct steering_address, ports as on the wire):
 *   STEER_IS_VIP(tables, address)                        a virtual server's address
 *   STEER_IS_SERVICE(tables, address, port, protocol)    a real service; port 0: any of that real server
 *   STEER_IS_LOCAL(tables, address)                      an address of this box, no VIP
 */

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/types.h>

#include "steering_maps.h"

enum steer_verdict {
  STEER_KERNEL, /* ARP, ND, ICMP echo, and everything else that is not switched */
  STEER_SWITCH, /* TCP and UDP for a VIP, replies of real services, fragments and ICMP errors of those */
};

/* An IP header behind an Ethernet header is aligned to two bytes only. */
typedef struct iphdr steer_ip __attribute__((aligned(2)));
typedef struct ipv6hdr steer_ip6 __attribute__((aligned(2)));

/* The first four bytes of TCP and of UDP. */
struct steer_ports {
  __be16 source;
  __be16 destination;
};

/* What the IP headers of a packet say. */
struct steer_packet {
  struct steering_address source;
  struct steering_address destination;
  const __u8* payload;
  __u8 protocol;
  __u8 later; /* a fragment after the first: its payload is the middle of something */
  __u8 deep;  /* behind more extension headers than are looked at: the protocol is not known */
};

#define STEER_BE16(x) ((__be16)__builtin_bswap16(x))
#define STEER_BE32(x) ((__be32)__builtin_bswap32(x))
#define STEER_OFFSET_MASK STEER_BE16(0x1fff)
#define STEER_OFFSET_MASK6 STEER_BE16(0xfff8)
#define STEER_ICMP6 58

/* IPv6 extension headers (IANA) that may stand before the payload. Followed are as many as the core follows.
 */
#define STEER_HOP_BY_HOP 0
#define STEER_ROUTING 43
#define STEER_FRAGMENT 44
#define STEER_DESTINATION_OPTIONS 60
#define STEER_MOST_EXTENSIONS 8

static inline __attribute__((always_inline)) int steer_transport(__u8 protocol) {
  return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;
}

static inline __attribute__((always_inline)) int steer_extension(__u8 next) {
  return next == STEER_HOP_BY_HOP || next == STEER_ROUTING || next == STEER_FRAGMENT ||
         next == STEER_DESTINATION_OPTIONS;
}

static inline __attribute__((always_inline)) void steer_map(struct steering_address* to, __be32 from) {
  to->words[0] = 0;
  to->words[1] = 0;
  to->words[2] = STEER_BE32(0xffff);
  to->words[3] = from;
}

/* Fills `packet` from an IPv4 header; 0 when there is none that can be read. */
static inline __attribute__((always_inline)) int steer_read_ipv4(const void* header, const void* end,
                                                                 struct steer_packet* packet) {
  const steer_ip* ip = (const steer_ip*)header;
  if ((const void*)(ip + 1) > end || ip->version != 4 || ip->ihl < 5) return 0;
  steer_map(&packet->source, ip->saddr);
  steer_map(&packet->destination, ip->daddr);
  packet->payload = (const __u8*)header + ip->ihl * 4;
  packet->protocol = ip->protocol;
  packet->later = (ip->frag_off & STEER_OFFSET_MASK) != 0;
  packet->deep = 0;
  return 1;
}

/* Goes over extension headers, up to the payload, to the middle of a fragment, or to one too many. */
static inline __attribute__((always_inline)) int steer_skip_extensions(const void* end,
                                                                       struct steer_packet* packet) {
  for (int i = 0; i < STEER_MOST_EXTENSIONS; ++i) {
    const __u8* at = packet->payload;
    const __u8 kind = packet->protocol;
    if (!steer_extension(kind) || packet->later) return 1;
    if ((const void*)(at + 8) > end) return 0;
    packet->protocol = at[0];
    packet->payload = at + (kind == STEER_FRAGMENT ? 8 : (at[1] + 1) * 8);
    if (kind == STEER_FRAGMENT) packet->later = (*(const __be16*)(at + 2) & STEER_OFFSET_MASK6) != 0;
  }
  packet->deep = steer_extension(packet->protocol);
  return 1;
}

static inline __attribute__((always_inline)) int steer_read_ipv6(const void* header, const void* end,
                                                                 struct steer_packet* packet) {
  const steer_ip6* ip = (const steer_ip6*)header;
  if ((const void*)(ip + 1) > end || ip->version != 6) return 0;
  __builtin_memcpy(&packet->source, &ip->saddr, sizeof packet->source);
  __builtin_memcpy(&packet->destination, &ip->daddr, sizeof packet->destination);
  packet->payload = (const __u8*)(ip + 1);
  packet->protocol = ip->nexthdr;
  packet->later = 0;
  packet->deep = 0;
  return steer_skip_extensions(end, packet);
}

/* A frame from its Ethernet header on. */
static inline __attribute__((always_inline)) int steer_read(const void* frame, const void* end,
                                                            struct steer_packet* packet) {
  const struct ethhdr* ether = (const struct ethhdr*)frame;
  if ((const void*)(ether + 1) > end) return 0;
  if (ether->h_proto == STEER_BE16(ETH_P_IP)) return steer_read_ipv4(ether + 1, end, packet);
  if (ether->h_proto == STEER_BE16(ETH_P_IPV6)) return steer_read_ipv6(ether + 1, end, packet);
  return 0;
}

/* The types that carry the header of a packet they complain about. */
static inline __attribute__((always_inline)) int steer_is_error(__u8 protocol, __u8 type) {
  if (protocol == STEER_ICMP6) return type >= 1 && type <= 4;
  return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

/*
 * An ICMP error belongs to the switch when the packet it complains about was sent by it: to a client from a
 * VIP, or to a real service. Errors about this box's own probes are the kernel's: their destination is local.
 */
static inline __attribute__((always_inline)) enum steer_verdict steer_icmp(const struct steer_packet* error,
                                                                           const void* end,
                                                                           const void* tables) {
  const __u8* icmp = error->payload;
  struct steer_packet inner;
  if ((const void*)(icmp + 8) > end || !steer_is_error(error->protocol, icmp[0])) return STEER_KERNEL;
  const int read = error->protocol == STEER_ICMP6 ? steer_read_ipv6(icmp + 8, end, &inner)
                                                  : steer_read_ipv4(icmp + 8, end, &inner);
  if (!read || !steer_transport(inner.protocol)) return STEER_KERNEL;
  if (STEER_IS_VIP(tables, &inner.source)) return STEER_SWITCH;

  const struct steer_ports* ports = (const struct steer_ports*)inner.payload;
  if (!inner.later && (const void*)(ports + 1) > end) return STEER_KERNEL;
  const __be16 port = inner.later ? 0 : ports->destination;
  if (!STEER_IS_SERVICE(tables, &inner.destination, port, inner.protocol)) return STEER_KERNEL;
  return STEER_IS_LOCAL(tables, &error->destination) ? STEER_KERNEL : STEER_SWITCH;
}

/* Whether the switch may want what is for a VIP. What it can't read to the end is its to drop and to count.
 */
static inline __attribute__((always_inline)) int steer_wanted(const struct steer_packet* packet) {
  const int unknown = packet->deep || (packet->later && steer_extension(packet->protocol));
  return unknown || steer_transport(packet->protocol);
}

/* A frame from its Ethernet header on, of which the bytes up to `end` may be read. */
static inline __attribute__((always_inline)) enum steer_verdict steer(const void* frame, const void* end,
                                                                      const void* tables) {
  struct steer_packet packet;
  if (!steer_read(frame, end, &packet)) return STEER_KERNEL;
  const int icmp = packet.protocol == IPPROTO_ICMP || packet.protocol == STEER_ICMP6;
  if (icmp) return packet.later ? STEER_KERNEL : steer_icmp(&packet, end, tables);
  if (!steer_wanted(&packet)) return STEER_KERNEL;
  if (STEER_IS_VIP(tables, &packet.destination)) return STEER_SWITCH;
  if (!steer_transport(packet.protocol)) return STEER_KERNEL;

  const struct steer_ports* ports = (const struct steer_ports*)packet.payload;
  if (!packet.later && (const void*)(ports + 1) > end) return STEER_KERNEL;
  const __be16 port = packet.later ? 0 : ports->source;
  if (!STEER_IS_SERVICE(tables, &packet.source, port, packet.protocol)) return STEER_KERNEL;
  return STEER_IS_LOCAL(tables, &packet.destination) ? STEER_KERNEL : STEER_SWITCH;
}
