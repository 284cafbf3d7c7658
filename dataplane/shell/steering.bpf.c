/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */

/*
 * Steers frames of one port: switched traffic to the AF_XDP socket of the dataplane, the rest on to the
 * kernel.
 *
 * The driver attaches the program before its maps can be filled. Until the shell has done so and set `ready`,
 * all TCP and UDP is dropped: the kernel owns the VIPs and would answer with resets, a lost packet is
 * merely sent again. For the same reason switched traffic is dropped, never passed, when no socket is there
 * to take it.
 */

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "steering_maps.h"

struct {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __uint(max_entries, STEERING_MAX_QUEUES);
  __type(key, __u32);
  __type(value, __u32);
} xsks_map SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u32);
} ready SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, STEERING_MAX_VIPS);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct steering_address);
  __type(value, __u8);
} vips SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, STEERING_MAX_SERVICES);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct steering_service);
  __type(value, __u8);
} services SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, STEERING_MAX_LOCALS);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct steering_address);
  __type(value, __u8);
} locals SEC(".maps");

static __always_inline int is_service(const struct steering_address* address, __be16 port, __u8 protocol) {
  struct steering_service key = {.address = *address, .port = port, .protocol = protocol};
  return bpf_map_lookup_elem(&services, &key) != 0;
}

#define STEER_IS_VIP(tables, address) (bpf_map_lookup_elem(&vips, address) != 0)
#define STEER_IS_SERVICE(tables, address, port, protocol) is_service(address, port, protocol)
#define STEER_IS_LOCAL(tables, address) (bpf_map_lookup_elem(&locals, address) != 0)
/* Of `tables`, which are maps here, stands the context. */
#define STEER_FOLLOW(tables, frame, end, walk) headgate_follow((struct xdp_md*)(tables), walk)
struct steer_walk;
int headgate_follow(struct xdp_md* context, struct steer_walk* walk);
#include "steering_decision.h"

/*
 * A global function, which the verifier looks at once, by itself. As a part of the program it went through it
 * for every way that leads to it, and took a third of a second for each port.
 */
__attribute__((noinline)) int headgate_follow(struct xdp_md* context, struct steer_walk* walk) {
  if (!walk) return 0;
  return steer_follow((const void*)(long)context->data, (const void*)(long)context->data_end, walk);
}

static __always_inline int is_ready(void) {
  const __u32 key = 0;
  const __u32* value = bpf_map_lookup_elem(&ready, &key);
  return value && *value;
}

static __always_inline int is_transport(struct xdp_md* context, const void* frame, const void* end) {
  struct steer_packet packet;
  return steer_read(frame, end, &packet, context) && steer_wanted(&packet.walk);
}

SEC("xdp")
int headgate_steer(struct xdp_md* context) {
  const void* frame = (const void*)(long)context->data;
  const void* end = (const void*)(long)context->data_end;
  if (!is_ready()) return is_transport(context, frame, end) ? XDP_DROP : XDP_PASS;
  if (steer(frame, end, context) == STEER_KERNEL) return XDP_PASS;
  return bpf_redirect_map(&xsks_map, context->rx_queue_index, XDP_DROP);
}

char steering_license[] SEC("license") = "Dual BSD/GPL";
