"""Pictures for the desk's pages: plain SVG, with their content in words."""

from __future__ import annotations

import html

from autograder.marking.progress import QuestionProgress


def draw_marks(entry: QuestionProgress) -> str:
    """Draw how many answers to a question have which mark."""
    counts = entry.count_scores()
    if not counts:
        return ""
    most, points = max(number for _, number in counts), entry.question.points
    width, base, left, right = 320, 84, 14, 306
    wide = max(4.0, min(26.0, 0.7 * (right - left) / (points / entry.question.scheme.step + 1)))
    parts = []
    for score, number in counts:
        middle = left + wide / 2 + (right - left - wide) * (score / points if points else 0)
        tall = 58 * number / most
        parts.append(
            f'<rect class="bar" x="{middle - wide / 2:.1f}" y="{base - tall:.1f}" '
            f'width="{wide:.1f}" height="{tall:.1f}"/>'
            f'<text x="{middle:.1f}" y="{base - tall - 4:.1f}" text-anchor="middle">{number}</text>'
            f'<text class="soft" x="{middle:.1f}" y="{base + 15}" text-anchor="middle">{score:g}</text>'
        )
    marked = {score for score, _ in counts}
    for whole in {0.0, float(points)} - marked:  # where the axis begins and ends
        middle = left + wide / 2 + (right - left - wide) * (whole / points if points else 0)
        parts.append(
            f'<text class="soft" x="{middle:.1f}" y="{base + 15}" text-anchor="middle">{whole:g}</text>'
        )
    words = ", ".join(f"{number} with {score:g}" for score, number in counts)
    said = html.escape(f"Marks of {points:g} for {entry.question.label}: {words}.")
    return (
        f'<svg viewBox="0 0 {width} 106" role="img" aria-label="{said}">{"".join(parts)}'
        f'<line x1="{left}" y1="{base}" x2="{right}" y2="{base}"/></svg>'
    )
