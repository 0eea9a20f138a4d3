"""The door to Hydra: from command line to one validated configuration, and to the command that takes it.

Nothing else imports hydra or omegaconf, and nothing past `_validated` sees a DictConfig. Hydra writes nothing here:
no outputs folder, no log file, no change of directory; a sweep's own bookkeeping goes to a folder that is removed.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NoReturn, cast
from unittest.mock import patch as _unused  # noqa: F401

