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
 *   STEER_FOLLOW(tables, frame, end, walk)               steer_follow(frame, end, walk)
 * Places within a frame are offsets, which the kernel's verifier can forget; a pointer it follows on every
 * way.
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

/* How far the headers of a packet were read. */
struct steer_walk {
  __u32 payload; /* where it begins, in octets from the Ethernet header */
  __u8 protocol;
  __u8 later; /* a fragment after the first: its payload is the middle of something */
  __u8 deep;  /* behind more extension headers than are looked at: the protocol is not known */
  __u8 zero;
};

/* What the IP headers of a packet say. */
struct steer_packet {
  struct steering_address source;
  struct steering_address destination;
  struct steer_walk walk;
};

/* A frame to many is not for the switch, whatever IP says (RFC 1122, 3.3.6). */
#define STEER_GROUP 1

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

/* No frame is as long. */
#define STEER_LONGEST 16383

/* So many bytes of a frame, from an offset on; 0 when they are not there. */
static inline __attribute__((always_inline)) const void* steer_at(const void* frame, const void* end,
                                                                  __u32 offset, __u32 size) {
  const __u8* at = (const __u8*)frame + offset;
  if (offset > STEER_LONGEST || (const void*)(at + size) > end) return 0;
  return at;
}

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

/* Fills `packet` from the IPv4 header at an offset; 0 when there is none that can be read. */
static inline __attribute__((always_inline)) int steer_read_ipv4(const void* frame, const void* end, __u32 at,
                                                                 struct steer_packet* packet) {
  const steer_ip* ip = (const steer_ip*)steer_at(frame, end, at, sizeof(struct iphdr));
  if (!ip || ip->version != 4 || ip->ihl < 5) return 0;
  steer_map(&packet->source, ip->saddr);
  steer_map(&packet->destination, ip->daddr);
  packet->walk.payload = at + ip->ihl * 4;
  packet->walk.protocol = ip->protocol;
  packet->walk.later = (ip->frag_off & STEER_OFFSET_MASK) != 0;
  packet->walk.deep = 0;
  packet->walk.zero = 0;
  return 1;
}

/* Goes over extension headers, up to the payload, to the middle of a fragment, or to one too many. */
static inline __attribute__((always_inline)) int steer_follow(const void* frame, const void* end,
                                                              struct steer_walk* walk) {
  for (int i = 0; i < STEER_MOST_EXTENSIONS; ++i) {
    const __u8 kind = walk->protocol;
    if (!steer_extension(kind) || walk->later) return 1;
    const __u8* header = (const __u8*)steer_at(frame, end, walk->payload, 8);
    if (!header) return 0;
    walk->protocol = header[0];
    walk->payload += kind == STEER_FRAGMENT ? 8 : (header[1] + 1) * 8;
    if (kind == STEER_FRAGMENT) walk->later = (*(const __be16*)(header + 2) & STEER_OFFSET_MASK6) != 0;
  }
  walk->deep = steer_extension(walk->protocol);
  return 1;
}

static inline __attribute__((always_inline)) int steer_read_ipv6(const void* frame, const void* end, __u32 at,
                                                                 struct steer_packet* packet,
                                                                 const void* tables) {
  const steer_ip6* ip = (const steer_ip6*)steer_at(frame, end, at, sizeof(struct ipv6hdr));
  if (!ip || ip->version != 6) return 0;
  __builtin_memcpy(&packet->source, &ip->saddr, sizeof packet->source);
  __builtin_memcpy(&packet->destination, &ip->daddr, sizeof packet->destination);
  packet->walk.payload = at + sizeof(struct ipv6hdr);
  packet->walk.protocol = ip->nexthdr;
  packet->walk.later = 0;
  packet->walk.deep = 0;
  packet->walk.zero = 0;
  return STEER_FOLLOW(tables, frame, end, &packet->walk);
}

/* A frame from its Ethernet header on. */
static inline __attribute__((always_inline)) int steer_read(const void* frame, const void* end,
                                                            struct steer_packet* packet, const void* tables) {
  const struct ethhdr* ether = (const struct ethhdr*)frame;
  if ((const void*)(ether + 1) > end) return 0;
  if (ether->h_proto == STEER_BE16(ETH_P_IP)) return steer_read_ipv4(frame, end, sizeof *ether, packet);
  if (ether->h_proto == STEER_BE16(ETH_P_IPV6))
    return steer_read_ipv6(frame, end, sizeof *ether, packet, tables);
  return 0;
}

/* Those of a packet that is no later fragment; 0 when they are not there. */
static inline __attribute__((always_inline)) const struct steer_ports* steer_ports_of(
    const void* frame, const void* end, const struct steer_walk* walk) {
  return (const struct steer_ports*)steer_at(frame, end, walk->payload, sizeof(struct steer_ports));
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
static inline __attribute__((always_inline)) enum steer_verdict steer_icmp(const void* frame, const void* end,
                                                                           const struct steer_packet* error,
                                                                           const void* tables) {
  const __u8* icmp = (const __u8*)steer_at(frame, end, error->walk.payload, 8);
  struct steer_packet inner;
  if (!icmp || !steer_is_error(error->walk.protocol, icmp[0])) return STEER_KERNEL;
  const __u32 quoted = error->walk.payload + 8;
  const int read = error->walk.protocol == STEER_ICMP6 ? steer_read_ipv6(frame, end, quoted, &inner, tables)
                                                       : steer_read_ipv4(frame, end, quoted, &inner);
  if (!read || !steer_transport(inner.walk.protocol)) return STEER_KERNEL;
  if (STEER_IS_VIP(tables, &inner.source)) return STEER_SWITCH;

  __be16 port = 0;
  if (!inner.walk.later) {
    const struct steer_ports* ports = steer_ports_of(frame, end, &inner.walk);
    if (!ports) return STEER_KERNEL;
    port = ports->destination;
  }
  if (!STEER_IS_SERVICE(tables, &inner.destination, port, inner.walk.protocol)) return STEER_KERNEL;
  return STEER_IS_LOCAL(tables, &error->destination) ? STEER_KERNEL : STEER_SWITCH;
}

/* Whether the switch may want what is for a VIP. What it can't read to the end is its to drop and to count.
 */
static inline __attribute__((always_inline)) int steer_wanted(const struct steer_walk* walk) {
  const int unknown = walk->deep || (walk->later && steer_extension(walk->protocol));
  return unknown || steer_transport(walk->protocol);
}

/* A frame from its Ethernet header on, of which the bytes up to `end` may be read. */
static inline __attribute__((always_inline)) enum steer_verdict steer(const void* frame, const void* end,
                                                                      const void* tables) {
  struct steer_packet packet;
  const struct steer_walk* walk = &packet.walk;
  const __u8* destination = (const __u8*)steer_at(frame, end, 0, ETH_ALEN);
  if (!destination || (destination[0] & STEER_GROUP)) return STEER_KERNEL;
  if (!steer_read(frame, end, &packet, tables)) return STEER_KERNEL;
  const int icmp = walk->protocol == IPPROTO_ICMP || walk->protocol == STEER_ICMP6;
  if (icmp) return walk->later ? STEER_KERNEL : steer_icmp(frame, end, &packet, tables);
  if (!steer_wanted(walk)) return STEER_KERNEL;
  if (STEER_IS_VIP(tables, &packet.destination)) return STEER_SWITCH;
  if (!steer_transport(walk->protocol)) return STEER_KERNEL;

  __be16 port = 0;
  if (!walk->later) {
    const struct steer_ports* ports = steer_ports_of(frame, end, walk);
    if (!ports) return STEER_KERNEL;
    port = ports->source;
  }
  if (!STEER_IS_SERVICE(tables, &packet.source, port, walk->protocol)) return STEER_KERNEL;
  return STEER_IS_LOCAL(tables, &packet.destination) ? STEER_KERNEL : STEER_SWITCH;
}
