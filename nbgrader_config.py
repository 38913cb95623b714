"""nbgrader's settings for this course. nbgrader itself is unmodified: everything that is ours
hangs on its own extension points (an exporter, preprocessors and a hook)."""

import os
import sys
import warnings
from pathlib import Path

c = get_config()  # noqa: F821  (nbgrader provides it)

# What nbgrader's own code is warned of by its libraries helps no instructor; python -W shows it.
if not sys.warnoptions:
    warnings.filterwarnings("ignore", module=r"nbgrader\.")

root = Path(__file__).resolve().parent if "__file__" in globals() else Path.cwd()
grading = os.environ.get("COURSE_GRADING", "grading")

c.CourseDirectory.course_id = "attention-course"
c.CourseDirectory.root = str(root)
c.CourseDirectory.submitted_directory = f"{grading}/submitted"
c.CourseDirectory.autograded_directory = f"{grading}/autograded"
c.CourseDirectory.feedback_directory = f"{grading}/feedback"
c.CourseDirectory.db_url = f"sqlite:///{root / grading / 'gradebook.db'}"
c.ExportPlugin.to = str(root / grading / "grades.csv")  # what `nbgrader export` writes: all marks
c.ZipCollectApp.downloaded_directory = f"{grading}/downloaded"

# What notebooks write when they are run. In source/ that is the instructor's, and no student gets it.
c.CourseDirectory.ignore = [
    ".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback",  # nbgrader's own list
    "checkpoints", "runs",
]  # fmt: skip
c.Autograde.exclude_overwriting = {"attention": ["test_predictions.csv"]}

# What a student finds where a solution was. The lines around it say what is asked for.
c.ClearSolutions.code_stub = {"python": "# TODO: your work goes here"}
c.ClearSolutions.text_stub = "*TODO: double-click here and replace this line with your answer.*"

# A course that changed in mid-term: the gradebook follows it, and keeps every mark.
c.GenerateAssignment.pre_convert_hook = "autograder.adapters.nbgrader_plugin.follow_course"

# Without ours nothing may be graded: an error here would only make nbgrader drop these settings.
try:
    from autograder.adapters.settled_first import make_pages_anew, make_ready
except Exception as problem:
    sys.exit(f"autograder: the grader could not be loaded ({problem}). Nothing was graded.")

# A page that no longer says what holds is made again, without --force.
if sys.argv[1:2] == ["generate_feedback"]:
    make_pages_anew(root)

# Grading: read whatever arrives, put it in order, run it, and judge it from outside the kernel. What
# was handed in as a zip or as Colab's .py becomes notebooks just before nbgrader looks for them.
c.Autograde.pre_convert_hook = make_ready(root, grading)
c.Autograde.exporter_class = "autograder.adapters.nbgrader_plugin.SubmissionExporter"
c.Autograde.sanitize_preprocessors = [
    "autograder.adapters.nbgrader_plugin.RestoreSubmission",
    "nbgrader.preprocessors.DeduplicateIds",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "autograder.adapters.nbgrader_plugin.JudgedExecute",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "autograder.classroom.elsewhere.WaitForAPerson",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# Feedback: a page of ours through nbgrader's own template setting, without the hidden tests.
c.GenerateFeedback.pre_convert_hook = "autograder.marking.desk.refresh_marks"
c.GenerateFeedback.preprocessors = [
    "nbgrader.preprocessors.GetGrades",
    "nbgrader.preprocessors.ClearHiddenTests",
    "autograder.reports.feedback.WriteFeedback",
]
c.GenerateFeedback.exporter_class = "autograder.reports.feedback.FeedbackExporter"
c.FeedbackExporter.template_name = "course_feedback"
c.FeedbackExporter.extra_template_basedirs = [
    str(root / "autograder" / "reports" / "templates"),
]
