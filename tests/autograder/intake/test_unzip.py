"""Zips that would do harm are refused with a sentence, and nothing is written outside."""

import stat
import struct
import zipfile

import pytest

from autograder.intake.read import Unreadable
from autograder.intake.unzip import Allowance, read_member, unpack


def make_zip(path, members=(("a.txt", b"a"),), links=(), password=False):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
        for name, target in links:
            member = zipfile.ZipInfo(name)
            member.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(member, target)
    if password:
        data = bytearray(path.read_bytes())
        data[6] |= 1  # the flag in the file's header, and in the list of contents
        data[data.rfind(b"PK\x01\x02") + 8] |= 1
        path.write_bytes(data)


def make_bomb(path):
    """Three members of nearly 4 GB each, all zeros, by what the list of contents says."""
    make_zip(path, [(f"{number}.ipynb", bytes(2**20)) for number in range(3)])
    data = bytearray(path.read_bytes())
    place = data.find(b"PK\x01\x02")
    while place >= 0:
        data[place + 24 : place + 28] = struct.pack("<L", 0xFFFFFFF0)
        place = data.find(b"PK\x01\x02", place + 4)
    path.write_bytes(data)


def make_many_large(path):
    """Nine members of 50 MB each, by the list of contents: none is too large by itself."""
    make_zip(path, [(f"{number}.bin", bytes(2**10)) for number in range(9)])
    data = bytearray(path.read_bytes())
    place = data.find(b"PK\x01\x02")
    while place >= 0:
        data[place + 24 : place + 28] = struct.pack("<L", 50 * 2**20)
        place = data.find(b"PK\x01\x02", place + 4)
    path.write_bytes(data)


def make_long_list(path):
    """Three files, it says; but the list of them has a megabyte and more."""
    make_zip(path)
    data = bytearray(path.read_bytes())
    end = data.rfind(b"PK\x05\x06")
    data[end + 8 : end + 16] = struct.pack("<HHL", 3, 3, 2**20 + 1)
    path.write_bytes(data)


def make_liar(path):
    """Says that it holds ten bytes, and holds far more."""
    make_zip(path, [("a.txt", bytes(2**20))])
    data = bytearray(path.read_bytes())
    listed = data.rfind(b"PK\x01\x02")
    data[listed + 24 : listed + 28] = struct.pack("<L", 10)
    path.write_bytes(data)


def make_crowd(path):
    """A million files, by its list of contents: opening that list alone would take a while."""
    entry = b"PK\x01\x02" + bytes(24) + struct.pack("<H", 1) + bytes(16) + b"a"
    index = entry * 1_000_000
    end = b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, 0xFFFF, 0xFFFF, len(index), 0, 0)
    path.write_bytes(index + end)


def make_damaged(path):
    make_zip(path, [("a.txt", bytes(range(256)) * 50)])
    data = bytearray(path.read_bytes())
    data[45:60] = b"x" * 15
    path.write_bytes(data)


HARM = {
    "dots": (lambda p: make_zip(p, [("../evil.txt", b"x")]), "wants to write outside"),
    "dots within": (lambda p: make_zip(p, [("a/../../evil", b"x")]), "wants to write outside"),
    "backslashes": (lambda p: make_zip(p, [("..\\evil.txt", b"x")]), "wants to write outside"),
    "absolute": (lambda p: make_zip(p, [("/tmp/evil.txt", b"x")]), "wants to write outside"),
    "a drive": (lambda p: make_zip(p, [("C:/evil.txt", b"x")]), "wants to write outside"),
    "a link": (lambda p: make_zip(p, links=[("a", "/etc/passwd")]), "a link"),
    "a million files": (make_crowd, "more than 2,000 files"),
    "3,000 files": (
        lambda p: make_zip(p, [(f"{n}.txt", b"") for n in range(3000)]), "more than 2,000 files"),
    "10 GB of zeros": (make_bomb, "would unpack to more than 400 MB"),
    "much of everything": (make_many_large, "would unpack to more than 400 MB"),
    "a long list that says it is short": (make_long_list, "more than 2,000 files"),
    "a liar": (make_liar, "damaged"),
    "a password": (lambda p: make_zip(p, password=True), "locked with a password"),
    "half a zip": (lambda p: p.write_bytes(b"PK\x03\x04" + bytes(99)), "only a part of one"),
    "no zip": (lambda p: p.write_bytes(b"hello"), "is not a zip file"),
    "damaged": (make_damaged, "damaged"),
    "empty": (lambda p: make_zip(p, []), "an empty zip"),
    "one name twice": (
        lambda p: make_zip(p, [("a.txt", b"1"), ("b/../a.txt", b"2")]), "wants to write outside"),
    "a file that is a folder": (
        lambda p: make_zip(p, [("a", b"1"), ("a/b", b"2")]), "of the same name"),
    "a name with a newline": (lambda p: make_zip(p, [("a\nb", b"1")]), "impossible name"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HARM)
def test_harm_is_refused_with_a_sentence(tmp_path, kind):
    make, sentence = HARM[kind]
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    make(inbox / "work.zip")
    with pytest.raises(Unreadable) as caught:
        unpack(inbox / "work.zip", tmp_path / "out" / "here")
    assert sentence in str(caught.value) and "\n" not in str(caught.value)
    written = [p for p in tmp_path.rglob("*") if p.is_file() and p.name != "work.zip"]
    assert written == [], "all or nothing"


def test_an_ordinary_zip_is_unpacked_without_its_common_folder(tmp_path):
    make_zip(
        tmp_path / "work.zip",
        [("my work/1.ipynb", b"{}"), ("my work/data/x.csv", b"1"), ("__MACOSX/._1.ipynb", b"junk"),
         ("my work/.ipynb_checkpoints/1.ipynb", b"old")],
    )  # fmt: skip
    files = unpack(tmp_path / "work.zip", tmp_path / "out")
    names = sorted(path.relative_to(tmp_path / "out").as_posix() for path in files)
    assert names == ["1.ipynb", "data/x.csv"]
    assert (tmp_path / "out" / "data" / "x.csv").read_bytes() == b"1"


def test_a_long_list_is_not_even_read(tmp_path, monkeypatch):
    make_crowd(tmp_path / "work.zip")
    monkeypatch.setattr("autograder.intake.unzip.zipfile.ZipFile", None)
    with pytest.raises(Unreadable, match="more than 2,000 files"):
        unpack(tmp_path / "work.zip", tmp_path / "out")


def test_what_is_packed_tighter_than_any_work_is_refused(tmp_path):
    make_zip(tmp_path / "empty.zip", [("zeros.bin", bytes(60 * 2**20))])
    with pytest.raises(Unreadable, match="50 times its size"):
        unpack(tmp_path / "empty.zip", tmp_path / "out")
    make_zip(tmp_path / "table.zip", [("zeros.csv", bytes(20 * 2**20))])
    assert unpack(tmp_path / "table.zip", tmp_path / "out")


def test_all_zips_of_a_place_share_one_allowance_and_the_latest_is_opened_first(tmp_path):
    left = Allowance(size=1000, files=3)
    for number in range(3):
        make_zip(tmp_path / f"{number}.zip", [("a.bin", bytes(400))])
    unpack(tmp_path / "0.zip", tmp_path / "0", left)
    make_zip(tmp_path / "odd.zip", [("a", b"x"), ("a/b", bytes(300))])
    with pytest.raises(Unreadable, match="same name"):
        unpack(tmp_path / "odd.zip", tmp_path / "odd", left)
    assert left == Allowance(size=600, files=2), "what was not unpacked takes nothing"
    unpack(tmp_path / "1.zip", tmp_path / "1", left)
    with pytest.raises(Unreadable, match="together with the other zip files here"):
        unpack(tmp_path / "2.zip", tmp_path / "2", left)


def test_a_member_is_read_up_to_its_limit(tmp_path):
    make_zip(tmp_path / "a.zip", [("manifest.json", bytes(2**24))])
    assert len(read_member(tmp_path / "a.zip", "manifest.json", 100)) == 100
    assert read_member(tmp_path / "a.zip", "other.json", 100) is None
    (tmp_path / "b.zip").write_bytes((tmp_path / "a.zip").read_bytes()[:-9])
    assert read_member(tmp_path / "b.zip", "manifest.json", 100) is None
