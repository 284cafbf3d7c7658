# SPDX-License-Identifier: Apache-2.0
"""News on real server 1: INN on 8119, one process for each family, with one group. It is unpacked, not installed: see packages.sh."""

import os
import shutil

import network
import processes
from host import ROOT, inside, sh, wait_until

PORT, GROUP = 8119, "local.test"
HOME = ROOT / "news"
NAMESPACE = network.SERVERS[1]
INN = "/usr/local/lib/headgate-tests/inn2/usr/lib/news"

CONFIGURATION = """
mta: "/bin/true %s"
organization: Lab
pathhost: server-1.test
domain: server-1.test
hismethod: hisv6
enableoverview: true
ovmethod: tradindexed
runasuser: news
runasgroup: news
nnrpdflags: "-n"
pathnews: {inn}
pathbin: {inn}/bin
pathcontrol: {inn}/bin/control
pathdb: {home}/db
pathetc: {home}/etc
pathfilter: {home}/etc
pathhttp: {home}/log
pathlog: {home}/log
pathrun: {home}/run
pathspool: {home}/spool
patharticles: {home}/spool
pathincoming: {home}/spool
pathoutgoing: {home}/spool
pathoverview: {home}/spool
pathtmp: {home}/tmp
"""

FILES = {
    "db/active": "".join(f"{group} 0000000000 0000000001 {flag}\n" for group, flag in
                         (("control", "n"), ("control.cancel", "n"), ("junk", "n"), (GROUP, "y"))),
    "db/active.times": "", "db/history": "", "db/newsgroups": f"{GROUP}\tA group\n",
    "etc/newsfeeds": "ME:*::\n", "etc/incoming.conf": 'peer ME {\n  hostname: "localhost"\n}\n',
    "etc/control.ctl": "all:*:*:drop\n", "etc/expire.ctl": "*:A:1:10:never\n", "etc/moderators": "",
    "etc/storage.conf": "method tradspool {\n  newsgroups: *\n  class: 0\n}\n",
    "etc/readers.conf": 'auth "all" {\n  hosts: "*"\n  default: "<any>"\n}\n'
                        'access "all" {\n  users: "*"\n  newsgroups: "*"\n  access: R\n}\n',
}


def as_news(family, *argv):
    """A command of INN's as its own user, with the configuration of one family's process."""
    variables = {"INNCONF": HOME / family / "etc/inn.conf", "LD_LIBRARY_PATH": INN}
    return ["setpriv", "--reuid=news", "--regid=news", "--clear-groups", "env",
            *[f"{name}={value}" for name, value in variables.items()], *argv]


def prepare(family):
    home = HOME / family
    for folder in ("db", "etc", "log", "run", "spool", "tmp"):
        (home / folder).mkdir(parents=True)
    (home / "etc/inn.conf").write_text(CONFIGURATION.format(inn=INN, home=home))
    for name, text in FILES.items():
        (home / name).write_text(text)
    for path in (home, *home.rglob("*")):
        shutil.chown(path, "news", "news")
    sh(*as_news(family, f"{INN}/bin/makedbz", "-i", "-o"))


def start():
    os.chmod(ROOT, 0o755)
    for family, address in (("4", "0.0.0.0"), ("6", "::")):
        if not (HOME / family).exists():
            prepare(family)
        command = as_news(family, f"{INN}/bin/innd", "-f", f"-{family}", address, "-P", PORT)
        processes.start(f"news{family}", command, NAMESPACE)
    wait_until(lambda: sh(*inside(NAMESPACE, "ss", "-Hltn")).stdout.count(f":{PORT} ") == 2, "INN of both families", 10, 0.05)


def end():
    for family in "46":
        processes.stop(f"news{family}")


def stop():
    end()
    shutil.rmtree(HOME, ignore_errors=True)
