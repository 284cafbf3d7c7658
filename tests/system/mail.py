# SPDX-License-Identifier: Apache-2.0
"""Mail on real server 1: postfix on 25, dovecot on 110 and 143. The mailbox of anybody opens with one password."""

import shutil

import network
import processes
from host import ROOT, inside, sh, wait_until

PASSWORD = "let-me-in"
PORTS = (25, 110, 143)
HOME = ROOT / "mail"
NAMESPACE = network.SERVERS[1]

DOVECOT = f"""
base_dir = {HOME}/run
state_dir = {HOME}/run
log_path = {HOME}/log
protocols = imap pop3
ssl = no
disable_plaintext_auth = no
mail_location = maildir:{HOME}/box/%u
first_valid_uid = 1
mail_uid = nobody
mail_gid = nogroup
passdb {{
  driver = static
  args = password={PASSWORD}
}}
userdb {{
  driver = static
  args = home={HOME}/box/%u
}}
service imap-login {{
  chroot =
  inet_listener imaps {{
    port = 0
  }}
}}
service pop3-login {{
  chroot =
  inet_listener pop3s {{
    port = 0
  }}
}}
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
"""

POSTFIX = f"""
compatibility_level = 3.6
queue_directory = {HOME}/postfix/spool
data_directory = {HOME}/postfix/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
myhostname = server-1.test
mydestination = server-1.test
local_recipient_maps = inline:{{postmaster=postmaster}}
alias_maps =
smtpd_peername_lookup = no
disable_dns_lookups = yes
inet_interfaces = all
inet_protocols = all
maillog_file = /dev/stdout
"""

POSTFIX_SERVICES = """
smtp      inet  n       -       n       -       -       smtpd
rewrite   unix  -       -       n       -       -       trivial-rewrite
anvil     unix  -       -       n       -       1       anvil
proxymap  unix  -       -       n       -       -       proxymap
postlog   unix-dgram n  -       n       -       1       postlogd
"""


def listens(port):
    return f":{port} " in sh(*inside(NAMESPACE, "ss", "-Hltn")).stdout


def prepare():
    for name in ("run", "box", "postfix/spool/pid"):
        (HOME / name).mkdir(parents=True, exist_ok=True)
    (HOME / "box").chmod(0o777)
    for name in ("postfix/data", "postfix/spool/private", "postfix/spool/public"):
        (HOME / name).mkdir(parents=True, exist_ok=True)
        shutil.chown(HOME / name, "postfix")
    (HOME / "dovecot.conf").write_text(DOVECOT)
    (HOME / "postfix/main.cf").write_text(POSTFIX)
    (HOME / "postfix/master.cf").write_text(POSTFIX_SERVICES)


def start_dovecot():
    processes.start("dovecot", ["dovecot", "-F", "-c", HOME / "dovecot.conf"], NAMESPACE)
    wait_until(lambda: listens(110) and listens(143), "dovecot", 10, 0.05)


def start_postfix():
    processes.start("postfix", ["/usr/lib/postfix/sbin/master", "-c", HOME / "postfix", "-s"], NAMESPACE)
    wait_until(lambda: listens(25), "postfix", 10, 0.05)


def start():
    prepare()
    start_dovecot()
    start_postfix()


def stop():
    for name in ("dovecot", "postfix"):
        processes.stop(name)
