"""The students' package as a wheel whose version says what is in it.

A correction changes the version, so that `pip install` notices it. The first cell of notebooks that
students have already worked on asks for the plain name: a wheel of that name stays there as well.
"""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile

STAMP = "course_utils/data/version.txt"  # in a wheel: the version with the digest of its content


def find_version(wheel: bytes, plain: str) -> str:
    """Return a version that changes whenever anything in the package does."""
    digest = hashlib.sha256()
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        for name in sorted(archive.namelist()):
            if ".dist-info/" not in name or name.endswith("/METADATA"):
                digest.update(name.encode() + b"\0" + archive.read(name))
    return f"{plain}+{digest.hexdigest()[:8]}"


def stamp(wheel: bytes, plain: str, version: str, named: str) -> bytes:
    """Return the wheel with its version written into it; `named` is what pip calls it."""
    content: dict[str, bytes] = {}
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            if name.endswith(".dist-info/METADATA"):
                data = data.replace(
                    f"\nVersion: {plain}\n".encode(), f"\nVersion: {named}\n".encode()
                )
            if not name.endswith(".dist-info/RECORD"):
                content[name.replace(f"-{plain}.dist-info/", f"-{named}.dist-info/")] = data
    content[STAMP] = f"{version}\n".encode()
    folder = next(name for name in content if name.endswith(".dist-info/METADATA"))[:-8]
    record = "".join(f"{name},{_digest(data)},{len(data)}\n" for name, data in content.items())
    content[f"{folder}RECORD"] = f"{record}{folder}RECORD,,\n".encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            entry = zipfile.ZipInfo(name)  # the first date that a zip can hold
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _digest(data: bytes) -> str:
    plain = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"sha256={plain}"
