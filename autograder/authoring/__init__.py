"""Authors' text becomes source, release and answer numbers, and the students' repository."""
