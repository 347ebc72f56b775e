"""Tell machines and builds apart.

Times are comparable on one machine only. A machine is its name, which `--machine` of the bench
gives, else its processor, its cores, its memory and its hypervisor. The microcode and the clock
change on one machine, so they only annotate it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from paraes.lab.units import plural

GIB = 1 << 30
# Rows of every scope depend on these; other versions in the context are of whole programs.
LIBRARIES = ("paraes", "openssl", "ipsec-mb", "gcrypt")


# The names of hypervisors, by their signatures in CPUID.
HYPERVISORS = {
    "KVMKVMKVM": "KVM",
    "Microsoft Hv": "Hyper-V",
    "VMwareVMware": "VMware",
    "XenVMMXenVMM": "Xen",
    "TCGTCGTCGTCG": "QEMU",
    "bhyve bhyve ": "bhyve",
}


def hypervisor_text(signature: str) -> str:
    """Return the name of a hypervisor."""
    return HYPERVISORS.get(signature, signature)


@dataclass(frozen=True)
class Machine:
    """A machine, as far as its context describes it. `name` is None if it was not named."""

    name: str | None
    processor: str | None
    cores: int | None
    memory_gib: int | None  # rounded up: the system reserves a part, which differs at each start
    hypervisor: str | None

    @property
    def label(self) -> str:
        """Describe the machine in a heading."""
        if self.name is not None:
            return self.name
        return self.hardware(self.processor)

    def hardware(self, processor: str | None) -> str:
        """Describe the processor, cores, memory and hypervisor."""
        words = [processor or "unknown processor"]
        words += [plural(self.cores, "core")] if self.cores else []
        words += [f"{self.memory_gib} GiB"] if self.memory_gib else []
        if self.hypervisor not in (None, "none"):
            words.append(hypervisor_text(str(self.hypervisor)))
        return ", ".join(words)


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def machine_of(context: dict[str, Any]) -> Machine:
    """Identify the machine of a context. Named machines are known by their names alone."""
    name = context.get("machine")
    if isinstance(name, str) and name:
        return Machine(name, None, None, None, None)
    words = [context.get("cpu"), context.get("cpu_id")]
    processor = " ".join(str(word) for word in words if word) or None
    memory = _whole(context.get("memory_bytes"))
    hypervisor = context.get("hypervisor")
    cores = _whole(context.get("cores"))
    return Machine(
        None,
        processor,
        cores if cores is not None else _whole(context.get("threads")),
        math.ceil(memory / GIB) if memory else None,
        str(hypervisor) if hypervisor else None,
    )


def described(context: dict[str, Any], label: str) -> str:
    """Describe a machine's hardware, after its label if that is a name."""
    machine = machine_of({**context, "machine": None})
    text = machine.hardware(context.get("cpu"))
    # A label that is no name says the same, and perhaps which of several files it is.
    more = label.removeprefix(machine.label).removeprefix(", ")
    return f"{label} ({text})" if context.get("machine") else f"{text} ({more})" if more else text


def labels_of(machines: Iterable[Machine]) -> dict[Machine, str]:
    """Return a label for each machine that no other of them has."""
    labels: dict[Machine, str] = {}
    for machine in dict.fromkeys(machines):
        same = sum(other.label == machine.label for other in labels)
        labels[machine] = f"{machine.label} ({same + 1})" if same else machine.label
    return labels


def build_of(context: dict[str, Any]) -> tuple[str, ...]:
    """Return what must be equal for rows to be of one program: the commit, compiler and libraries.

    A compiler of GPUs and the driver are the devices' and count too.
    """
    names = ("git", "dirty", "compiler", "flags", "drivers", "features")
    libraries = context.get("libraries")
    known = libraries if isinstance(libraries, dict) else {}
    values = [*(context.get(name) for name in names), *(known.get(name) for name in LIBRARIES)]
    return tuple(json.dumps(value, sort_keys=True) for value in values)


def build_text(context: dict[str, Any]) -> str:
    """Describe the program of a context in a heading."""
    commit = context.get("git")
    words = [str(commit)[:7] if commit else "unknown commit"]
    if context.get("dirty"):
        words.append("changed")
    return ", ".join(words)
