"""The published notebooks in a real JupyterLab, seen through headless Chromium."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from pathlib import Path

import nbformat
import pytest

from autograder.authoring.publish import make_publication
from autograder.blueprint import load_blueprints
from autograder.course import load_assignment
from course_utils import __version__ as VERSION
from tests.conftest import ROOT

pytestmark = [
    pytest.mark.browser,
    pytest.mark.long,
    pytest.mark.xdist_group("notebooks in a browser"),
]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab server on loopback, with the published files as its folder.

    The first notebook is as it was published; in the other two the work is done. What they import
    is what the published wheel holds.
    """
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    folder = tmp_path_factory.mktemp("student")
    assignment = load_assignment("attention", ROOT)
    for name, content in make_publication(assignment.course, ["attention"]).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    packages = tmp_path_factory.mktemp("packages")
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(packages)
    for name, blueprint in list(load_blueprints(assignment).items())[1:]:
        solve(folder / "attention" / f"{name}.ipynb", blueprint)
    home = tmp_path_factory.mktemp("home")
    settings = home / "settings/@jupyterlab/notebook-extension/tracker.jupyterlab-settings"
    settings.parent.mkdir(parents=True)
    # Cells outside the window are not laid out by default, and then count as invisible here.
    settings.write_text('{"windowingMode": "none"}')
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}",
        "--ServerApp.ip=127.0.0.1", "--IdentityProvider.token=", "--ServerApp.password=",
        f"--ServerApp.root_dir={folder}", "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    environment = {
        **os.environ,
        "HOME": str(home),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "PYTHONPATH": str(packages),
        "COURSE_PROFILE": "quick",
        "HF_HUB_OFFLINE": "1",
    }
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{address}/api", timeout=2)
                break
            time.sleep(0.5)
        else:
            pytest.fail("JupyterLab did not start within two minutes")
        yield address, folder
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def page(lab):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_page(viewport={"width": 1200, "height": 1400})
        page.set_default_timeout(300_000)  # other tests run beside this one
        open_notebook(page, lab, "1_query_crafting", "Query crafting")
        yield page
        browser.close()


def solve(path, blueprint):
    """Do the work in a published notebook, ungraded cells included."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        slot = blueprint.find(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
        if slot and slot.role == "solve":
            lines = slot.source.source.splitlines()
            cell.source = "\n".join(line for line in lines if not line.strip().startswith("###"))
    path.write_text(nbformat.writes(notebook), "utf-8")


def open_notebook(page, lab, name, heading):
    """Open a notebook and wait until its kernel answers: what is run before would be lost."""
    page.goto(f"{lab[0]}/lab/tree/attention/{name}.ipynb?reset")
    page.get_by_role("heading", name=heading, exact=True).wait_for()
    page.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]').first.wait_for()


def run_all(page):
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def shoot(page, name):
    """Keep a screenshot where COURSE_SCREENSHOTS says, for a person to look at."""
    folder = os.environ.get("COURSE_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png")


def wait_for(page, found):
    """Wait until something is seen; if it never is, say what the page showed instead."""
    from playwright.sync_api import TimeoutError as NeverSeen

    try:
        found.wait_for()
    except NeverSeen as problem:
        status = page.locator(".jp-Notebook-ExecutionIndicator").first.get_attribute("data-status")
        outputs = page.locator(".jp-OutputArea-output").all_inner_texts()
        raise AssertionError(f"kernel {status}; outputs {outputs}") from problem


def test_the_release_opens_and_runs_in_jupyterlab(page):
    shoot(page, "1-opened")
    assert page.get_by_role("img", name="Open in Colab").count() == 1
    run_all(page)
    # Running all stops at the first open TODO, and says which one it is.
    error = page.get_by_text("the TODO of 1.2.1 is open")
    wait_for(page, error.first)
    assert (
        page.get_by_text(re.compile(rf"course_utils {re.escape(VERSION)}\+?\w* is ready")).count()
        == 1
    )
    assert page.get_by_text("Traceback").count() == 0
    error.first.scroll_into_view_if_needed()
    shoot(page, "2-open-todo")


def test_the_figures_are_drawn_and_said(page):
    figures = page.locator(".jp-OutputArea figure img")
    wait_for(page, figures.first)
    assert figures.count() >= 5
    for index in range(figures.count()):
        image = figures.nth(index)
        assert len(image.get_attribute("alt")) > 20
        assert image.evaluate("image => image.naturalWidth") > 200
    figures.first.scroll_into_view_if_needed()
    shoot(page, "3-figures")


def test_the_sliders_move_the_query(page):
    explorer = page.locator(".widget-vbox", has=page.get_by_text("q = (2.00, 0.00, 2.00)")).first
    wait_for(page, explorer)
    explorer.scroll_into_view_if_needed()
    assert explorer.locator(".widget-slider, .jupyter-widget-slider").count() == 3
    readout = explorer.locator(".widget-readout").first
    readout.click()
    readout.press("Control+a")
    readout.press_sequentially("-5")
    readout.press("Enter")
    wait_for(page, page.get_by_text("q = (-5.00, 0.00, 2.00)").first)
    shoot(page, "4-sliders")


def test_a_wrong_and_a_right_answer_are_told_apart(page):
    for code, message in (
        ("q_select_first = -10 * K[0]", "flip the sign of this query and it would pass"),
        ("q_select_first = 10 * K[0]", "public check passed"),
    ):
        cell = page.locator(".jp-CodeCell", has_text="q_select_first = ").first
        cell.scroll_into_view_if_needed()
        editor = cell.locator(".cm-content")
        editor.click()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(code)
        page.keyboard.press("Shift+Enter")  # runs it and moves on to the check
        page.keyboard.press("Shift+Enter")
        wait_for(page, page.get_by_text(message).first)
        shoot(page, f"5-{message.split()[0]}")


@pytest.mark.parametrize(
    "name, heading, until, figures",
    [
        pytest.param(
            "2_attention_from_scratch",
            "Attention from scratch, and a GPT around it",
            "development perplexity, mean over sentences",
            4,
            id="2",
            marks=pytest.mark.landing,
        ),
        pytest.param(
            "3_finetune_roberta",
            "Finetuning RoBERTa",
            "accuracy",
            1,
            id="3",
            marks=pytest.mark.soak,  # another training, shown by the same means
        ),
    ],
)
def test_the_other_notebooks_run_and_show_figures_and_progress(
    page, lab, name, heading, until, figures
):
    open_notebook(page, lab, name, heading)
    run_all(page)
    bar = page.locator(".jupyter-widgets .progress-bar, .jupyter-widgets progress").first
    wait_for(page, bar)
    bar.scroll_into_view_if_needed()
    shoot(page, f"6-{name}-progress")
    trained = page.locator(".jp-OutputArea-output", has_text=until).last
    wait_for(page, trained)
    trained.scroll_into_view_if_needed()
    shoot(page, f"7-{name}-trained")
    pictures = page.locator(".jp-OutputArea-output img[src^='data:image']")
    wait_for(page, pictures.nth(figures - 1))
    assert page.get_by_text("Traceback").count() == 0
