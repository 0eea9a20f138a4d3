"""Seccomp filters: which system calls a worker, and then a call in it, may not make.

Owns the lists of names, the numbers of two machines, and the few instructions of classic BPF that
turn them into a filter; no library is needed. A denied call answers EPERM. Invariant: a program of
another machine's calling convention is killed, so that no second numbering gets past the list.

Source: Linux's `seccomp_data` layout and its tables of system calls (x86_64, and the generic table
that aarch64 uses).
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterable

_X86_64 = {
    "socket": 41, "connect": 42, "accept": 43, "sendto": 44, "sendmsg": 46, "bind": 49,
    "listen": 50, "socketpair": 53, "clone": 56, "fork": 57, "vfork": 58, "execve": 59,
    "kill": 62, "semget": 64, "msgget": 68, "shmget": 29, "ptrace": 101, "syslog": 103,
    "rt_sigqueueinfo": 129, "personality": 135, "setpriority": 141, "sched_setparam": 142,
    "sched_setscheduler": 144, "pivot_root": 155, "adjtimex": 159, "chroot": 161, "acct": 163,
    "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168,
    "reboot": 169, "sethostname": 170, "setdomainname": 171, "init_module": 175,
    "delete_module": 176, "quotactl": 179, "tkill": 200, "sched_setaffinity": 203,
    "lookup_dcookie": 212, "clock_settime": 227, "tgkill": 234, "mbind": 237,
    "set_mempolicy": 238, "mq_open": 240, "kexec_load": 246, "add_key": 248,
    "request_key": 249, "keyctl": 250, "ioprio_set": 251, "inotify_init": 253,
    "migrate_pages": 256, "unshare": 272, "vmsplice": 278, "move_pages": 279,
    "perf_event_open": 298, "rt_tgsigqueueinfo": 297, "fanotify_init": 300, "prlimit64": 302,
    "name_to_handle_at": 303, "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308,
    "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "finit_module": 313,
    "sched_setattr": 314, "seccomp": 317, "memfd_create": 319, "kexec_file_load": 320,
    "bpf": 321, "execveat": 322, "userfaultfd": 323,
}  # fmt: skip
_AARCH64 = {
    "socket": 198, "socketpair": 199, "bind": 200, "listen": 201, "accept": 202, "connect": 203,
    "sendto": 206, "sendmsg": 211, "clone": 220, "execve": 221, "kill": 129, "semget": 190,
    "msgget": 186, "shmget": 194, "ptrace": 117, "syslog": 116, "rt_sigqueueinfo": 138,
    "personality": 92, "setpriority": 140, "sched_setparam": 118, "sched_setscheduler": 119,
    "pivot_root": 41, "adjtimex": 171, "chroot": 51, "acct": 89, "settimeofday": 170,
    "mount": 40, "umount2": 39, "swapon": 224, "swapoff": 225, "reboot": 142,
    "sethostname": 161, "setdomainname": 162, "init_module": 105, "delete_module": 106,
    "quotactl": 60, "tkill": 130, "sched_setaffinity": 122, "lookup_dcookie": 18,
    "clock_settime": 112, "tgkill": 131, "mbind": 235, "set_mempolicy": 237, "mq_open": 180,
    "kexec_load": 104, "add_key": 217, "request_key": 218, "keyctl": 219, "ioprio_set": 30,
    "migrate_pages": 238, "unshare": 97, "vmsplice": 75, "move_pages": 239,
    "perf_event_open": 241, "rt_tgsigqueueinfo": 240, "fanotify_init": 262, "prlimit64": 261,
    "name_to_handle_at": 264, "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268,
    "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "finit_module": 273,
    "sched_setattr": 274, "seccomp": 277, "memfd_create": 279, "kexec_file_load": 294,
    "bpf": 280, "execveat": 281, "userfaultfd": 282,
}  # fmt: skip
_NEWER = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430,
    "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_open": 434, "clone3": 435,
    "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "landlock_create_ruleset":
    444, "memfd_secret": 447, "process_mrelease": 448,
}  # fmt: skip
"""Calls since Linux 5.1, whose numbers are the same on every machine."""
_MACHINES = {
    "x86_64": (0xC000003E, {**_X86_64, **_NEWER}),
    "aarch64": (0xC00000B7, {**_AARCH64, **_NEWER}),
}

_TO_START = frozenset(
    {"clone", "clone3", "execve", "execveat", "fork", "kill", "prlimit64", "seccomp", "tgkill",
     "tkill", "vfork"}
)  # fmt: skip
"""What a worker needs to start and to make its calls; denied to the calls themselves."""

_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_OTHER_ABI = 0x40000000
"""x86_64 system calls from here on are those of the x32 convention."""


def machine_is_known() -> bool:
    """True when there are numbers for this machine."""
    return platform.machine() in _MACHINES


def worker_filter() -> bytes:
    """Return the filter of a whole worker: no sockets, mounts, tracing, keys, shared memory."""
    return _build(set(_MACHINES[platform.machine()][1]) - _TO_START)


def call_filter() -> bytes:
    """Return the filter of one call: also no processes, threads, programs or signals to others."""
    return _build(_MACHINES[platform.machine()][1])


def _build(names: Iterable[str]) -> bytes:
    """Return a filter, as an array of `struct sock_filter`, that denies the named calls."""
    architecture, numbers = _MACHINES[platform.machine()]
    denied = sorted(numbers[name] for name in names)
    program = [
        _step(_LOAD, 4),  # seccomp_data.arch
        _step(_JUMP_EQUAL, architecture, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, 0),  # seccomp_data.nr
        _step(_JUMP_GREATER_EQUAL, _OTHER_ABI, 0, 1),
        _step(_RETURN, _KILL),
    ]
    for number in denied:
        program += [_step(_JUMP_EQUAL, number, 0, 1), _step(_RETURN, _ERRNO | errno.EPERM)]
    program.append(_step(_RETURN, _ALLOW))
    return b"".join(program)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
