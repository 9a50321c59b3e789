"""Executes the cases of `acceptance/cases`: behaviours that products of this kind once got wrong, one JSON file each."""
