"""Where you stand, and handing in: public checks in a clean kernel, one zip, one write-up."""

from course_utils.handing_in.standing import check_notebook
from course_utils.handing_in.submission import submit

__all__ = ["check_notebook", "submit"]
