"""The starter's tokenizer: byte-level BPE over the open text and the generated tasks.

    python train_tokenizer.py --training ../../../shared/data/training --out DIR [--size 8192]
"""

import argparse
import random
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from generator import answer, recast, render

PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}{1,2}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def open_text(folder):
    seen = set()
    for row in recast.load(folder):
        for message in row["messages"]:
            text = message["content"][:1500]
            if text[:200] not in seen:
                seen.add(text[:200])
                yield render.prepare(text)


def generated(n):
    for seed in range(n):
        context = answer.Context(random.Random(seed), 8)
        yield "\n".join(context.lines())
        for question, value, _ in context.questions(6):
            yield f" {question}\n {value}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--training", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--size", type=int, default=8192)
    args = parser.parse_args()
    texts = list(open_text(args.training)) + list(generated(12_000))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    special = [AddedToken(t, special=True, normalized=False) for t in (render.END, render.SYSTEM, render.USER, render.ASSISTANT)]
    trainer = trainers.BpeTrainer(vocab_size=args.size, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), min_frequency=3)
    tokenizer.train_from_iterator(texts, trainer)
    Path(args.out).mkdir(parents=True, exist_ok=True)
    tokenizer.save(f"{args.out}/tokenizer.json")
    ids = [len(tokenizer.encode(t).ids) for t in texts[-2000:]]
    print(f"{tokenizer.get_vocab_size()} entries from {len(texts)} texts; {sum(map(len, texts[-2000:])) / sum(ids):.2f} characters a token of generated text")


if __name__ == "__main__":
    main()
