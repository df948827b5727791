"""YAML files checked against pydantic models, with the line and column of every mistake.

`source.read` gives a Document: plain data, with the place of each part in the file.
`validation.validate` checks it against a Model and raises a `problems.DocumentError` that lists
every problem found. `fields` has the types of single values. Study files and hardware profiles are
both read this way.
"""
