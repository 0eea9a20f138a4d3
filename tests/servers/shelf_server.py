"""A small server of books, plain Python: `shelf_server.py [fault]`. It keeps them in a file.

Faults: errors (an unknown book is no error), shape (answers give a title another name), writes
(an update is acknowledged and forgotten), dies (ends when a book is deleted), picture (a book is
shown as a picture).
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

TEXT = {"type": "string"}


def tool(name: str, description: str, required: list[str], **properties: Any) -> dict[str, Any]:
    """One tool of the listing."""
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": description, "inputSchema": schema}


TOOLS = [
    tool("create_book", "Create a book.", ["title"], title=TEXT, author=TEXT),
    tool("get_book", "Get one book by its id.", ["book_id"], book_id=TEXT),
    tool("list_books", "List all books.", []),
    tool(
        "update_book",
        "Update the title or author of a book.",
        ["book_id"],
        book_id=TEXT,
        title=TEXT,
        author=TEXT,
    ),
    tool("delete_book", "Delete a book.", ["book_id"], book_id=TEXT),
]


def call(fault: str, store: Path, name: str, arguments: dict[str, Any]) -> tuple[Any, bool]:
    """Return what a call answers, and whether that is an error."""
    books = json.loads(store.read_text()) if store.exists() else {}
    if name == "create_book":
        key = f"book-{len(books) + 1}"
        books[key] = {"id": key, "author": None, **arguments}
    elif name == "list_books":
        shown = [shape(fault, book) for book in books.values()]
        return {"books": shown}, False
    else:
        key = arguments.pop("book_id")
        if key not in books:
            return ({}, False) if fault == "errors" else (f"Book {key} not found.", True)
        if name == "delete_book":
            if fault == "dies":
                print("the shelf fell down", file=sys.stderr, flush=True)
                sys.exit(1)
            gone = books.pop(key)
            store.write_text(json.dumps(books))
            return shape(fault, gone), False
        if name == "update_book":
            if fault == "writes":
                return shape(fault, {**books[key], **arguments}), False
            books[key] |= arguments
    store.write_text(json.dumps(books))
    return shape(fault, books[key]), False


def shape(fault: str, book: dict[str, Any]) -> dict[str, Any]:
    """Return a book as it is shown."""
    if fault == "shape":
        return {"id": book["id"], "headline": book["title"], "author": book["author"]}
    return book


def main(store: Path, fault: str) -> None:
    """Answer requests line by line."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        params = request.get("params") or {}
        result: dict[str, Any] = {"tools": TOOLS}
        if request["method"] == "initialize":
            server = {"name": "shelf", "version": "1"}
            version = params["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}}
            result["serverInfo"] = server
        elif request["method"] == "tools/call":
            body, is_error = call(fault, store, params["name"], params.get("arguments") or {})
            text = body if isinstance(body, str) else json.dumps(body)
            content = [{"type": "text", "text": text}]
            if fault == "picture" and params["name"] == "get_book":
                content = [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]
            result = {"content": content, "isError": is_error}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main(Path(os.environ["SHELF"]), sys.argv[1] if len(sys.argv) > 1 else "")
