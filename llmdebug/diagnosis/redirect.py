"""An answer that sends the client elsewhere. It is not followed; where it is safe, the request there is offered."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

from llmdebug.diagnosis.finding import Spot
from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.question import Question
from llmdebug.diagnosis.remedies.proposal import Proposal
from llmdebug.diagnosis.remedies.request import remedy_of
from llmdebug.diagnosis.schema_claim import handler_spot
from llmdebug.diagnosis.sentence import shortened
from llmdebug.diagnosis.verdict import Kind, Remedy, RemedyRequest, TrailStep
from llmdebug.http.exchange import Response, header

STATUSES = (301, 302, 303, 307, 308)
MAX_SHOWN = 160
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Redirect:
    """Where a server sends a request."""

    target: str
    """An absolute URL; empty where the answer does not say, or says it so that it cannot be read."""
    told: str
    """As the server wrote it."""
    is_own: bool
    """Whether it is the same server, so that keys may go there."""
    is_loop: bool


def redirect_of(question: Question, response: Response | None) -> Redirect | None:
    """None where the answer is no redirect."""
    if response is None or response.status not in STATUSES:
        return None
    told = header(response.headers, "Location") or ""
    asked = question.request.url
    try:
        target = urljoin(asked, told.strip()) if told.strip() else ""
        here, there = urlsplit(asked), urlsplit(target)
        own = _is_own(here, there)
    except ValueError:
        return Redirect("", told, False, False)
    if there.scheme not in _PORTS or not there.hostname:
        return Redirect("", told, False, False)
    return Redirect(target, told, own, target == asked)


def _is_own(here: SplitResult, there: SplitResult) -> bool:
    """The same host and port, or the same host by TLS. Raises ValueError for a port that is none."""
    if here.hostname != there.hostname or there.username is not None:
        return False
    is_upgrade = (here.scheme, there.scheme) == ("http", "https")
    same_port = (here.port or _PORTS.get(here.scheme)) == (there.port or _PORTS.get(there.scheme))
    return is_upgrade or (here.scheme == there.scheme and same_port)


def kind_of(redirect: Redirect, question: Question) -> Kind:
    """`no_route` where the server itself serves another path."""
    moved = redirect.is_own and urlsplit(redirect.target).path != question.path
    return "no_route" if moved else "other"


def sentence_of(redirect: Redirect, question: Question) -> str:
    """What happened, for people."""
    asked = f"{question.method} {question.path}"
    if not redirect.target:
        lead = f'to "{redirect.told}", which is no address' if redirect.told else "without saying where to"
        return shortened(f"{asked} is redirected {lead}", MAX_SHOWN)
    if redirect.is_loop:
        return shortened(f"{asked} is redirected to itself", MAX_SHOWN)
    where = redirect.target if not redirect.is_own or kind_of(redirect, question) == "other" else redirect.told
    whose = "" if redirect.is_own else ", which is another server"
    return shortened(f"{asked} is redirected to {where}{whose}; no redirect is followed", MAX_SHOWN + 100)


def remedies_of(redirect: Redirect, question: Question) -> tuple[Remedy, ...]:
    """The request to where it is sent; to another host it is for the user to decide."""
    if not redirect.target or redirect.is_loop:
        return ()
    becomes_get = question.answer.status == 303
    method = "GET" if becomes_get else question.method
    title = f"{method} {shortened(redirect.target, MAX_SHOWN)}"
    if not redirect.is_own:
        why = "It is another server: give its address as the base URL, and a key for it, if you trust it."
        return (Remedy(title=title, why=why),)
    if question.request.body.strip() and question.body is None and not becomes_get:
        return (Remedy(title=title, why="The server serves it there. The body is no JSON: send it there yourself."),)
    made = remedy_of(question, Proposal(title, "The server itself says that it serves it there.", method=method))
    if made is None:
        return ()
    request = made.requests[0]
    there = RemedyRequest(method=request.method, url=redirect.target, headers=request.headers, body=request.body)
    return (Remedy(title=title, why=made.why, requests=(there,)),)


def spots_of(redirect: Redirect, question: Question, ground: Ground) -> list[Spot]:
    """Where a tree registers the path that the request is sent to."""
    if not redirect.is_own:
        return []
    path = urlsplit(redirect.target).path or "/"
    method = "GET" if question.answer.status == 303 else question.method
    matches = ground.resolve(method, path).matches
    return [handler_spot(ground, found, "registers the path that it is redirected to", 0.6) for found in matches[:1]]


def trail_of(redirect: Redirect, question: Question) -> tuple[TrailStep, ...]:
    """The way from the answer to what to do."""
    symptom = f"{question.method} {shortened(question.path, 80)} answered {question.answer.status}"
    said = f"Location: {shortened(redirect.told, MAX_SHOWN)}" if redirect.told else "the answer has no Location"
    verdict = "sending it there settles it" if redirect.is_own and not redirect.is_loop else "to be settled elsewhere"
    return (
        TrailStep(step="symptom", text=symptom),
        TrailStep(step="hypothesis", text="it is served elsewhere"),
        TrailStep(step="for" if redirect.target else "against", text=said),
        TrailStep(step="verdict", text=verdict),
    )
