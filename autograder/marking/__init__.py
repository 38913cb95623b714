"""The marking desk: written answers, marked by people, question by question."""


def _jupyter_server_extension_points() -> list[dict]:
    """Tell Jupyter what to load, so that JupyterLab's server has the desk as well."""
    from autograder.marking.app import MarkingDesk

    return [{"module": "autograder.marking", "app": MarkingDesk}]
