"""From what a complaint says to the kind of the refusal: library names of errors, and the words of the field."""

from __future__ import annotations

import re
from http import HTTPStatus

from llmdebug.diagnosis.verdict import Kind

SAYS_NOTHING = re.compile(
    r"""(?:(?:500|error|:|-|\W
    |internal\ server\ error|server\ error(?:\ \(500\))?|server\ got\ itself\ in\ trouble
    |an?\ (?:internal\ |unexpected\ |unknown\ )?error\ (?:has\ )?occurred
    |the\ server\ encountered\ an\ (?:internal|unexpected)\ (?:server\ )?error
    (?:\ and\ was\ unable\ to\ complete\ your\ request)?
    |either\ the\ server\ is\ overloaded\ or\ there\ is\ an\ error\ in\ the\ application)\s*)*""",
    re.IGNORECASE | re.VERBOSE,
)
"""What frameworks say of a failure that nobody caught."""
STATUS_PHRASES = {status.value: status.phrase.lower() for status in HTTPStatus}
SCHEMA_KINDS: dict[str, Kind] = {
    "missing": "missing_field",
    "missing_argument": "missing_field",
    "union_tag_not_found": "missing_field",
    "extra_forbidden": "unknown_field",
    "unexpected_keyword_argument": "unknown_field",
    "duplicate_key": "conflict",
    "literal_error": "bad_value",
    "enum": "bad_value",
    "union_tag_invalid": "bad_value",
    "string_pattern_mismatch": "bad_value",
    "json_invalid": "malformed_json",
    "greater_than": "out_of_range",
    "greater_than_equal": "out_of_range",
    "less_than": "out_of_range",
    "less_than_equal": "out_of_range",
    "multiple_of": "out_of_range",
    "finite_number": "out_of_range",
    "too_short": "out_of_range",
    "too_long": "out_of_range",
    "string_too_short": "out_of_range",
    "string_too_long": "out_of_range",
}
WRONG_TYPE = re.compile(r"(?:_type|_parsing|_from_float|is_instance_of|is_subclass_of)$")
ROUTER_TEXTS = frozenset(
    {
        "",
        "not found",
        "404: not found",
        "404 not found",
        "404 page not found",
        "method not allowed",
        "405: method not allowed",
    }
)

ROUTER_SENTENCE = "the requested url was not found on the server"
"""Stands in the page of a framework for paths that it does not know."""

MAX_TEXT = 4_000
"""What a refusal says, it says in its first few thousand characters."""

GIVEN = "set|specified|used|combined|provided|given|passed|mixed"
TOGETHER = "together|both|at the same time|simultaneously"
REFUSED = "unsupported|not supported|not allowed|not (?:currently )?available|disallowed"
TYPE_NAMES = "str|string|int|integer|number|float|bool|boolean|list|array|dict|object|json|mapping|sequence|i64|u32|f32"

PHRASES: dict[Kind, tuple[str, ...]] = {
    "content_type": (r"content[ -]type header", r"media type", r"content-type"),
    "payload_too_large": (r"(?:payload|entity|body) (?:is )?too large",),
    "malformed_json": (
        r"(?:invalid|malformed|not valid|(?:failed to|cannot|could not) (?:parse|decode)) (?:as )?json",
        r"json (?:decode|decoding|parse|parsing) error",
        r"jsondecodeerror",
        r"expecting (?:value|property name|',' delimiter|':' delimiter)",
        r"unterminated string",
        r"looking for beginning of",
        r"(?:body|request) is not valid json",
    ),
    "context_length": (
        r"maximum context",
        r"context (?:length|window|size) (?:of|is|exceeded|limit)",
        r"longer than the (?:model|context)",
        r"too many (?:input |prompt )?tokens",
        r"exceed\w* .{0,50}context",
        r"(?:prompt|input) (?:is )?too long",
        r"tokens? \+ .{0,40}must be",
        r"(?:prompt|input)\b.{0,30}\b(?:tokens?|len|length)\b.{0,80}\d\s*>\s*\d",
        r"must have less than \d+ tokens",
        r"tokens?\b.{0,60}(?:larger|longer|more|greater) than .{0,40}(?:length|context|limit)",
        r"(?:smaller|less|shorter) than the .{0,30}context",
        r"input tokens?.{0,40}(?:exceed|longer|more than)",
        r"(?:input|prompt).{0,60}longer than .{0,40}(?:context|maximum|length)",
        r"(?:token count|tokens).{0,60}exceed\w* .{0,40}(?:model|context|limit|maximum)",
    ),
    "model_not_found": (
        r"\bmodel\b.{0,80}(?:does not exist|not found|doesn't exist|not exist|is not (?:served|loaded|available))",
        r"(?:unknown|no such) model\b",
        r"invalid model(?: (?:name|id))?(?: \w+ in model=| ?[:=]|\.? *$)",
        r"\bno model \S+ (?:is|are|was) (?:currently )?loaded",
        r"no model (?:named|with|called)",
    ),
    "unknown_field": (
        r"unexpected keyword",
        r"(?:unknown|unrecogni[sz]ed|unexpected) (?:field|argument|parameter|key|request arg|propert)",
        r"extra (?:fields|inputs) ",
        r"is not a (?:known|recogni[sz]ed|valid) (?:field|parameter|argument)",
    ),
    "conflict": (
        r"mutually exclusive",
        rf"can(?:not|'t| not) (?:both )?be (?:{GIVEN})?\s*(?:{TOGETHER})",
        rf"can(?:not|'t| not) (?:be )?(?:{GIVEN}) (?:together )?(?:with|alongside)",
        r"not compatible|incompatible",
        r"(?:only|at most|exactly) (?:use |set |give |specify |provide )?one (?:kind |type )?of",
        rf"(?:{REFUSED}) (?:together |in combination )?with\b",
        rf"(?:{REFUSED}) (?:in|when|while|for) (?:using |the )?(?:stream|greedy|batch|beam)",
        r"when using\b",
        rf"(?:only|can only be) (?:be )?(?:{GIVEN}|defined|allowed|valid) (?:when|if|with|for|together)",
        rf"must be (?:{GIVEN}|true|enabled|greater|1)\b[^.]{{0,40}} (?:when|if|for|in order)\b",
        r"but not both|not both",
        r"does not match the (?:number|length)|same (?:length|number|size) as|must match the (?:number|length)",
        r"requires? [`'\"]?\w+[`'\"]? (?:to be )?(?:set|true|enabled|=)",
        r"you must use .{1,40} when",
        r"must be (?:true|enabled|set) (?:to (?:support|use|enable)|for)\b",
        r"cannot .{1,40} (?:and|while) .{1,40} (?:at the same time|together|simultaneously)",
        r"cannot (?:specify|set|give|use|combine|pass|provide) .{1,60} together with",
    ),
    "unsupported": (
        r"not (?:currently |yet )?(?:been )?(?:support|implement|enabled|configured|available|activated)",
        r"unsupport",
        r"(?:does|do|is|are)(?:n't| not) (?:currently |yet )?(?:support|enabled|available|implemented)",
        r"\bis disabled|are disabled|disabled on this",
        r"not a \w+ model|does not appear to be an? \w+ model",
        r"--[a-z][\w-]+",
        r"(?:launch|start|restart|run) (?:the )?server",
        r"only .{1,60} (?:is|are) (?:currently )?supported",
        r"only supports? ",
        r"set only by",
        r"no .{1,30} (?:configured|loaded|installed)",
    ),
    "missing_field": (
        r"\bmissing\b",
        r"(?:is|are) required|^[\w.\[\]'\"`]+ required\.?$",
        r"\bno ['\"`]?\w+['\"`]? (?:field|key|parameter|property)\b",
        r"must be (?:provided|specified|given|set|present|supplied|passed)",
        r"required (?:field|property|parameter|input|argument|key)",
        r"not (?:be )?(?:provided|specified|given)\b",
        r"must (?:provide|specify|pass|include|contain|supply)",
        r"(?:but )?none (?:is|are|was|were) (?:specified|provided|given|set)",
        r"no \w+ (?:was |were |is )?(?:provided|given|specified|supplied)",
        r"(?:need|have) to (?:provide|specify|pass)",
        r"should be (?:provided|specified|given)",
        r"please (?:provide|specify|pass|supply) (?:the|an?|your) (?!valid)",
        r"field required",
        r"key '\w+' not found",
        r"at least one of",
    ),
    "out_of_range": (
        r"must be (?:at (?:least|most)|greater|less|larger|smaller|between|positive|within|in the range)",
        r"must be (?:(?:a )?non-?negative|>|<|no (?:more|less))|must [<>]",
        r"must be in [\[(]|\b(?:keys|values?|ids?) in [\[(]",
        r"(?:must|has to|have to|should) be (?:an? )?(?:strictly )?(?:finite|positive|non-?negative)",
        r"\b(?:ids?|tokens?|values?|length|len|size) (?:>|<|>=|<=) \w",
        r"must (?:not )?(?:exceed|contain at (?:least|most))",
        r"should be (?:between|greater|less|in the range|in [\[(]|positive|at (?:least|most)|non-?negative|within)",
        r"out[ -]of[ -](?:range|vocab|bounds)|\bnot (?:in|within) (?:a |an |the )?(?:valid |allowed )?range",
        r"(?:greater|less|larger|smaller|more|fewer) than",
        r"exceed(?:s|ed|ing)?\b",
        r"too (?:large|small|many|few|short|big|high|low|long)",
        r"at (?:least|most) \d",
        r"\bmax(?:imum)? (?:allowed|of|number|value|is)|minimum (?:allowed|of|value|is)|max allowed",
        r"can(?:not|'t) be (?:negative|greater|less|larger|smaller|zero)",
        r"negative|up to \d",
        r"invalid tokens?\b",
        r"invalid value: integer",
    ),
    "wrong_type": (
        rf"must be (?:an? |of type )?(?:valid )?(?:{TYPE_NAMES})s?\b",
        rf"must not be an? (?:{TYPE_NAMES})",
        rf"(?:should be|expected|to be) (?:an? )?(?:valid )?['`\"]?(?:{TYPE_NAMES})\b",
        r"cannot unmarshal|invalid type|wrong type|type mismatch",
        r"did not match any variant",
        r"invalid (?:input|message|content) (?:content )?type",
    ),
}
CUES = {kind: re.compile("|".join(phrases), re.I | re.S) for kind, phrases in PHRASES.items()}

RUNTIME_WRONG_TYPE = re.compile(
    r"object has no attribute|indices must be|not subscriptable|is not iterable|object is not callable|has no len\(\)"
    r"|not supported between instances|unsupported operand type|must be real number|expected str|not a mapping"
    r"|argument of type|unhashable type|object does not support|cannot unpack"
)


def kind_of_schema(error_type: str) -> Kind | None:
    """The kind of a validation error by the validation library's name for it; None for a validator's own text."""
    if error_type in SCHEMA_KINDS:
        return SCHEMA_KINDS[error_type]
    return "wrong_type" if WRONG_TYPE.search(error_type) else None


def kind_of_text(text: str, status: int = 400) -> Kind:
    """The kind that a message in plain words speaks of; the status decides where it alone does."""
    text = text[:MAX_TEXT]
    if status in (401, 407, 511) or (status == 403 and not CUES["unsupported"].search(text)):
        return "auth"
    if status == 413:
        return "context_length" if CUES["context_length"].search(text) else "payload_too_large"
    if status == 415:
        return "content_type"
    if status == 405:
        return "wrong_method"
    if status in (408, 429):
        return "other"
    if RUNTIME_WRONG_TYPE.search(text):
        return "wrong_type"
    if re.search(
        r"invalid (?:host|origin)|unauthori[sz]ed|forbidden|api[ _]key"
        r"|authentication|unauthenticated|not authenticated|^.{0,40}authenticat",
        text,
        re.I,
    ):
        return "auth"
    for kind, pattern in CUES.items():
        if pattern.search(text):
            return kind
    if status == 501:
        return "unsupported"
    if status in (502, 504):
        return "upstream"
    if status == 503:
        return "other"
    return "other" if says_nothing(text, status) else "bad_value"


def says_nothing(text: str, status: int) -> bool:
    """Whether an answer says no more than its status does."""
    said = text.strip()[:400]
    if status >= 500:
        return SAYS_NOTHING.fullmatch(said) is not None
    return not said or said.rstrip(".!").lower() == STATUS_PHRASES.get(status)
