// SPDX-License-Identifier: Apache-2.0
#include "cli/screens.h"

#include <cstdlib>

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "model/config_text.h"
#include "model/ip.h"

namespace headgate::cli {
namespace {

template <class Message>
Message parsed(const char* text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

control::StatusReply status() {
  return parsed<control::StatusReply>(R"(
    slb_on: true dataplane_connected: true generation: 4
    real { number: 1 rip: "10.10.2.11" mac: "02:00:00:00:02:11" vlan: 2 port: 2 health_layer: 4 state: UP
      target { real: 1 rport: 8080 protocol: 6 check: "http" state: FAILED since_unix_ms: 1196367876000 reason: "refused" response_ms: 0 }
      target { real: 1 rport: 21 protocol: 6 check: "tcp" state: UP reason: "answered in 2 ms" response_ms: 2 } }
    real { number: 12 name: "spare" rip: "10.10.2.12" health_layer: 3 state: DISABLED operation: DRAIN }
    virt { number: 1 vip: "10.10.1.100" mac: "02:00:00:00:01:05" vname: "web" state: UP
      service { vport: 80 rport: 8080 group: 1 check: "http"
        member { real: 1 rip: "10.10.2.11" group_enabled: true state: FAILED }
        member { real: 12 rip: "10.10.2.12" group_enabled: true state: DISABLED } }
      service { vport: 21 rport: 21 group: 2 check: "tcp"
        member { real: 1 rip: "10.10.2.11" group_enabled: true state: UP response_ms: 2 } } }
    virt { number: 2 vip: "10.10.1.101" state: NO_SERVICES_UP }
    group { number: 1 name: "web" metric: "leastconns" check: "http"
      member { real: 1 rip: "10.10.2.11" group_enabled: true state: FAILED }
      member { real: 12 rip: "10.10.2.12" group_enabled: true state: DISABLED } }
    port { number: 1 device: "port1" client: true up: true }
    port { number: 2 device: "port2" server: true up: false })");
}

control::StatsReply stats() {
  return parsed<control::StatsReply>(R"(
    average_4_seconds: 40 average_64_seconds: 39
    stats { maximum_sessions: 1048576 current_sessions: 41 terminated_sessions: 3 resets_built: 9 packets_in: 1000
      fate { fate: "to_real" packets: 600 } fate { fate: "to_client" packets: 390 }
      fate { fate: "reset_no_real" packets: 8 } fate { fate: "new_fate" packets: 2 }
      real { real: 1 counts { current: 20 total: 60 highest: 9 octets: 480000 packets: 900 failures: 2 } }
      group { group: 1 real: 1 counts { current: 20 total: 60 highest: 9 octets: 480000 } }
      virt { virt: 1 real: 1 counts { current: 20 total: 60 highest: 9 octets: 480000 } }
      virt { virt: 1 real: 12 counts { current: 20 total: 77 highest: 12 octets: 616000 } }
      port { port: 1 up: true rx_packets: 10 tx_packets: 11 rx_bytes: 1000 tx_bytes: 1100 rx_missed: 1 tx_dropped: 2
             kernel_interface: "port1" mac: "\002\000\000\000\001\005" } })");
}

TEST(Screens, StateOfEverythingBalanced) {
  ::setenv("TZ", "UTC", 1);
  EXPECT_EQ(slb_state(status()),
            "Real server state:\n"
            "  1: 10.10.2.11, 02:00:00:00:02:11, vlan 2, port 2, health 4, up\n"
            "    real ports:\n"
            "        8080 tcp, health http, FAILED since Nov 29 20:24:36, refused\n"
            "        ftp tcp, health tcp, up, answered in 2 ms\n"
            " 12: 10.10.2.12, 00:00:00:00:00:00, vlan 0, port 0, health 3, spare, DISABLED\n"
            "    disabled by the operator: no new sessions\n"
            "\n"
            "Virtual server state:\n"
            "  1: IP4 10.10.1.100, 02:00:00:00:01:05, vname web\n"
            "    virtual ports:\n"
            "    http: rport 8080, group 1, health http, backup none\n"
            "        real servers:\n"
            "          1: 10.10.2.11, backup none, 0 ms, group ena, FAILED\n"
            "          12: 10.10.2.12, backup none, 0 ms, group ena, DISABLED\n"
            "    ftp: rport ftp, group 2, health tcp, backup none\n"
            "        real servers:\n"
            "          1: 10.10.2.11, backup none, 2 ms, group ena, up\n"
            "  2: IP4 10.10.1.101, 00:00:00:00:00:00, NO SERVICES UP\n"
            "    virtual ports:\n"
            "\n"
            "Port state:\n"
            "  1: port1, client ena, server dis, up\n"
            "  2: port2, client dis, server ena, DOWN\n");
}

TEST(Screens, StateSaysWhatIsOff) {
  EXPECT_EQ(slb_state({}),
            "Server load balancing is globally turned OFF.\n"
            "The dataplane is not connected; it forwards on its last configuration.\n"
            "Real server state:\n\nVirtual server state:\n\nPort state:\n");
}

TEST(Screens, OneObjectOrWhyNot) {
  EXPECT_EQ(*real_state(status(), 12),
            " 12: 10.10.2.12, 00:00:00:00:00:00, vlan 0, port 0, health 3, spare, DISABLED\n"
            "    disabled by the operator: no new sessions\n"
            "    current sessions 0, maxcon any number, backup none\n");
  EXPECT_EQ(real_state(status(), 2).error().message,
            "real server 2 does not exist in the running configuration");
  EXPECT_EQ(*group_state(status(), 1),
            "  1: metric leastconns, health http, backup none, web\n"
            "        real servers:\n"
            "          1: 10.10.2.11, backup none, 0 ms, group ena, FAILED\n"
            "          12: 10.10.2.12, backup none, 0 ms, group ena, DISABLED\n");
  EXPECT_EQ(group_state(status(), 9).error().message,
            "real server group 9 does not exist in the running configuration");
  EXPECT_EQ(virt_state(status(), 9).error().message,
            "virtual server 9 does not exist in the running configuration");
}

TEST(Screens, ABuddyThatIsMissedIsNamed) {
  const auto status = parsed<control::StatusReply>(R"(
    real { number: 1 rip: "10.10.2.11" state: BLOCKED
      target { real: 1 rport: 80 protocol: 6 check: "tcp" state: BLOCKED reason: "answered in 2 ms"
        buddy: "real server 2 port 8080" } })");
  const auto holds = [](const std::string& screen, const char* text) {
    return screen.find(text) != std::string::npos;
  };
  EXPECT_TRUE(holds(*health_state(status, 1),
                    "\n        takes no new sessions: its buddy real server 2 port 8080 is not up\n"));
  EXPECT_TRUE(holds(*real_state(status, 1),
                    ", BLOCKED, answered in 2 ms, buddy real server 2 port 8080 is not up\n"));
}

TEST(Screens, HealthIsTheChecksOfAServerAndTheirChanges) {
  ::setenv("TZ", "UTC", 1);
  const auto status = parsed<control::StatusReply>(R"(
    real { number: 1 name: "web" rip: "10.10.2.11" state: UP since_unix_ms: 1196367876000
      target { real: 1 rport: 8080 protocol: 6 check: "http" state: DEGRADED since_unix_ms: 1196367876000
        reason: "answered in 1200 ms, slower than 1000 ms" last_check_unix_ms: 1196367886000 took_us: 1200345
        next_check_unix_ms: 1196367888000 successes_in_row: 17 score: 4 failed: 50 share: 500
        deed { unix_ms: 1196367811000 outcome: "failed: ended with status 3" }
        deed { unix_ms: 1196367821000 failover: true outcome: "done in 1.2 s" }
        change { unix_ms: 1196367800000 from: UNKNOWN to: UP reason: "answered in 2 ms" }
        change { unix_ms: 1196367810000 from: UP to: DOWN reason: "refused" }
        change { unix_ms: 1196367876000 from: DOWN to: DEGRADED reason: "answered in 1100 ms, slower than 1000 ms" } }
      target { real: 1 rport: 53 protocol: 17 check: "none" state: UP } }
    real { number: 2 rip: "10.10.2.12" state: DISABLED since_unix_ms: 1196367876000 operation: DRAIN })");
  EXPECT_EQ(*health_state(status, 1),
            "  1: 10.10.2.11, web, up since Nov 29 20:24:36\n"
            "    8080 tcp, health http, degraded since Nov 29 20:24:36, score 4, weight 50 %\n"
            "        answered in 1200 ms, slower than 1000 ms\n"
            "        last check Nov 29 20:24:46, took 1200.3 ms; next check Nov 29 20:24:48\n"
            "        in a row: 0 failed, 17 passed; failures that count: 0.5 complete\n"
            "        changes, the latest last:\n"
            "            Nov 29 20:23:20  not checked -> up, answered in 2 ms\n"
            "            Nov 29 20:23:30  up -> FAILED, refused\n"
            "            Nov 29 20:24:36  FAILED -> degraded, answered in 1100 ms, slower than 1000 ms\n"
            "        restarts and failovers, the latest last:\n"
            "            Nov 29 20:23:31  restart failed: ended with status 3\n"
            "            Nov 29 20:23:41  failover done in 1.2 s\n"
            "    dns udp, health none, up\n"
            "        no result yet\n"
            "        last check: none yet; next check none\n"
            "        in a row: 0 failed, 0 passed\n"
            "        no changes\n");
  EXPECT_EQ(*health_state(status, 2),
            "  2: 10.10.2.12, DISABLED since Nov 29 20:24:36\n"
            "    no service uses it: nothing is checked\n");
  EXPECT_EQ(health_state(status, 9).error().message,
            "real server 9 does not exist in the running configuration");
}

TEST(Screens, ADegradedServerIsDegradedOnEveryScreen) {
  const auto status = parsed<control::StatusReply>(R"(
    real { number: 1 rip: "10.0.0.1" state: DEGRADED target { real: 1 rport: 80 protocol: 6 check: "tcp" state: DEGRADED } }
    virt { number: 1 vip: "10.0.0.9" state: DEGRADED service { vport: 80 rport: 80 group: 1 check: "tcp"
      member { real: 1 rip: "10.0.0.1" group_enabled: true state: DEGRADED } } }
    group { number: 1 metric: "leastconns" check: "tcp" member { real: 1 rip: "10.0.0.1" group_enabled: true state: DEGRADED } })");
  for (const std::string& shown : {*real_state(status, 1), *virt_state(status, 1), *group_state(status, 1)}) {
    EXPECT_NE(shown.find(", degraded\n"), std::string::npos) << shown;
    EXPECT_EQ(shown.find("not checked"), std::string::npos) << shown;
  }
}

TEST(Screens, DisabledIsShownWithItsTime) {
  ::setenv("TZ", "UTC", 1);
  const auto status = parsed<control::StatusReply>(R"(
    real { number: 1 rip: "10.0.0.1" state: DISABLED operation: DRAIN since_unix_ms: 1196367876000 }
    real { number: 2 rip: "10.0.0.2" state: DISABLED since_unix_ms: 1196367876000 })");
  EXPECT_NE(real_state(status, 1)->find("disabled by the operator since Nov 29 20:24:36: no new sessions\n"),
            std::string::npos);
  EXPECT_NE(real_state(status, 2)->find("disabled by the configuration since Nov 29 20:24:36\n"),
            std::string::npos);
}

TEST(Screens, SessionsAreListedInTheCapturedForm) {
  const auto sessions = parsed<forwarding::Sessions>(R"(
    session { worker: 0 port: 4 protocol: 6 client: "\xac\x10\x02\x6e" client_port: 43926 vip: "\xc0\xa8\x64\x33" vport: 21
              rip: "\xc0\xa8\xc7\x34" rport: 21 virt: 1 real: 2 idle_seconds: 1 left_seconds: 301 state: "open" }
    session { worker: 1 port: 1 client: "\x0a\0\0\x01" client_port: 1 vip: "\x0a\0\0\x02" vport: 80 rip: "\x0a\0\0\x03" rport: 8080
              virt: 2 real: 1 left_seconds: 0 state: "terminated" }
    session { worker: 0 port: 1 client: "\x20\x01\x0d\xb8\0\x01\0\0\0\0\0\0\0\0\0\x10" client_port: 40000
              vip: "\x20\x01\x0d\xb8\0\x01\0\0\0\0\0\0\0\0\x01\0" vport: 80
              rip: "\x20\x01\x0d\xb8\0\x02\0\0\0\0\0\0\0\0\0\x11" rport: 8080 virt: 3 left_seconds: 60 state: "open" }
    session { worker: 0 port: 1 protocol: 17 client: "\x0a\0\0\x01" client_port: 5 vip: "\x0a\0\0\x02" vport: 53
              rip: "\x0a\0\0\x03" rport: 53 virt: 3 left_seconds: 61 state: "open" })");
  EXPECT_EQ(session_list(sessions),
            "1,04: 172.16.2.110 43926, 192.168.100.51 ftp -> 192.168.199.52 ftp age 6 v:1 E\n"
            "2,01: 10.0.0.1 1, 10.0.0.2 http -> 10.0.0.3 8080 age 0 v:2\n"
            "1,01: 2001:db8:1::10 40000, 2001:db8:1::100 http -> 2001:db8:2::11 8080 age 1 v:3 E\n"
            "1,01: 10.0.0.1 5, 10.0.0.2 dns -> 10.0.0.3 dns udp age 2 v:3 E\n"
            "4 sessions\n");
  EXPECT_EQ(session_list({}), "0 sessions\n");
}

TEST(Screens, TheSwitchItself) {
  ::setenv("TZ", "UTC", 1);
  const auto log = parsed<control::LogReply>(R"(
    line { unix_ms: 1196000000000 text: "system: headgated started" }
    line { unix_ms: 1196281415000 text: "system: headgated started" } line { unix_ms: 1196367876000 text: "x" })");
  EXPECT_EQ(started({}), 0);
  EXPECT_EQ(general({1196367876, "0.1.0", "", false, started(log)}, status()),
            "System Information at 20:24:36 Thu Nov 29, 2007\n\n"
            "Headgate session switch\n"
            "headgated is up 1 day, 0 hours, 1 minute and 1 second.\n\n"
            "System name:            none\n"
            "Software version:       0.1.0\n"
            "Server load balancing:  ON\n"
            "Dataplane:              connected\n"
            "Configuration:          generation 4, not saved since the last changes\n");
}

TEST(Screens, LogLinesHaveDateSeverityAndText) {
  ::setenv("TZ", "UTC", 1);
  const auto log = parsed<control::LogReply>(R"(
    line { unix_ms: 1196367876000 severity: 1 text: "slb: cannot contact real server 10.0.0.11" }
    line { unix_ms: 1196367955000 severity: 5 text: "slb: real server 10.0.0.11 operational" })");
  EXPECT_EQ(log_lines(log),
            "Last 2 log messages:\n"
            "Nov 29 20:24:36 ALERT   slb: cannot contact real server 10.0.0.11\n"
            "Nov 29 20:25:55 NOTICE  slb: real server 10.0.0.11 operational\n");
}

TEST(Screens, MaintenanceCountersHideNoFate) {
  const std::string shown = maint_stats(stats());
  EXPECT_TRUE(
      shown.starts_with("SLB Maintenance stats:\n"
                        "Maximum sessions:                 1048576\n"
                        "Current sessions:                      41\n"
                        "  4 second average:                    40\n"
                        " 64 second average:                    39\n"
                        "Terminated sessions:                    3\n"
                        "Allocation failures:                    0\n"
                        "Incorrect Vports:                       0\n"
                        "No available real server:               8\n"))
      << shown;
  EXPECT_TRUE(
      shown.ends_with("Packets to real servers:              600\n"
                      "Packets to clients:                   390\n"
                      "Packets for the kernel:                 0\n"
                      "new_fate:                               2\n"
                      "Backup server activations:              0\n"
                      "Overflow server activations:            0\n"
                      "Persistent clients:                     0\n"
                      "Persistent clients refused:             0\n"
                      "Total IP fragment sessions:             0\n"
                      "Current IP fragment sessions:           0\n"
                      "IP fragment table full:                 0\n"
                      "Half-open sessions:                     0\n"
                      "SYN attack: not watched\n"
                      "Session attack: not watched\n"
                      "ICMP errors built:                      0\n"
                      "ICMP errors withheld:                   0\n"
                      "Resets built:                           9\n"
                      "All packets:                         1000\n"))
      << shown;
}

TEST(Screens, CountersOfOneRealServer) {
  EXPECT_EQ(real_stats(stats(), 1),
            "Real server 1 stats:\n"
            "Current sessions:                      20\n"
            "Total sessions:                        60\n"
            "Highest sessions:                       9\n"
            "Connection failures:                    2\n"
            "Packets:                              900\n"
            "Octets:                            480000\n");
}

TEST(Screens, TablesOfGroupAndVirtualServer) {
  EXPECT_EQ(group_stats(stats(), status().group(0)),
            "Real server group 1 stats:\n"
            "                             Current     Total  Highest\n"
            "Real IP address             Sessions  Sessions  Sessions           Octets\n"
            "---- ---------------        --------  --------  --------  ---------------\n"
            "   1 10.10.2.11                   20        60         9           480000\n"
            "  12 10.10.2.12                    0         0         0                0\n"
            "---- ---------------        --------  --------  --------  ---------------\n"
            "                                  20        60         9           480000\n");
  EXPECT_EQ(virt_stats(stats(), status(), status().virt(0)),
            "Virtual server 1 stats:\n"
            "                             Current     Total  Highest\n"
            "Real IP address             Sessions  Sessions  Sessions           Octets\n"
            "---- ---------------        --------  --------  --------  ---------------\n"
            "   1 10.10.2.11                   20        60         9           480000\n"
            "  12 10.10.2.12                   20        77        12           616000\n"
            "---- ---------------        --------  --------  --------  ---------------\n"
            "     10.10.1.100                  40       137        21          1096000\n");
}

TEST(Screens, PortsAndLinks) {
  EXPECT_EQ(link_state(stats()),
            "Port  Interface        MAC address        Link\n"
            "----  ---------------  -----------------  ----\n"
            "  1   port1            02:00:00:00:01:05  up\n");
  EXPECT_EQ(*port_stats(stats(), 1),
            "Interface statistics for port 1:\n"
            "                                  In                    Out\n"
            "Octets:                         1000                   1100\n"
            "Packets:                          10                     11\n"
            "Discards:                          1                      2\n");
  EXPECT_EQ(port_stats(stats(), 2).error().message, "port 2 does not exist in the running configuration");
}

TEST(Screens, OperatorSettingsSayHowManySessionsAreLeft) {
  const auto counters = stats();
  EXPECT_EQ(operation(status(), &counters),
            "Current operator settings:\n"
            "  1: 10.10.2.11, enabled, 20 current sessions\n"
            " 12: 10.10.2.12, disabled, no new sessions, 0 current sessions\n");
}

TEST(Screens, DumpIsAScriptAndOnlyItsTimeVaries) {
  ::setenv("TZ", "UTC", 1);
  config::Config config;
  ASSERT_TRUE(text::load("/c/slb/real 1/ena", config).ok());
  EXPECT_EQ(dump_script(config, 1421250240, "0.1.0"),
            "script start \"Headgate\" 4  /**** DO NOT EDIT THIS LINE!\n"
            "/* Configuration dump taken 15:44:00 Wed Jan 14, 2015\n"
            "/* Version 0.1.0\n"
            "/c/slb/real 1\n"
            "\tena\n"
            "/\n"
            "script end  /**** DO NOT EDIT THIS LINE!\n");
}

TEST(Screens, DigestGoesThroughTheMenusBelow) {
  config::Config config;
  ASSERT_TRUE(
      text::load("/c/slb/on/virt 1/vip 10.0.0.9/service http/rport 8080\n/c/slb/group 1/add 2/add 1", config)
          .ok());
  const auto& slb = *schema::root().find("slb")->menu;
  EXPECT_EQ(settings(config.slb(), slb, "Layer 4"),
            "Current Layer 4 settings:\n"
            "  ON, secret none\n"
            "Current Layer 4 Advanced settings:\n"
            "  grace disabled, fastage 0, slowage 0, allowhc disabled,\n"
            "  pmask 255.255.255.255, pmask6 128 bits, metrci 10, rstchk enabled,\n"
            "  intrval 0 seconds, allowlim 1048550, ldapver 3\n"
            "Current SYN Attack Detection settings:\n"
            "  inter 2 seconds, thrsh 10000\n"
            "Current real server group 1 settings:\n"
            "  name none, metric leastconns, health tcp, content none, real servers 1 2,\n"
            "  disabled real servers none, mhash 24 bits, backup none, secbkp none,\n"
            "  realthr 0, slowstr 0 seconds, minthrsh 0, maxthrsh 0, advhlth none\n"
            "Current virtual server 1 settings:\n"
            "  disabled, vip 10.0.0.9, vname none, dname none, ipver any\n"
            "Current virtual server 1 service http settings:\n"
            "  group 1, rport 8080, hname none, tmout 0 minutes, pbind disable,\n"
            "  ptmout 0 minutes, thash sip, clsrst disabled, udpage disabled,\n"
            "  frag enabled, udp auto, protocol tcp\n");
}

TEST(Screens, WhoStandsByIsListedBelowThoseWhoServe) {
  const auto status = parsed<control::StatusReply>(R"(
    real { number: 1 rip: "10.0.0.1" health_layer: 4 state: UP current: 12 maxcon: 200 backup: "3" }
    real { number: 2 rip: "10.0.0.2" health_layer: 4 state: UP backup: "none" held: true }
    virt { number: 1 vip: "10.0.0.9" state: UP
      service { vport: 80 rport: 80 group: 1 check: "tcp" backup: "g2 then g3" pbind: "clientip"
        member { real: 1 rip: "10.0.0.1" group_enabled: true state: OVERFLOW backup: "3" }
        member { real: 2 rip: "10.0.0.2" state: SLOWSTART backup: "none" }
        member { real: 3 rip: "10.0.0.3" group_enabled: true state: BLOCKED backup: "none" standby: true } } })");
  EXPECT_EQ(*virt_state(status, 1),
            "  1: IP4 10.0.0.9, 00:00:00:00:00:00\n"
            "    virtual ports:\n"
            "    http: rport http, group 1, health tcp, backup g2 then g3, pbind clientip\n"
            "        real servers:\n"
            "          1: 10.0.0.1, backup 3, 0 ms, group ena, OVERFLOW\n"
            "          2: 10.0.0.2, backup none, 0 ms, group dis, slow start\n"
            "        backup servers:\n"
            "          3: 10.0.0.3, backup none, 0 ms, group ena, BLOCKED\n");
  EXPECT_EQ(*real_state(status, 1),
            "  1: 10.0.0.1, 00:00:00:00:00:00, vlan 0, port 0, health 4, up\n"
            "    current sessions 12, maxcon 200, backup 3\n");
  EXPECT_EQ(*real_state(status, 2),
            "  2: 10.0.0.2, 00:00:00:00:00:00, vlan 0, port 0, health 4, up\n"
            "    waits until its backup fails (preempt dis); \"/oper/slb/ena\" ends that\n"
            "    current sessions 0, maxcon any number, backup none\n");
}

TEST(Screens, ABoundClientHasItsFlagAndItsUsers) {
  forwarding::Sessions sessions;
  forwarding::Session& bound = *sessions.add_session();
  bound.set_client(Ip(Ipv4{0xac100000}).wire());
  bound.set_vip(Ip(Ipv4{0x0a000009}).wire());
  bound.set_rip(Ip(Ipv4{0x0a000001}).wire());
  bound.set_virt(1);
  bound.set_left_seconds(599);
  bound.set_persistent(true);
  bound.set_users(3);
  EXPECT_EQ(session_list(sessions), "1,00: 172.16.0.0, 10.0.0.9 -> 10.0.0.1 age 10 v:1 P c:3\n1 session\n");
}

TEST(Screens, AttacksAreOneLineEach) {
  auto counters = stats();
  auto& syn = *counters.mutable_syn_attack();
  syn.set_seconds(2);
  syn.set_limit(10000);
  syn.set_rate(12345);
  syn.set_active(true);
  syn.set_warnings(1);
  const std::string shown = maint_stats(counters);
  EXPECT_NE(
      shown.find("SYN attack: UNDER WAY, 12345 of 10000 half-open sessions/second in 2 seconds, 1 warning\n"
                 "Session attack: not watched\n"),
      std::string::npos)
      << shown;
}

TEST(Screens, CurTellsWhatIsReallyChecked) {
  const auto reply = parsed<control::ConfigReply>(R"(
    config { slb { group { number: 1 } real { number: 5 } virt { number: 2 service { vport: 80 } } } }
    check { group: 1 virt: 2 vport: 80 protocol: 6 wanted: "http" check: "http" }
    check { group: 1 real: 5 virt: 2 vport: 80 protocol: 6 wanted: "shop" check: "https" }
    check { group: 1 virt: 2 vport: 8080 protocol: 6 wanted: "http" check: "tcp" replaces: true }
    check { group: 1 virt: 2 vport: 53 protocol: 17 wanted: "http" check: "icmp" replaces: true }
    check { group: 7 virt: 3 vport: 80 protocol: 6 wanted: "tcp" check: "tcp" })");
  const config::Slb& slb = reply.config().slb();
  EXPECT_EQ(checks_in_use(reply, slb.group(0), {"1"}),
            "Health checks in use:\n"
            "  service http of virtual server 2: http\n"
            "  service http of virtual server 2, real server 5: https (configured shop)\n"
            "  service 8080 of virtual server 2: tcp in place of http, which does not fit it\n"
            "  service dns udp of virtual server 2: icmp in place of http, which does not fit it\n");
  EXPECT_EQ(
      checks_in_use(reply, slb.real(0), {"5"}),
      "Health checks in use:\n  service http of virtual server 2, real server 5: https (configured shop)\n");
  EXPECT_EQ(checks_in_use(reply, slb.virt(0).service(0), {"2", "http"}),
            "Health checks in use:\n"
            "  service http of virtual server 2: http\n"
            "  service http of virtual server 2, real server 5: https (configured shop)\n");
  EXPECT_EQ(checks_in_use(reply, slb, {}), "");
}

}  // namespace
}  // namespace headgate::cli
