"""Pure functions of texts: lines, ciphers, JSON and CSV, patterns, addresses, versions, colours.

Owns what is computed of texts. A pattern that could take long on a text is refused.
"""

from __future__ import annotations

import base64
import colorsys
import csv
import difflib
import hmac
import io
import ipaddress
import json
import re
import urllib.parse
import uuid
from collections.abc import Callable
from typing import Any

from components.environment.pure.values import Arguments, PureError, text_of, texts_of, whole_of

_MOST_STEPS = 30_000_000
_MOST_PATTERN = 200
_MOST_COMPARED = 2_000
_LOOPS = re.compile(r"(?<!\\)(?:[*+]|\{\d+,\d*\})")
_NESTED = re.compile(r"\)(?:[*+]|\{)|\\[1-9]|\(\?P=")
_ROW = re.compile(r"\r\n|\n|\r")
_SEMVER = re.compile(
    r"v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
)
_NAMESPACES = {
    "dns": uuid.NAMESPACE_DNS, "url": uuid.NAMESPACE_URL, "oid": uuid.NAMESPACE_OID,
    "x500": uuid.NAMESPACE_X500,
}  # fmt: skip
Function = Callable[[Arguments], Any]


def _of_text(compute: Callable[[str], Any]) -> Function:
    return lambda arguments: compute(text_of(arguments["text"]))


def _lines(compute: Callable[[list[str]], list[str]]) -> Function:
    return lambda arguments: "\n".join(compute(_ROW.split(text_of(arguments["text"]))))


def pattern(written: Any, subject: str) -> re.Pattern[str]:
    """Return a pattern that is quick on a text.

    Raises:
        PureError: it is none, or could take long.
    """
    source = text_of(written, _MOST_PATTERN)
    loops = len(_LOOPS.findall(source))
    if _NESTED.search(source) or (len(subject) + 1) ** min(loops + 1, 9) > _MOST_STEPS:
        raise PureError("the pattern repeats too much for a text of this length")
    try:
        return re.compile(source)
    except (re.error, RecursionError, OverflowError) as error:
        raise PureError(f"no regular expression: {error}"[:200]) from error


def _test(arguments: Arguments) -> bool:
    subject = text_of(arguments["text"])
    return pattern(arguments["pattern"], subject).search(subject) is not None


def _matches(arguments: Arguments) -> list[str]:
    subject = text_of(arguments["text"])
    return [found.group() for found in pattern(arguments["pattern"], subject).finditer(subject)]


def _replace_pattern(arguments: Arguments) -> str:
    subject, new = text_of(arguments["text"]), text_of(arguments["replacement"], 1000)
    if "\\" in new:
        raise PureError("a plain replacement is needed")
    return pattern(arguments["pattern"], subject).sub(lambda _: new, subject)


def _replace(arguments: Arguments) -> str:
    return text_of(arguments["text"]).replace(
        text_of(arguments["old"], 1000), text_of(arguments["new"], 1000)
    )[: 2 * 100_000]


def rotated(written: str, shift: int) -> str:
    """Return a text whose Latin letters stand a number of places further on."""

    def turn(char: str) -> str:
        start = ord("a" if char.islower() else "A")
        return chr((ord(char) - start + shift) % 26 + start)

    return "".join(turn(char) if char.isascii() and char.isalpha() else char for char in written)


def _distance(arguments: Arguments) -> int:
    first, last = (text_of(arguments[name], _MOST_COMPARED) for name in ("first", "last"))
    row = list(range(len(last) + 1))
    for n, char in enumerate(first, 1):
        before, row[0] = row[0], n
        for place, other in enumerate(last, 1):
            known = row[place]
            row[place] = min(known + 1, row[place - 1] + 1, before + (char != other))
            before = known
    return row[-1]


def _diff(arguments: Arguments) -> str:
    first, last = (_ROW.split(text_of(arguments[name], 20_000)) for name in ("first", "last"))
    if len(first) * len(last) > 1_000_000:
        raise PureError("the texts have too many lines to compare")
    return "\n".join(difflib.unified_diff(first, last, "before", "after", lineterm=""))


def _json(value: Any) -> Any:
    written = text_of(value)
    try:
        return json.loads(written)
    except (ValueError, RecursionError) as error:
        raise PureError(f"no JSON: {error}"[:200]) from error


def _format_json(arguments: Arguments) -> str:
    indent = whole_of(arguments.get("indent", 2), 0, 10)
    return json.dumps(_json(arguments["text"]), indent=indent, ensure_ascii=False)


def _minify_json(arguments: Arguments) -> str:
    return json.dumps(_json(arguments["text"]), separators=(",", ":"), ensure_ascii=False)


def _is_json(arguments: Arguments) -> bool:
    try:
        _json(arguments["text"])
    except PureError:
        return False
    return True


def _at_pointer(arguments: Arguments) -> Any:
    value = _json(arguments["text"])
    pointer = text_of(arguments["pointer"], 1000)
    if pointer and not pointer.startswith("/"):
        raise PureError("a JSON pointer begins with /")
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, dict) and name in value:
            value = value[name]
        else:
            raise PureError(f"nothing is at {pointer[:80]!r}")
    return value


def _csv_to_json(arguments: Arguments) -> list[dict[str, str]]:
    rows = list(csv.reader(io.StringIO(text_of(arguments["text"]))))
    if not rows or any(len(row) != len(rows[0]) for row in rows if row):
        raise PureError("each line must hold as many values as the first has names")
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:] if row]


def _json_to_csv(arguments: Arguments) -> str:
    rows = _json(arguments["text"])
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise PureError("a JSON list of objects is needed")
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _hmac(arguments: Arguments) -> str:
    name = str(arguments.get("algorithm", "sha256")).lower().replace("-", "")
    if name not in ("md5", "sha1", "sha256", "sha384", "sha512"):
        raise PureError(f"there is no algorithm {name[:40]!r}; sha1, sha256 or sha512")
    key, message = text_of(arguments["key"]).encode(), text_of(arguments["text"]).encode()
    return hmac.new(key, message, name).hexdigest()


def _uuid5(arguments: Arguments) -> str:
    space = text_of(arguments["namespace"], 60).strip()
    known = _NAMESPACES.get(space.lower())
    return str(uuid.uuid5(known or uuid.UUID(space), text_of(arguments["name"])))


def _luhn(arguments: Arguments) -> bool:
    digits = text_of(arguments["text"], 100).replace(" ", "").replace("-", "")
    if not digits.isdecimal() or not digits.isascii():
        return False
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _is_ip(arguments: Arguments) -> bool:
    try:
        ipaddress.ip_address(text_of(arguments["text"], 100).strip())
    except ValueError:
        return False
    return True


def _network(arguments: Arguments) -> dict[str, Any]:
    found = ipaddress.ip_network(text_of(arguments["network"], 100).strip(), strict=False)
    return {
        "network_address": str(found.network_address),
        "broadcast_address": str(found.broadcast_address),
        "netmask": str(found.netmask),
        "prefix_length": found.prefixlen,
        "num_addresses": str(found.num_addresses),
        "version": found.version,
    }


def _in_network(arguments: Arguments) -> bool:
    address = ipaddress.ip_address(text_of(arguments["address"], 100).strip())
    return address in ipaddress.ip_network(text_of(arguments["network"], 100).strip(), strict=False)


def _url(arguments: Arguments) -> dict[str, Any]:
    parts = urllib.parse.urlsplit(text_of(arguments["text"], 8000).strip())
    return {
        "scheme": parts.scheme,
        "host": parts.hostname,
        "port": parts.port,
        "path": parts.path,
        "query": dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True)),
        "fragment": parts.fragment,
    }


def _version(value: Any) -> tuple[Any, ...]:
    found = _SEMVER.fullmatch(text_of(value, 100).strip())
    if found is None:
        raise PureError(f"{str(value)[:40]!r} is no semantic version")
    main = tuple(int(part) for part in found.groups()[:3])
    if found.group(4) is None:
        return (main, 1, ())
    parts = found.group(4).split(".")
    return (main, 0, tuple((0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts))


def _compare_versions(arguments: Arguments) -> int:
    first, last = _version(arguments["first"]), _version(arguments["last"])
    return (first > last) - (first < last)


def _rgb(value: Any) -> tuple[int, int, int]:
    digits = text_of(value, 20).strip().removeprefix("#")
    digits = "".join(char * 2 for char in digits) if len(digits) == 3 else digits
    if not re.fullmatch(r"[0-9a-fA-F]{6}", digits):
        raise PureError(f"{str(value)[:20]!r} is no colour; write #1a2b3c")
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)


def _hex_to_rgb(arguments: Arguments) -> dict[str, int]:
    return dict(zip("rgb", _rgb(arguments["text"]), strict=True))


def _rgb_to_hex(arguments: Arguments) -> str:
    return "#" + "".join(f"{whole_of(arguments[name], 0, 255):02x}" for name in "rgb")


def _rgb_to_hsl(arguments: Arguments) -> dict[str, int]:
    parts = [whole_of(arguments[name], 0, 255) / 255 for name in "rgb"]
    hue, light, full = colorsys.rgb_to_hls(*parts)
    return {"h": round(hue * 360), "s": round(full * 100), "l": round(light * 100)}


def _repeat(arguments: Arguments) -> str:
    written, count = text_of(arguments["text"], 1000), whole_of(arguments["count"], 0, 100)
    return written * count


def _truncate(arguments: Arguments) -> str:
    return text_of(arguments["text"])[: whole_of(arguments["length"], 0)]


def _is_palindrome(written: str) -> bool:
    letters = [char.lower() for char in written if char.isalnum()]
    return letters == letters[::-1]


def _counts(written: str) -> dict[str, int]:
    return {
        "characters": len(written),
        "words": len(written.split()),
        "lines": len(_ROW.split(written)) if written else 0,
    }


def _decode_bytes(arguments: Arguments) -> str:
    return bytes(int(part, 2) for part in text_of(arguments["text"]).split()).decode()


TEXTS: dict[str, Function] = {
    "line_count": _of_text(lambda written: len(_ROW.split(written)) if written else 0),
    "counts": _of_text(_counts),
    "occurrences": lambda a: text_of(a["text"]).count(text_of(a["old"], 1000)) if a["old"] else 0,
    "is_palindrome": _of_text(_is_palindrome),
    "sort_lines": _lines(sorted),
    "unique_lines": _lines(lambda lines: list(dict.fromkeys(lines))),
    "reverse_lines": _lines(lambda lines: lines[::-1]),
    "rot13": _of_text(lambda written: rotated(written, 13)),
    "caesar": lambda a: rotated(text_of(a["text"]), whole_of(a["shift"], -1000, 1000)),
    "uncaesar": lambda a: rotated(text_of(a["text"]), -whole_of(a["shift"], -1000, 1000)),
    "repeat": _repeat,
    "truncate": _truncate,
    "replace": _replace,
    "split": lambda a: text_of(a["text"]).split(text_of(a.get("separator", ","), 100)),
    "join": lambda a: text_of(a.get("separator", ""), 100).join(texts_of(a["texts"])),
    "concatenate": lambda a: text_of(a["first"]) + text_of(a["last"]),
    "matches_pattern": _test,
    "pattern_matches": _matches,
    "replace_pattern": _replace_pattern,
    "distance": _distance,
    "diff": _diff,
    "is_json": _is_json,
    "format_json": _format_json,
    "minify_json": _minify_json,
    "json_pointer": _at_pointer,
    "csv_to_json": _csv_to_json,
    "json_to_csv": _json_to_csv,
    "hmac": _hmac,
    "uuid5": _uuid5,
    "luhn": _luhn,
    "is_ip": _is_ip,
    "network": _network,
    "in_network": _in_network,
    "parse_url": _url,
    "compare_versions": _compare_versions,
    "hex_to_rgb": _hex_to_rgb,
    "rgb_to_hex": _rgb_to_hex,
    "rgb_to_hsl": _rgb_to_hsl,
    "to_binary": _of_text(lambda written: " ".join(f"{byte:08b}" for byte in written.encode())),
    "from_binary": _decode_bytes,
    "base32": _of_text(lambda written: base64.b32encode(written.encode()).decode()),
    "escape_markdown": _of_text(
        lambda written: re.sub(r"([\\`*_{}\[\]()#+\-.!|>~])", r"\\\1", written)
    ),
}
