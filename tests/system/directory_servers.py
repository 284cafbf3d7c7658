# SPDX-License-Identifier: Apache-2.0
"""A 389 Directory Server on real server 1, made by hand and without systemd: a suffix for an entry that tells numbers, one for
alerts, and its own cn=monitor. It has persistent searches."""

import base64
import hashlib
import os
import re
import shutil
from pathlib import Path

import processes
from host import ROOT, inside, sh, wait_until
from stream_servers import NAMESPACE, await_ports

HOME = ROOT / "directory"
PORT = 1389
ADMIN, PASSWORD = "cn=admin", "let-me-in"
REPLICA, ALERTS, MONITOR = "cn=replica", "cn=alerts", "cn=monitor"
TEMPLATE = Path("/usr/share/dirsrv/data/template-dse.ldif")
COLLATIONS = Path("/etc/dirsrv/config/slapd-collations.conf")
USER_SCHEMA = Path("/etc/dirsrv/schema/99user.ldif")

BACKEND = """
dn: cn={name},cn=ldbm database,cn=plugins,cn=config
objectClass: top
objectClass: extensibleObject
objectClass: nsBackendInstance
cn: {name}
nsslapd-suffix: {suffix}
nsslapd-directory: {home}/db/{name}

dn: cn="{suffix}",cn=mapping tree,cn=config
objectClass: top
objectClass: extensibleObject
objectClass: nsMappingTree
cn: "{suffix}"
nsslapd-state: backend
nsslapd-backend: {name}
"""

ENTRY = """
dn: {name}
changetype: add
objectClass: top
objectClass: extensibleObject
aci: (targetattr="*")(version 3.0; acl "all"; allow (read, search, compare) userdn="ldap:///anyone";)
"""


def hashed(password):
    salt = os.urandom(8)
    return "{SSHA512}" + base64.b64encode(hashlib.sha512(password.encode() + salt).digest() + salt).decode()


def configuration():
    """What the server's own tool would write, with what tells where things are, and two databases."""
    folders = {f"{name}_dir": HOME / name for name in ("lock", "tmp", "cert", "ldif", "bak", "run", "inst", "log", "db", "db_home")}
    values = {**folders, "config_dir": HOME / "config", "schema_dir": HOME / "config/schema", "db_lib": "bdb",
              "ds_port": PORT, "ds_user": "dirsrv", "fqdn": "localhost", "rootdn": ADMIN, "ds_passwd": hashed(PASSWORD),
              "ds_suffix": REPLICA, "ldapi": HOME / "run/ldapi", "ldapi_enabled": "off", "ldapi_autobind": "off"}
    text = re.sub(r"%(\w+)%", lambda word: str(values[word[1]]), TEMPLATE.read_text())
    text = text.replace("cn: config\n", "cn: config\nnsslapd-schemacheck: off\n", 1)
    return text.rstrip("\n") + "\n" + "".join(BACKEND.format(name=name, suffix=suffix, home=HOME)
                                             for name, suffix in (("replica", REPLICA), ("alerts", ALERTS)))


def prepare():
    for name in ("config/schema", "lock", "tmp", "cert", "ldif", "bak", "run", "inst", "log", "db", "db_home"):
        (HOME / name).mkdir(parents=True)
    (HOME / "config/dse.ldif").write_text(configuration())
    shutil.copy(COLLATIONS, HOME / "config")
    shutil.copy(USER_SCHEMA, HOME / "config/schema")
    sh("chown", "-R", "dirsrv:", HOME)


def modify(ldif):
    sh(*inside(NAMESPACE, "ldapmodify", "-x", "-H", f"ldap://127.0.0.1:{PORT}", "-D", ADMIN, "-w", PASSWORD), input=ldif.lstrip("\n"))


def set_value(name, attribute, value):
    """Gives an entry one value of an attribute, or with None no value."""
    lines = [f"dn: {name}", "changetype: modify", f"replace: {attribute}"]
    modify("\n".join(lines + ([] if value is None else [f"{attribute}: {value}"])) + "\n")


def raise_alert(number):
    modify(ENTRY.format(name=f"cn={number},{ALERTS}"))


def start_directory():
    """Its own messages go to HOME/log/errors."""
    processes.start("directory", ["ns-slapd", "-D", HOME / "config", "-i", HOME / "run/pid", "-d", "0"], NAMESPACE)
    await_ports("the directory", PORT)


def start():
    prepare()
    start_directory()
    for name in (REPLICA, ALERTS):
        modify(ENTRY.format(name=name))


def stop_directory():
    processes.stop("directory")


def stop():
    stop_directory()
    shutil.rmtree(HOME, ignore_errors=True)


def watches():
    """How many clients hold a connection to it."""
    return sh(*inside(NAMESPACE, "ss", "-Htn", "state", "established", f"( sport = :{PORT} )")).stdout.count("\n")


def await_watches(count):
    wait_until(lambda: watches() == count, f"{count} watches of the directory", 20, 0.1)
