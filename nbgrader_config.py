"""nbgrader's settings for this course. nbgrader itself is unmodified: everything that is ours
hangs on its own extension points (an exporter, preprocessors and a hook)."""

import os
import sys
from pathlib import Path

c = get_config()  # noqa: F821  (nbgrader provides it)

root = Path(__file__).resolve().parent if "__file__" in globals() else Path.cwd()
grading = os.environ.get("COURSE_GRADING", "grading")

c.CourseDirectory.course_id = "attention-course"
c.CourseDirectory.root = str(root)
c.CourseDirectory.submitted_directory = f"{grading}/submitted"
c.CourseDirectory.autograded_directory = f"{grading}/autograded"
c.CourseDirectory.feedback_directory = f"{grading}/feedback"
c.CourseDirectory.db_url = f"sqlite:///{root / grading / 'gradebook.db'}"

# What a student finds where a solution was. The lines around it say what is asked for.
c.ClearSolutions.code_stub = {"python": "# TODO: your work goes here"}
c.ClearSolutions.text_stub = "*TODO: double-click here and replace this line by your answer.*"

# nbgrader opens the gradebook before there is a folder for it.
if sys.argv[1:2] in (["collect"], ["autograde"]):
    (root / grading).mkdir(parents=True, exist_ok=True)

# What was handed in as a zip or as Colab's .py becomes notebooks before nbgrader looks for them.
if sys.argv[1:2] == ["autograde"]:
    from autograder.arrivals import unpack_submissions
    from autograder.course import load_course

    for sentence in unpack_submissions(load_course(root)):
        print(f"autograder: {sentence}", file=sys.stderr)

# Grading: read whatever arrives, put it in order, run it, and judge it from outside the kernel.
c.Autograde.pre_convert_hook = "autograder.nbgrader_plugin.prepare_gradebook"
c.Autograde.exporter_class = "autograder.nbgrader_plugin.SubmissionExporter"
c.Autograde.sanitize_preprocessors = [
    "autograder.nbgrader_plugin.RestoreSubmission",
    "autograder.nbgrader_plugin.ClearOtherOutputs",
    "nbgrader.preprocessors.DeduplicateIds",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "autograder.nbgrader_plugin.JudgedExecute",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# Feedback explains the verdict and leaves the hidden tests out.
c.GenerateFeedback.preprocessors = [
    "nbgrader.preprocessors.GetGrades",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]
