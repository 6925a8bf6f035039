"""Small tokenizers of each kind, trained on the demo's corpus and saved as folders that transformers reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from llmdebug.demo import model

CHATML = (
    "{%- for message in messages %}\n"
    "{%- if message.role == 'system' and not loop.first %}\n"
    "{{- raise_exception('System message must come first') }}\n"
    "{%- endif %}\n"
    "{{- '<s>' + message.role + ': ' + message.content }}\n"
    "{%- endfor %}\n"
    "{%- if add_generation_prompt %}{{ '<s>assistant: ' }}{% endif %}"
)


def corpus() -> list[str]:
    return model.CORPUS.read_text(encoding="utf-8").splitlines()[:400]


def byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def wordpiece() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=600, special_tokens=["[UNK]", "[CLS]", "[SEP]", "<s>"], show_progress=False
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", tokenizer.token_to_id("[CLS]")), ("[SEP]", tokenizer.token_to_id("[SEP]"))],
    )
    return tokenizer


def unigram() -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=500, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def sentencepiece_like() -> Tokenizer:
    """BPE with byte fallback, as converted Llama tokenizers are: a token for each byte, `▁` for a space."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=800, special_tokens=["<unk>", "<s>", "</s>", *byte_tokens], show_progress=False
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    state = json.loads(tokenizer.to_str())
    state["added_tokens"] = [token for token in state["added_tokens"] if not token["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(state))


KINDS: dict[str, Callable[[], Tokenizer]] = {
    "byte_level": byte_level,
    "wordpiece": wordpiece,
    "unigram": unigram,
    "sentencepiece_like": sentencepiece_like,
}


def saved(tokenizer: Tokenizer, folder: Path, template: str = CHATML, **config: Any) -> Path:
    """The tokenizer as a model's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512, "chat_template": template}
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, **config}))
    return folder


def with_holes(tokenizer: Tokenizer) -> Tokenizer:
    """One more token, far above the others: the ids between have none."""
    state = json.loads(tokenizer.to_str())
    far = tokenizer.get_vocab_size() + 10
    state["added_tokens"].append(
        {"id": far, "content": "<far>", "special": True}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    )
    state["model"]["vocab"]["<far>"] = far
    return Tokenizer.from_str(json.dumps(state))
