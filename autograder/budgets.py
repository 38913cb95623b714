"""What one submission may use up, all in one place. Whoever needs more is told so in a sentence."""

from __future__ import annotations

MB = 2**20
GB = 2**30

# ---------------------------------------------------------------------------- what arrives
LARGEST_NOTEBOOK = 100 * MB  # bytes of one .ipynb
LARGEST_EXPORT = 1 * MB  # bytes of one .py
LARGEST_CODE = 400_000  # characters in all code cells of one notebook
MOST_STATEMENTS = 10_000  # lines and semicolons in them
LARGEST_TEXT = 20 * MB  # characters in all cells, pictures that are pasted as text included
MOST_CELLS = 3_000  # of one notebook
MOST_PARTS = 500_000  # brackets and braces in a notebook file: what reading it takes memory for
MOST_OUTPUTS = 1_000  # of one cell, as handed in
LARGEST_ZIP = 200 * MB  # packed
LARGEST_CONTENT = 400 * MB  # unpacked, all zips of a place together
PLAIN_CONTENT = 50 * MB  # what any zip may unpack to; more only in proportion to its size
EMPTY_RATIO = 50  # no work is packed tighter: what is, is empty
MOST_FILES = 2_000  # in a zip, in all zips of a place, and beside a notebook
MOST_ARRIVALS = 5_000  # files in one place; more is not a submission
DEEPEST_FOLDER = 20  # folders within folders
MOST_DOWNLOADED = 100_000  # entries in a download of all submissions
LARGEST_DOWNLOAD_FILE = 200 * MB  # one file in it; more is no work
LARGEST_RECORD = 4 * MB  # of a small file that says what a submission holds

# --------------------------------------------------------------------- what a kernel is given
LARGEST_FILE = 50 * MB  # of the files beside a notebook
LARGEST_FOLDER = 200 * MB

# ------------------------------------------------------------------------ what a kernel takes
CELL_SECONDS = 60  # one cell of a student's notebook
ASK_SECONDS = 30  # the judge's questions about one exercise
WHOLE_SECONDS = 600  # one notebook: all its cells, questions and what is run again after a crash
MEMORY = 4 * GB  # of one process, beyond what it is born with
WHOLE_MEMORY = 5 * GB  # of a kernel and all its children together, shared memory included
PROCESSES = 128
OPEN_FILES = 512
FILE_SIZE = 256 * MB
FOLDER_SIZE = 512 * MB  # its work folder, and its temporary folder
CHANNEL_SIZE = 16 * MB  # the folder of its sockets
LARGEST_OUTPUT = 2 * MB  # characters that one cell may show
LARGEST_OUTPUTS = 50 * MB  # and all cells of a notebook together
MOST_MESSAGES = 20_000  # that one cell may send
LARGEST_MESSAGE = 16 * MB  # bytes

# ------------------------------------------------------------------- what judging a reply takes
JUDGE_SECONDS = 30  # of the processor, for one reply
JUDGE_WAIT = 300  # seconds on a busy machine, after which a judge is given up
JUDGE_MEMORY = 2 * GB  # beyond what a judge is born with

# --------------------------------------------------------- what showing a write-up on the desk takes
DRAW_SECONDS = 10  # of the processor, for one page, one picture or one text
DRAW_MEMORY = 1 * GB
MOST_PAGES = 100  # of a PDF that is opened
MOST_PIXELS = 4_000_000  # of a page or picture as it is shown
MOST_PIXELS_READ = 60_000_000  # of a picture as it was handed in
LONGEST_DOCUMENT = 100_000  # characters of a .docx
