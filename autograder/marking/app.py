"""The desk as a Jupyter server extension: `python -m autograder mark`, or inside JupyterLab.

Login, tokens and protection against forged requests are Jupyter's own, so it can stand behind a
JupyterHub. Pages are made on the server; a little JavaScript adds keys.
"""

from __future__ import annotations

import os
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jupyter_server.extension.application import ExtensionApp
from traitlets import Unicode

from autograder.course import Assignment, Course, load_course
from autograder.marking import pages
from autograder.marking.desk import Desk

_HERE = Path(__file__).parent


class Desks:
    """The course's desks, opened when they are first asked for."""

    def __init__(self, course: Course):
        self.course = course
        self._open: dict[str, Desk] = {}

    @property
    def assignments(self) -> list[str]:
        return list(self.course.assignments)

    def open(self, assignment: str) -> Desk:
        if assignment not in self._open:
            self._open[assignment] = Desk(self.course.find(assignment))
        return self._open[assignment]

    def close(self) -> None:
        for desk in self._open.values():
            desk.close()
        self._open.clear()


class MarkingDesk(ExtensionApp):
    """Shows the desk at /desk."""

    name = "marking_desk"
    extension_url = "/desk"
    default_url = "/desk"
    load_other_extensions = False  # when started by itself
    app_name = "Marking desk"
    description = "Mark written answers, question by question."
    file_url_prefix = "/desk"

    root = Unicode("", help="The course's folder; by default the one Jupyter was started in.").tag(
        config=True
    )

    @classmethod
    def get_extension_package(cls) -> str:
        """Jupyter looks at the outermost package otherwise."""
        return "autograder.marking"

    def initialize_settings(self) -> None:
        course = load_course(Path(self.root) if self.root else None)
        self.desks = Desks(course)
        environment = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["points"] = lambda number: f"{number:g}"
        self.settings.update(marking_desks=self.desks, marking_pages=environment)

    def initialize_handlers(self) -> None:
        self.handlers.extend(pages.ADDRESSES)

    async def stop_extension(self) -> None:
        self.desks.close()


def open_desk(assignment: Assignment, port: int | None, browser: bool) -> None:
    """Start a server with the desk alone, and open it in the browser."""
    arguments = [
        f"--ServerApp.root_dir={assignment.root}",
        f"--ServerApp.default_url=/desk/{assignment.name}",
        f"--MarkingDesk.root={assignment.root}",
        f"--ServerApp.open_browser={browser}",
        "--ServerApp.log_level=WARN",
    ]
    if port is not None:
        arguments.append(f"--ServerApp.port={port}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--allow-root")
    MarkingDesk.launch_instance(arguments)
