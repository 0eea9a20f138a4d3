"""The people, companies, products, projects and places that all services of a world speak of.

Owns their facts: a person has the same address, phone and employer wherever they occur, because
every service draws them by index from one cast. A cast has no end; its first members are the usual
ones, so that tables of different services share them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from components.environment.archetypes.names import NamePools, name_pools
from components.environment.archetypes.word_lists import pool, read_data

T = TypeVar("T")

USUAL = 24
"""Members that a small table draws from."""
_EMPLOYERS = 12
_AREAS = (202, 312, 415, 503, 617, 713, 808, 917)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A city with what belongs to it, and a street in it."""

    city: str
    region: str
    country: str
    country_code: str
    latitude: float
    longitude: float
    timezone: str
    postal_code: str
    airport: str
    currency: str
    street: str

    @property
    def label(self) -> str:
        """City and country."""
        return f"{self.city}, {self.country}"

    @property
    def address(self) -> str:
        """One line for a letter."""
        return f"{self.street}, {self.postal_code} {self.city}, {self.country}"

    @property
    def coordinates(self) -> str:
        """Latitude and longitude in degrees."""
        return f"{self.latitude},{self.longitude}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Company:
    """A company and its seat."""

    id: str
    name: str
    domain: str
    industry: str
    phone: str
    place: Place

    @property
    def website(self) -> str:
        """Address of its site."""
        return f"https://www.{self.domain}"

    @property
    def email(self) -> str:
        """Address of its office."""
        return f"office@{self.domain}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person and what is the same about them in every service."""

    id: str
    first_name: str
    last_name: str
    username: str
    email: str
    phone: str
    job: str
    department: str
    birth_date: str
    company: Company
    place: Place

    @property
    def full_name(self) -> str:
        """First and last name."""
        return f"{self.first_name} {self.last_name}"

    @property
    def bio(self) -> str:
        """One sentence."""
        return f"{self.job} at {self.company.name}, lives in {self.place.city}."

    @property
    def avatar_url(self) -> str:
        """Address of a picture."""
        return f"https://images.example.com/people/{self.username}.png"


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """Something that is sold."""

    id: str
    name: str
    sku: str
    category: str
    price: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project, and the repository of the same work."""

    id: str
    name: str
    key: str
    slug: str
    repo_name: str
    owner: str
    language: str

    @property
    def path(self) -> str:
        """Folder of the project."""
        return f"/projects/{self.slug}"

    @property
    def repo_full_name(self) -> str:
        """Owner and name of the repository."""
        return f"{self.owner}/{self.repo_name}"

    @property
    def repo_url(self) -> str:
        """Address of the repository."""
        return f"https://git.example.com/{self.repo_full_name}"

    @property
    def repo_path(self) -> str:
        """Folder of a clone."""
        return f"/repos/{self.repo_name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlace:
    """A file in a folder."""

    folder: str
    name: str
    extension: str
    mime: str

    @property
    def path(self) -> str:
        """Folder and name."""
        return f"{self.folder}/{self.name}"


class Cast:
    """Members by index, made when first asked for. Two casts of one seed are equal."""

    def __init__(self, seed: str) -> None:
        """Args: seed: of the whole world of names."""
        self.seed = seed
        self.person = lru_cache(maxsize=1024)(self._person)
        self.company = lru_cache(maxsize=1024)(self._company)
        self.product = lru_cache(maxsize=1024)(self._product)
        self.project = lru_cache(maxsize=1024)(self._project)
        self.place = lru_cache(maxsize=1024)(self._place)
        self.file = lru_cache(maxsize=1024)(self._file)

    @property
    def _names(self) -> NamePools:
        return name_pools(self.seed)

    def _person(self, index: int) -> Person:
        names = self._names
        first = names.first[index % len(names.first)]
        turn = index // len(names.first)
        last = names.last[(index * 7 + turn * 11) % len(names.last)]
        number = "" if turn < len(names.last) else str(turn)
        company = self.company(index % _EMPLOYERS)
        handle = f"{_slug(first, '')}.{_slug(last, '')}{number}"
        return Person(
            id=f"usr_{self._digest('person', index)[:8]}",
            first_name=first,
            last_name=f"{last} {_roman(turn)}" if number else last,
            username=handle,
            email=f"{handle}@{company.domain}",
            phone=_phone(index),
            job=_at(pool("job"), index * 3),
            department=_at(pool("department"), index),
            birth_date=_birth_date(index),
            company=company,
            place=self.place(index),
        )

    def _company(self, index: int) -> Company:
        names = self._names.companies
        name = names[index % len(names)]
        if index >= len(names):
            name = f"{name} {_roman(index // len(names) + 1)}"
        return Company(
            id=f"org_{self._digest('company', index)[:8]}",
            name=name,
            domain=f"{_slug(name)}.example",
            industry=_at(pool("industry"), index * 5),
            phone=_phone(index + 40),
            place=self.place(index + 5),
        )

    def _product(self, index: int) -> Product:
        things, brands = pool("object"), pool("brand")
        thing = _at(things, index * 7)
        brand = _at(brands, index + index // len(things))
        digest = int(self._digest("product", index)[:8], 16)
        series = index // (len(things) * len(brands))
        return Product(
            id=f"prd_{self._digest('product', index)[:8]}",
            name=f"{brand} {thing}{f' {series + 1}' if series else ''}",
            sku=f"{brand[:2].upper()}-{1000 + index * 37 % 9000}{f'-{series}' if series else ''}",
            category=_at(pool("category"), index * 3),
            price=round(6 + digest % 24000 / 100, 2),
        )

    def _project(self, index: int) -> Project:
        code, kinds = pool("codename"), pool("work_word")
        word, kind = _at(code, index), _at(kinds, index + index // len(code))
        series = index // (len(code) * len(kinds))
        number = f" {series + 1}" if series else ""
        name = f"{word.capitalize()} {kind}{number}"
        part = _at(pool("stack_part"), index * 5)
        return Project(
            id=f"prj_{self._digest('project', index)[:8]}",
            name=name,
            key=f"{word[:3]}{kind[:1]}{series or ''}".upper(),
            slug=_slug(name),
            repo_name=f"{word}-{part}{f'-{index // len(code)}' if index >= len(code) else ''}",
            owner=self.person(index % 5).username.replace(".", "-"),
            language=_at(pool("code_language"), index),
        )

    def _place(self, index: int) -> Place:
        rows: list[Any] = read_data("places")["places"]
        city, region, country, code, north, east, zone, post, air, money = _at(rows, index * 5)
        streets = self._names.streets
        return Place(
            city=city, region=region, country=country, country_code=code, latitude=north,
            longitude=east, timezone=zone, postal_code=post, airport=air, currency=money,
            street=streets[(index + index // len(rows)) % len(streets)],
        )  # fmt: skip

    def _file(self, index: int) -> FilePlace:
        stems, folders = pool("file_stem"), pool("folder")
        extensions, mimes = pool("extension"), read_data("places")["mime_types"]
        extension = _at(extensions, index * 3)
        turn = index // len(stems)
        stem = f"{_at(stems, index * 3)}{f'-{turn + 1}' if turn else ''}"
        return FilePlace(
            folder=_at(folders, index * 7 + turn),
            name=f"{stem}.{extension}",
            extension=extension,
            mime=mimes[extension],
        )

    def _digest(self, kind: str, index: int) -> str:
        return hashlib.blake2b(f"{self.seed}:{kind}:{index}".encode(), digest_size=8).hexdigest()


@lru_cache(maxsize=4)
def cast_of(seed: str = "selvage") -> Cast:
    """Return the cast of a seed. Services that may meet in one world take the same seed."""
    return Cast(seed)


def _at(items: Sequence[T], index: int) -> T:
    return items[index % len(items)]


def _birth_date(index: int) -> str:
    return f"{1958 + index * 7 % 44}-{1 + index * 5 % 12:02d}-{1 + index * 11 % 28:02d}"


def _slug(text: str, joint: str = "-") -> str:
    return re.sub(r"[^a-z0-9]+", joint, text.lower()).strip("-")


def _roman(number: int) -> str:
    tens, ones = divmod(number, 10)
    return "X" * tens + ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")[ones]


def _phone(index: int) -> str:
    """Return a number of the block that is kept for fiction."""
    area = _AREAS[index // 100 % len(_AREAS)]
    turn = index // (100 * len(_AREAS))
    return f"+1-{area}-{555 + turn}-01{index % 100:02d}"
