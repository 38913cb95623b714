"""Downloads as Moodle, Canvas, Blackboard and Gradescope shape them, of people with awkward names."""

import csv
import io
import json
import unicodedata
import zipfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from autograder.intake.worksheet import clean_as_moodle

DUE = datetime(2030, 3, 1, 18, tzinfo=UTC)
PACKED = (2030, 3, 9, 12, 0, 0)


@dataclass
class Person:
    """Somebody who hands in; `login` is the id of the roster."""

    login: str
    first: str
    last: str
    number: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    moment: datetime = DUE - timedelta(days=1)
    enrolled: bool = True

    @property
    def email(self) -> str:
        return f"{self.number}@uni.example"

    @property
    def full_name(self) -> str:
        return f"{self.first} {self.last}"

    @property
    def late(self) -> bool:
        return self.moment > DUE


# Ids that differ in signs or capitals alone, one that is the beginning of another, names with accents,
# apostrophes, two family names, and such as only an accent or a capital tells apart.
_NAMES = """
j.doe|John|Doe
jdoe|Jane|Doe
a.lee|Ann|Lee
alee|Al|Lee
a_b|Anna|Berg
a|Anna|Borg
a-b|Anna-Lena|Burg
JDoe|Jo|Doe
ann|Ann-Marie|Le
anna|Anna|Lund
d'arcy|Dee|D'Arcy
jose|José|Núñez
jose2|Jose|Nunez
garcia|María José|García López
garcia2|María|José García López
oneil|Mary-Jane|O’Neil
oneil2|Mary Jane|O'Neil
muller|Jörg|Müller
mueller|Joerg|Mueller
strasse|Ute|Straße
li.wei|伟|李
ngo|Ngô|Bảo Châu
oystein|Øystein|Ås
x.y_z-1|Xi|Yang
x.y_z|Xi|Yang Zi
smith_jr|Will|Smith
0042|Zero|Fortytwo
42|Fortytwo|Zero
de.la.cruz|Juan|de la Cruz
van|Vincent|van
"""


def make_people() -> list[Person]:
    """Return thirty people; some late, some with nested folders, one with nothing."""
    people = []
    for number, line in enumerate(_NAMES.split("\n")[1:-1]):
        login, first, last = line.split("|")
        person = Person(login, first, last, 1000 + 7 * number)
        person.files = {"1_query_crafting.ipynb": f"work of {login}".encode()}
        if number % 3 == 0:
            person.files["week 3/mine/report.pdf"] = b"%PDF of " + login.encode()
        if number % 5 == 0:
            person.moment = DUE + timedelta(hours=number + 1)
        people.append(person)
    people[-1].files = {}
    return people


def write_table(rows) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def make_roster(system: str, people: list[Person]) -> str:
    """Return what the system exports about its people, or our own form for Gradescope."""
    rows = {
        "moodle": [["First name", "Last name", "Username", "ID number", "Email address"]]
        + [[p.first, p.last, p.login, f"id-{p.number}", p.email] for p in people],
        "canvas": [["Student", "ID", "SIS User ID", "SIS Login ID", "Section"],
                   ["    Points Possible", "", "", "", ""]]
        + [[f"{p.last}, {p.first}", p.number, f"s-{p.number}", p.login, "A"] for p in people],
        "blackboard": [["Last Name", "First Name", "Username", "Student ID"]]
        + [[p.last, p.first, p.login, f"id-{p.number}"] for p in people],
        "gradescope": [["student", "name", "email"]]
        + [[p.login, p.full_name, p.email] for p in people],
    }[system]  # fmt: skip
    return write_table(rows)


def name_entry(system: str, person: Person, inner: str) -> str:
    """Return what a system calls one file of somebody's in its zip."""
    flat = inner.replace("/", " ")
    if system == "moodle":
        return f"{clean_as_moodle(person.full_name)}_{person.number}_assignsubmission_file/{inner}"
    if system == "canvas":
        squeezed = "".join(s for s in f"{person.last}{person.first}".lower() if s.isalnum())
        late = "LATE_" * person.late
        return f"{squeezed}_{late}{person.number}_{person.number + 5000}_{flat}"
    if system == "blackboard":
        local = person.moment.astimezone()
        return f"Attention_week_1_{person.login}_attempt_{local:%Y-%m-%d-%H-%M-%S}_{flat}"
    return f"assignment_77_export/submission_{person.number}/{inner}"


def pack(path, files: dict[str, bytes], when=PACKED):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, when)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return path


def make_download(system: str, people: list[Person], folder, more: dict[str, bytes] | None = None):
    """Write a download of everybody's files; return the paths to give to `collect`."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {name_entry(system, p, inner): c for p in people for inner, c in p.files.items()}
    for person in people:
        if not person.files and system == "moodle":
            files[name_entry(system, person, "")] = b""
        if not person.files and system == "blackboard":
            files[name_entry(system, person, "x").removesuffix("_x") + ".txt"] = b"Name: ..."
    if system == "gradescope":
        files["assignment_77_export/submission_metadata.yml"] = "".join(
            f"submission_{p.number}:\n  :submitters:\n  - :name: {json.dumps(p.full_name)}\n"
            f"    :email: {p.email}\n  :created_at: {p.moment:%Y-%m-%d %H:%M:%S}.000 Z\n"
            for p in people
        ).encode()
    path = pack(folder / f"{system}.zip", files | (more or {}))
    if system != "moodle":
        return [path]
    rows = [["Identifier", "Full name", "ID number", "Email address", "Last modified (submission)"]]
    for p in people:
        local = p.moment.astimezone()
        when = f"{local:%A}, {local.day} {local:%B} {local.year}, {local:%I:%M %p}"
        rows.append([f"Participant {p.number}", p.full_name, f"id-{p.number}", p.email, when])
    sheet = folder / "worksheet.csv"
    sheet.write_text(write_table(rows), "utf-8-sig")
    return [path, sheet]


def decompose(text: str) -> str:
    """Return a name as a Mac writes it."""
    return unicodedata.normalize("NFD", text)
