"""What is printed is broken at words, and nothing is lost."""

from course_utils.words import WIDTH, say, wrap


def test_lines_break_at_words_and_lose_none():
    text = "a sentence with well-known words and one " + "x" * 100 + " " + "and more words " * 20
    lines = wrap(text).splitlines()
    assert " ".join(lines).split() == text.split()
    assert all(len(line) <= WIDTH or "x" * 100 in line for line in lines)
    assert "well-known" in lines[0] and lines[1].startswith("  ")


def test_lines_that_are_short_stay_as_they_are(capsys):
    say("  one\ntwo   2.0")
    assert capsys.readouterr().out == "  one\ntwo   2.0\n"
