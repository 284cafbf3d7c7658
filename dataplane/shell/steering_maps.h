/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#pragma once

/* What the XDP program and the shell agree on: names and layouts of maps. All fields as on the wire. */

#include <linux/types.h>

/* The kernel shows at most 15 characters of a program's or map's name; this is how a stale one is recognised.
 */
#define STEERING_PROGRAM "headgate_steer"

/* An address of either family; one of IPv4 is IPv4-mapped (RFC 4291, 2.5.5.2). */
struct steering_address {
  __be32 words[4];
};

/* A real service; port 0 stands for any port of that real server, for fragments after the first. */
struct steering_service {
  struct steering_address address;
  __be16 port;
  __u8 protocol;
  __u8 zero;
};

#define STEERING_MAX_VIPS 4096
#define STEERING_MAX_SERVICES 131072
#define STEERING_MAX_LOCALS 1024
#define STEERING_MAX_QUEUES 64
