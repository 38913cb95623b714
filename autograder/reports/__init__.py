"""What comes out for people: roster, grades, the class at a glance, work that is alike."""
