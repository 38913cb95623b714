"""Probes: attacks that share one notebook, each in a cell of its own, so that many cost little.

Whoever gets through prints LOOT. `open_below` marks what docs/security.md says is open where a
kernel has no namespaces: there these are counted, not held against the walls. What stands in angle
brackets is replaced by real targets, as in `attacks.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import nbformat

from autograder.demo.personas import fill_in, solve_all


@dataclass(frozen=True)
class Probe:
    name: str
    tries: str
    code: str
    open_below: bool = False


TRIED = "this was tried"
SYSTEM = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"


def _call(name: str, tries: str, arguments: str, success: str = ">= 0", before: str = "") -> Probe:
    """A system call by its number (x86-64), which should be refused."""
    return Probe(
        name, tries, f"{SYSTEM}{before}if libc.syscall({arguments}) {success}: print('LOOT')"
    )


def _does(name: str, tries: str, code: str, open_below: bool = False) -> Probe:
    """Code that ends in an error unless it gets through."""
    return Probe(name, tries, f"{code}\nprint('LOOT')", open_below)


def _odd(name: str, tries: str, value: str) -> Probe:
    """A value for an exercise that is no answer to it."""
    return Probe(name, tries, value)


PROBES = [
    # ---------------------------------------------------------- memory and files of other processes
    _call("vm-read", "reads the grader's memory in one call", "310, <GRADER>, v, 1, v, 1, 0", "> 0",
          "v = (ctypes.c_uint64 * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 8)\n"),
    _call("vm-write", "writes into the warm process's memory", "311, <NURSERY>, v, 1, v, 1, 0", "> 0",
          "v = (ctypes.c_uint64 * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 8)\n"),
    _call("take-descriptor", "takes an open file out of the grader", "438, os.pidfd_open(<GRADER>), 0, 0"),
    _call("advise", "tells the system to drop the grader's memory",
          "440, os.pidfd_open(<GRADER>), (ctypes.c_uint64 * 2)(), 1, 4, 0"),
    _call("compare", "compares kernel objects with the grader's", "312, os.getpid(), <GRADER>, 0, 0, 0"),
    _call("perf", "counts what the grader's processor does", "298, bytes(128), <GRADER>, -1, -1, 0"),
    _call("bpf", "loads a program into the system", "321, 5, bytes(128), 128"),
    _call("userfault", "stops the system at a page fault of its choice", "323, 0"),
    _does("list-descriptors", "counts the grader's open files", "import os\nos.listdir('/proc/<GRADER>/fd')",
          open_below=True),
    _does("follow-descriptor", "opens one of the grader's open files",
          "import os\nos.readlink('/proc/<GRADER>/fd/0')"),
    _does("read-maps", "reads where the grader's memory lies",
          "with open('/proc/<GRADER>/maps') as f: assert f.read(1)"),
    _does("read-cwd", "reads in which folder the warm process works", "import os\nos.readlink('/proc/<NURSERY>/cwd')"),
    _does("write-exe", "writes to the program that grades", "open('/proc/<GRADER>/exe', 'r+b')"),
    _does("memory-killer", "has the grader killed first when memory is short",
          "open('/proc/<GRADER>/oom_score_adj', 'w').write('1000')"),
    _does("rename-grader", "gives the grader another name", "open('/proc/<GRADER>/comm', 'w').write('x')"),
    _does("see-grader", "sees how the grader was started",
          "with open('/proc/<GRADER>/cmdline') as f: assert f.read(1)", open_below=True),
    Probe("inherited", "looks for open files that it was born with",
          "import os\nfor n in os.listdir('/proc/self/fd'):\n    try: link = os.readlink(f'/proc/self/fd/{n}')\n"
          "    except OSError: continue\n    if '<COURSE>/' in link: print('LOOT', link)"),
    Probe("modules", "looks for modules of the grader in memory",
          "import sys\nif any(n.split('.')[0] == 'autograder' for n in sys.modules): print('LOOT')"),
    _does("import-by-name", "imports the grader from where it is installed", "import autograder.exercises"),
    # -------------------------------------------------------------- limits, pace and signals of others
    _does("limits-of-others", "takes the grader's open files away",
          "import resource\nresource.prlimit(<GRADER>, resource.RLIMIT_NOFILE, (3, 3))"),
    _does("renice-all", "slows down all processes of its user", "import os\nos.setpriority(os.PRIO_USER, 0, 19)"),
    _does("pin-grader", "puts the grader on one processor", "import os\nos.sched_setaffinity(<GRADER>, {0})"),
    _does("schedule-grader", "gives the grader what nobody else wants",
          "import os\nos.sched_setscheduler(<GRADER>, os.SCHED_IDLE, os.sched_param(0))\n"
          "assert os.sched_getscheduler(<GRADER>) == os.SCHED_IDLE"),
    _call("disk-pace", "makes the grader wait for the disk", "251, 3, 0, 0x6007"),
    _does("nicer", "takes more of the processor", "import os\nos.nice(-5)"),
    _does("more-limits", "raises its own limits",
          "import resource\nresource.setrlimit(resource.RLIMIT_NPROC, (10**6, 10**6))"),
    _does("signal-by-descriptor", "signals the grader by another call",
          "import os, signal\nsignal.pidfd_send_signal(os.pidfd_open(<GRADER>), 0)"),
    _call("signal-queue", "queues a signal for the grader", "129, <GRADER>, 0, bytes(128)"),
    _does("signal-group", "signals the grader's group", "import os\nos.killpg(os.getpgid(<GRADER>), 0)"),
    _does("terminal", "types into the instructor's terminal",
          "import fcntl\nfcntl.ioctl(open('/dev/tty', 'r+b', 0), 0x5412, b'x')"),
    # ------------------------------------------------------------------------------ rights and system
    _does("become-root", "becomes root", "import os\nassert os.getuid()\nos.setuid(0)"),
    _does("groups", "joins root's group", "import os\nos.setgroups([0])"),
    _does("chroot", "chooses a root of its own", "import os\nos.chroot('/usr')"),
    _does("device", "makes a device of the first disk", "import os\nos.mknod('disk', 0o60600, os.makedev(8, 0))"),
    _does("hostname", "renames the machine", "import socket\nsocket.sethostname('mine')"),
    _does("clock", "sets the clock", "import time\ntime.clock_settime(time.CLOCK_REALTIME, time.time())"),
    _call("ambient", "asks for a capability that outlives programs", "157, 47, 2, 21, 0, 0", "== 0"),
    _call("module", "loads a module into the system", "175, b'x', 1, b''"),
    _call("swap", "switches swapping off", "168, b'/nothing'"),
    Probe("memory-device", "opens memory and disks as devices",
          "import glob\nfor p in ['/dev/mem', '/dev/kmsg', '/dev/port', *glob.glob('/dev/[sv]d?')]:\n"
          "    try: open(p, 'rb').read(1)\n    except OSError: continue\n    print('LOOT', p)"),
    _does("core-pattern", "chooses what runs when a program crashes",
          "open('/proc/sys/kernel/core_pattern', 'r+').write('|/tmp/x')"),
    _does("sysrq", "opens the switch that stops the machine", "open('/proc/sysrq-trigger', 'w')"),
    Probe("control-groups", "leaves its control group",
          "import glob, os\nfor p in glob.glob('/sys/fs/cgroup/**/cgroup.procs', recursive=True)[:20]:\n"
          "    try: open(p, 'w').write(str(os.getpid()))\n    except OSError: continue\n    print('LOOT', p)"),
    _does("system-settings", "changes a setting of the system",
          "open('/sys/kernel/mm/transparent_hugepage/enabled', 'w').write('never')"),
    # ------------------------------------------------------------------------- mounts and namespaces
    _call("new-mount", "opens a file system by the new calls", "430, b'tmpfs', 0"),
    _call("open-tree", "copies a tree of mounts", "428, -100, b'/', 1"),
    _call("mount-attributes", "makes a read-only mount writable", "442, -100, b'/usr', 0, bytes(32), 32"),
    _call("unmount", "takes a mount away", "166, b'/tmp', 2"),
    _call("clone3", "makes a namespace by the newest call",
          "435, (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17), 88", "> 0"),
    _does("network-namespace", "makes a network of its own",
          SYSTEM + "assert libc.unshare(0x40000000) == 0"),
    _does("join-again", "enters the namespace of the first process",
          SYSTEM + "assert libc.setns(os.open('/proc/1/ns/net', 0), 0) == 0"),
    # -------------------------------------------------------------------------------------- network
    _does("other-loopback", "connects by another name of the same machine",
          "import socket\nsocket.create_connection(('127.0.0.2', <PORT>), 2)"),
    _does("zero-address", "connects to no address at all", "import socket\nsocket.create_connection(('0.0.0.0', <PORT>), 2)"),
    _does("mapped-address", "connects to IPv4 through IPv6",
          "import socket\nsocket.create_connection(('::ffff:127.0.0.1', <PORT>), 2)"),
    _does("raw-socket", "writes packets of its own", "import socket\nsocket.socket(2, socket.SOCK_RAW, 1)"),
    _does("packet-socket", "listens to all packets", "import socket\nsocket.socket(17, socket.SOCK_RAW, 0x300)"),
    _does("vsock", "talks to the host of a virtual machine", "import socket\nsocket.socket(40, socket.SOCK_STREAM)"),
    _does("crypto-socket", "has the system calculate for it", "import socket\nsocket.socket(38, socket.SOCK_SEQPACKET)"),
    _does("bluetooth", "looks for devices nearby", "import socket\nsocket.socket(31, socket.SOCK_RAW, 1)"),
    Probe("service-sockets", "talks to services of the machine",
          "import socket\nfor p in ('/run/docker.sock', '/run/dbus/system_bus_socket', '/run/systemd/private',\n"
          "          '/run/containerd/containerd.sock', '/run/postgresql/.s.PGSQL.5432'):\n"
          "    s = socket.socket(socket.AF_UNIX)\n    try: s.connect(p)\n    except OSError: continue\n    print('LOOT', p)"),
    _does("names", "asks for an address by name", "import socket\nsocket.getaddrinfo('example.org', 80)"),
    Probe("interfaces", "sees the machine's network cards",
          "import socket\nif any(n != 'lo' for _, n in socket.if_nameindex()): print('LOOT')", open_below=True),
    # ------------------------------------------------------- talking to a friend in another kernel
    _call("message-queue", "leaves a message in a queue", "68, 0x1234, 0o1600"),
    _call("semaphores", "makes semaphores that stay", "64, 0x1234, 1, 0o1600"),
    _call("posix-queue", "opens a queue by its name", "240, b'friend', 0o102, 0o666, None"),
    Probe("channels", "looks for the sockets of other kernels",
          "import glob, os\nown = os.path.dirname(get_ipython().config.IPKernelApp.connection_file)\n"
          "if [p for p in glob.glob('/tmp/judge-*') if p != own]: print('LOOT')"),
    Probe("work-folders", "looks for the folders of other kernels",
          "import glob, os\nif [p for p in glob.glob('/tmp/work-*') if p != os.getcwd()]: print('LOOT')"),
    _does("channel-file", "leaves a file beside the sockets",
          "import os\nopen(os.path.dirname(get_ipython().config.IPKernelApp.connection_file) + '/x', 'w')",
          open_below=True),
    # ---------------------------------------------------------------------------- files, other ways
    _does("through-root-link", "reads the solution through /proc/self/root",
          "open('/proc/self/root<COURSE>/course.toml').read(1)"),
    _does("through-cwd-link", "reads the solution through /proc/self/cwd",
          "open('/proc/self/cwd/' + '../' * 30 + '<COURSE>/course.toml').read(1)"),
    _call("openat2", "opens a file by the newest call", "437, -100, b'<COURSE>/course.toml', bytes(24), 24"),
    _does("secret", "reads what hidden inputs are drawn from", "open('<GRADING>/secret', 'rb').read(1)"),
    _does("text-notebook", "reads the solutions where authors write them",
          "open('<COURSE>/notebooks/attention/1_query_crafting.py').read(1)"),
    _does("list-classmates", "lists who has handed in", "import os\nos.listdir('<GRADING>/submitted')"),
    _does("size-of-classmate", "learns how large a classmate's file is", "import os\nos.stat('<CLASSMATE>')",
          open_below=True),
    Probe("date-classmate", "makes a classmate's work late",
          "import os\nos.utime('<CLASSMATE>', (0, 0))\nif os.stat('<CLASSMATE>').st_mtime == 0: print('LOOT')"),
    Probe("own-classmate", "takes a classmate's file over",
          "import os\nos.chown('<CLASSMATE>', os.getuid(), -1)\n"
          "if os.stat('<CLASSMATE>').st_uid == os.getuid() != <OWNER>: print('LOOT')"),
    Probe("lock-classmate", "takes a classmate's permissions away",
          "import os\nos.chmod('<CLASSMATE>', 0)\nif not os.stat('<CLASSMATE>').st_mode & 0o777: print('LOOT')"),
    _does("mark-classmate", "hangs a note on a classmate's file",
          "import os\nos.setxattr('<CLASSMATE>', 'user.x', b'1')\nos.getxattr('<CLASSMATE>', 'user.x')"),
    Probe("passwords", "reads keys and passwords of the machine",
          "import os\nfor p in ('/etc/shadow', '/root/.ssh/id_rsa', '/root/.netrc', '~/.netrc', '~/.pypirc', '/etc/sudoers'):\n"
          "    try: open(os.path.expanduser(p)).read(1)\n    except OSError: continue\n    print('LOOT', p)"),
    Probe("logs", "reads the machine's logs",
          "import os, sys\nway = {*sys.prefix.split('/'), *sys.base_prefix.split('/')}  # Python has to be found\n"
          "for p in ('/var/log', '/var/lib', '/var/spool', '/home', '/srv', '/mnt'):\n"
          "    try: found = os.listdir(p)\n    except OSError: continue\n"
          "    if set(found) - way: print('LOOT', p)"),
    _does("patch-python", "writes into Python's own library", "import os\nopen(os.__file__, 'a').write('#')"),
    _does("patch-torch", "writes into torch", "import torch\nopen(torch.__file__, 'a').write('#')"),
    Probe("start-up-files", "plants files that start by themselves",
          "import os, site\nfor p in ('<HOME>/.ipython/profile_default/startup/<MARK>.py', '<HOME>/.<MARK>',\n"
          "          '/tmp/<MARK>', '/var/tmp/<MARK>', '/dev/shm/<MARK>', '/etc/<MARK>', site.getusersitepackages() + '/<MARK>.pth'):\n"
          "    try:\n        os.makedirs(os.path.dirname(p), exist_ok=True)\n        open(p, 'w').write('x')\n"
          "    except OSError: pass"),
]  # fmt: skip

# For an exercise's cell each: the value is no answer, and reading it may hurt nobody.
ODD_VALUES = [
    _odd("masked", "numbers that are all hidden", "__import__('numpy').ma.masked_all(3)"),
    _odd("record", "records instead of numbers", "__import__('numpy').zeros(3, dtype=[('a', 'f8'), ('b', 'O')])"),
    _odd("complex", "complex numbers", "[1j, 2j, 3j]"),
    _odd("meta", "a tensor without numbers", "__import__('torch').empty(3, device='meta')"),
    _odd("sparse", "a tensor of another layout", "__import__('torch').eye(3).to_sparse()"),
    _odd("many-dimensions", "an array of thirty dimensions", "__import__('numpy').ones((1,) * 30)"),
    _odd("large-number", "a number that no float holds", "[10**400, 0, 0]"),
    _odd("itself", "a list that holds itself", "(lambda x: x.append(x) or x)([])"),
    _odd("never-ending", "a sequence without an end", "type('E', (list,), {'__iter__': lambda s: __import__('itertools').repeat(0.0, 10**7)})()"),
    _odd("interface", "memory that is not there", "type('I', (), {'__array_interface__': {'shape': (3,), 'typestr': '<f8', 'data': (0, True), 'version': 3}})()"),
    _odd("text-numbers", "words that look like numbers", "__import__('numpy').array(['10', 'nan', '0'])"),
    _odd("borrowed-words", "an error that is named like a verdict", "type('W', (), {'__array__': lambda *a, **k: 1 / 0, '__doc__': '2 of 2 points'})()"),
]  # fmt: skip


def aim(code: str, world: dict[str, str]) -> str:
    """Put real targets into an attack's code."""
    for name, target in world.items():
        code = code.replace(name, target)
    return code


def add_probes(blueprint, world: dict[str, str]):
    """Return an unsolved notebook with a cell for each probe, where added cells are run."""
    notebook = fill_in(blueprint, {})
    first = next(i for i, cell in enumerate(notebook.cells) if cell.id == "q_select_first")
    notebook.cells[first:first] = [
        nbformat.v4.new_code_cell(f"# {probe.name}\nprint({TRIED!r})\n{aim(probe.code, world)}")
        for probe in PROBES
    ]
    return notebook


def add_odd_values(blueprint) -> list:
    """Return notebooks with an odd value in each exercise."""
    names = list(solve_all(blueprint))
    return [
        fill_in(blueprint, {n: f"{n} = {odd.code}" for n, odd in zip(names, some, strict=False)})
        for some in (ODD_VALUES[i : i + len(names)] for i in range(0, len(ODD_VALUES), len(names)))
    ]


def find_loot(notebook, otherwise: str = "") -> set[str]:
    """Return the probes that printed LOOT; what another cell printed counts under a name of its own.

    (A traceback only quotes the code.)
    """
    found = set()
    for cell in notebook.cells:
        shown = [output for output in cell.get("outputs", []) if output.output_type != "error"]
        if "LOOT" in str(shown):
            named = re.match(r"# ([\w-]+)\n", cell.source)
            found.add(named[1] if named else otherwise)
    return found
