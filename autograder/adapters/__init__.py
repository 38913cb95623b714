"""Where other people's systems call us: nbgrader's hooks and Gradescope's container."""
