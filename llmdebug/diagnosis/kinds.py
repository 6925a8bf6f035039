"""From what a complaint says to the kind of the refusal: library names of errors, and the words of the field."""

from __future__ import annotations

import re

from llmdebug.diagnosis.verdict import Kind

SCHEMA_KINDS: dict[str, Kind] = {
    "missing": "missing_field",
    "missing_argument": "missing_field",
    "union_tag_not_found": "missing_field",
    "extra_forbidden": "unknown_field",
    "unexpected_keyword_argument": "unknown_field",
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
WRONG_TYPE = re.compile(
    r"(_type|_parsing|_from_float|int_from_float|is_instance_of|is_subclass_of|_exact_type|_attributes_type)$"
)

CUES: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.I))
    for kind, pattern in (
        (
            "context_length",
            r"context (?:length|window|size)|maximum (?:model|sequence|input) len|max_model_len|longer than the (?:model|context)"
            r"|too many tokens|exceed\w* .{0,40}(?:context|model len)|prompt is too long|input (?:is )?too long",
        ),
        (
            "model_not_found",
            r"\bmodel\b.{0,80}(?:does not exist|not found|doesn't exist|not exist|unknown|is not (?:served|loaded|available))"
            r"|(?:unknown|no such|invalid) model\b|no model (?:named|with)",
        ),
        ("payload_too_large", r"(?:payload|entity|body) too large"),
        ("content_type", r"content.type|media type"),
        (
            "malformed_json",
            r"(?:invalid|malformed|not valid|failed to (?:parse|decode)|cannot (?:parse|decode)) json|json (?:decode|parse|pars\w+) error|jsondecodeerror|not valid json|expecting (?:value|property|',')",
        ),
        (
            "unknown_field",
            r"unexpected keyword|unknown (?:field|argument|parameter|key)|unrecogni[sz]ed (?:field|argument|parameter|key|request arg)|extra (?:fields|inputs) |not permitted",
        ),
        (
            "conflict",
            r"mutually exclusive|can(?:not|'t)? (?:be|both)? ?(?:set|specified|used|combined|provided)? ?(?:together|both|at the same time|simultaneously|with)\b"
            r"|not compatible|incompatible|only one of|at most one|exactly one|both .{1,60} and|\bwhen using\b|only (?:allowed|valid|supported) (?:when|if|with)|conflict|must be (?:set|true|enabled|provided) (?:to \w+ )?(?:when|if|for)"
            r"|either .{1,60} or .{1,60} (?:not both|but not both)|does not match the number|same (?:length|size) as|(?:requires?|without) .{1,40}(?:to be|being)? ?(?:set|enabled|true)",
        ),
        (
            "unsupported",
            r"not (?:currently |yet )?(?:been )?(?:support|implement|enabled|configured|available|allowed)|unsupport|does(?:n't| not) support|do(?:n't| not) support|is disabled|isn't supported|not a \w+ model"
            r"|launch .{0,40}with|start .{0,40}with|please (?:set|enable|use|restart|launch|start).{0,40}--|requires? .{0,30}--\w|no .{1,30} (?:configured|loaded|installed)|is not \w+ enabled",
        ),
        (
            "missing_field",
            r"\bmissing\b|(?:is|are) required|must be (?:provided|specified|given|set|present)|required (?:field|property|parameter|input|argument)|not (?:be )?provided|must (?:provide|specify|pass|include|contain|have)|no \w+ (?:was |were )?(?:provided|given|specified)|need to (?:provide|specify)|should be provided|field required",
        ),
        (
            "out_of_range",
            r"must be (?:at least|at most|greater|less|larger|smaller|between|positive|non-?negative|in (?:the )?(?:range|\[|\()|>|<|>=|<=|a? ?finite|no (?:more|less)|within|\d)|out of (?:range|vocab|bounds)|greater than|less than|exceeds?|too (?:large|small|many|long|few|short|big|high|low)|at (?:least|most) \d|maximum|minimum|max allowed|cannot be (?:negative|greater|less|larger)|should be (?:between|greater|less|in|positive|at)|in \[|in the range|non-?negative|up to \d|larger than|smaller than",
        ),
        (
            "wrong_type",
            r"must be (?:an? )?(?:str\b|string|int\b|integer|number|float|bool|boolean|list|array|dict|object|valid (?:string|integer|number|list|dictionary|boolean)|of type|json)|should be (?:an? )?(?:valid )?(?:str\b|string|int\b|integer|number|float|bool|list|array|dict|object)|expected (?:an? )?(?:str|int|number|bool|list|dict|object|array)|object has no attribute|indices must be|not subscriptable|not iterable|unsupported operand|wrong type|is not (?:an? )?(?:str|int|list|dict|number|object|array|valid \w+ type)|has no len|not supported between instances|must be str",
        ),
    )
)
RUNTIME_WRONG_TYPE = re.compile(
    r"object has no attribute|indices must be|not subscriptable|is not iterable|object is not callable|has no len\(\)|not supported between instances|unsupported operand type|object of type|must be real number|expected str|not a mapping|argument of type|unhashable type|object does not support|cannot unpack"
)


def kind_of_schema(error_type: str) -> Kind | None:
    """The kind of a validation error by the validation library's name for it; None for a validator's own text."""
    if error_type in SCHEMA_KINDS:
        return SCHEMA_KINDS[error_type]
    return "wrong_type" if WRONG_TYPE.search(error_type) else None


def kind_of_text(text: str, status: int = 400) -> Kind:
    """The kind that a message in plain words speaks of."""
    if RUNTIME_WRONG_TYPE.search(text):
        return "wrong_type"
    for kind, pattern in CUES:
        if pattern.search(text):
            return kind
    return "bad_value" if status in (400, 422) else "other"
