"""The base of every configuration: a record whose fields explain themselves in `--help`."""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import AfterValidator, ConfigDict

from components.records.base import Record


class Config(Record):
    """Meaning of a group of keys. Values, defaults too, live in `conf/`, so that there is one place
    to look.

    The string under a field is its help text, in `python -m loop VERB --help` as well as here.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)


PathText = Annotated[str, AfterValidator(os.path.expanduser)]
"""A file or folder as it was written, a leading `~` the user's home: no shell expands it after
`key=`."""
