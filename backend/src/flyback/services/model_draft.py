"""What a person says of a model entry, and what is wrong with it: each fault with its field and remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from pydantic import JsonValue

from flyback.domain.errors import InvalidError
from flyback.domain.model_entry import BUILT_IN, EMBEDDED, SCRIPTED, ModelEntry, Prices
from flyback.domain.script import read_script
from flyback.providers.chat.vendors import VENDORS

_MAX_NAME = 200
_LONGEST_URL = 2_000


@dataclass(frozen=True, slots=True)
class ModelDraft:
    """What a person says of an entry. `api_key`: None keeps the stored one, an empty text removes it."""

    name: str
    provider: str
    base_url: str | None = None
    model: str = ""
    api_key: str | None = None
    prices: Prices | None = None
    fallbacks: Sequence[str] = ()
    is_default: bool = False
    script: JsonValue = None


def checked(draft: ModelDraft) -> ModelDraft:
    """Return the draft with its texts trimmed. Raises InvalidError for what is wrong with it by itself."""
    name = draft.name.strip()
    if not name or len(name) > _MAX_NAME or not name.isprintable():
        raise InvalidError("A model entry needs a name of one line.", field="name", fix="Give it a short name.")
    if name in BUILT_IN:
        raise InvalidError(f"The name {name!r} is that of a built-in model.", field="name", fix="Choose another name.")
    checked = replace(
        draft,
        name=name,
        base_url=_checked_url(draft.base_url),
        model=draft.model.strip(),
        api_key=_checked_key(draft.api_key),
        fallbacks=tuple(dict.fromkeys(fallback.strip() for fallback in draft.fallbacks)),
    )
    _check_provider(checked)
    return checked


def _check_provider(draft: ModelDraft) -> None:
    if draft.provider == SCRIPTED:
        read_script(draft.script)
        return
    if draft.script is not None:
        raise InvalidError("Only a scripted model has a script.", field="script", fix="Leave the script out.")
    if draft.provider == EMBEDDED:
        return
    vendor = VENDORS.get(draft.provider)
    if vendor is None:
        known = ", ".join([*VENDORS, *BUILT_IN])
        raise InvalidError(f"There is no provider {draft.provider!r}.", field="provider", fix=f"Choose one of {known}.")
    if draft.base_url is None and vendor.base_url is None:
        fix = "Enter the address of the API, such as https://models.example.com/v1."
        raise InvalidError("An OpenAI-compatible model needs its base URL.", field="baseUrl", fix=fix)
    if not draft.model:
        fix = f"Enter it as {vendor.title} writes it" + (f", such as {vendor.model!r}." if vendor.model else ".")
        raise InvalidError("The entry needs the provider's name of the model.", field="model", fix=fix)


def _checked_url(text: str | None) -> str | None:
    url = (text or "").strip().rstrip("/")
    if not url:
        return None
    fix = "Enter an address such as https://models.example.com/v1, without a user name and without a query."
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and parts.hostname is not None and (parts.port or 1) > 0
    except ValueError:
        whole, parts = False, urlsplit("")
    if not whole or parts.username is not None or parts.query or parts.fragment or len(url) > _LONGEST_URL:
        raise InvalidError(f"The base URL {url[:200]!r} cannot be used.", field="baseUrl", fix=fix)
    if not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidError(
            f"The base URL {url[:200]!r} has letters that an address cannot have.", field="baseUrl", fix=fix
        )
    return url


def _checked_key(text: str | None) -> str | None:
    if text is None:
        return None
    key = text.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        fix = "Copy the key again, alone and whole."
        raise InvalidError("The API key has letters that a key cannot have.", field="apiKey", fix=fix)
    return key


def check_among(draft: ModelDraft, entries: Sequence[ModelEntry], own_id: str | None) -> None:
    """Check what depends on the other entries."""
    others = [entry for entry in entries if entry.id != own_id]
    if any(draft.name in (entry.name, entry.id) for entry in others):
        raise InvalidError(f"A model entry {draft.name!r} exists already.", field="name", fix="Choose another name.")
    known = {*BUILT_IN, *(entry.name for entry in others)}
    for fallback in draft.fallbacks:
        if fallback not in known:
            what = "itself" if fallback == draft.name else f"{fallback!r}, which does not exist"
            fix = "Choose other models that exist."
            raise InvalidError(f"The fallbacks name {what}.", field="fallbacks", fix=fix)
