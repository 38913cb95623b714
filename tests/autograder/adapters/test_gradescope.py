def test_section_numbers_are_those_of_the_notebook(blueprint):
    from autograder.adapters.gradescope_run import find_sections

    sections = find_sections(blueprint)
    assert sections["test_q_select_first"] == "1.2.1" and sections["test_k2_select"] == "1.4.2"
