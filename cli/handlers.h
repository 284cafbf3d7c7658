// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/tree.h"

// What the commands do; the tables in menus.cpp name them. Each is a Handler.
namespace headgate::cli {

// Global commands: verbs.cpp
Status do_diff(Shell&, const Values&);
Status do_apply(Shell&, const Values&);
Status do_save(Shell&, const Values&);
Status do_revert(Shell&, const Values&);
Status do_exit(Shell&, const Values&);
Status do_help(Shell&, const Values&);
Status do_question(Shell&, const Values&);
Status do_print(Shell&, const Values&);
Status do_up(Shell&, const Values&);
Status do_pwd(Shell&, const Values&);
Status do_history(Shell&, const Values&);
Status do_lines(Shell&, const Values&);
Status do_verbose(Shell&, const Values&);

// Configuration menus: verbs.cpp
Status do_cur(Shell&, const Values&);
Status do_dump(Shell&, const Values&);

// Reports: reports.cpp
Status info_slb_dump(Shell&, const Values&);
Status info_slb_real(Shell&, const Values&);
Status info_slb_health(Shell&, const Values&);
Status info_slb_virt(Shell&, const Values&);
Status info_slb_group(Shell&, const Values&);
Status info_sessions_dump(Shell&, const Values&);
Status info_sessions_cip(Shell&, const Values&);
Status info_sessions_cport(Shell&, const Values&);
Status info_sessions_dip(Shell&, const Values&);
Status info_sessions_dport(Shell&, const Values&);
Status info_sessions_real(Shell&, const Values&);
Status info_sessions_port(Shell&, const Values&);
Status info_sessions_virt(Shell&, const Values&);
Status info_log(Shell&, const Values&);
Status info_general(Shell&, const Values&);
Status info_link(Shell&, const Values&);
Status stats_real(Shell&, const Values&);
Status stats_group(Shell&, const Values&);
Status stats_virt(Shell&, const Values&);
Status stats_maint(Shell&, const Values&);
Status stats_clear(Shell&, const Values&);
Status stats_dump(Shell&, const Values&);
Status stats_port_if(Shell&, const Values&);

// Operations: reports.cpp
Status oper_enable(Shell&, const Values&);
Status oper_disable(Shell&, const Values&);
Status oper_clear(Shell&, const Values&);
Status oper_cur(Shell&, const Values&);

}  // namespace headgate::cli
