"""What the trained weights say, in PyTorch: the words that `tests/starter.rs` expects of the program.

    python reply_language.py --model DIR
"""

import argparse
import json

import torch
from tokenizers import Tokenizer
from transformers import LlamaForCausalLM

from generator import render

NOTES = [
    "[9 August 2023] The user moved to Lund.",
    "[14 September 2023] The user has a dog called Biscuit.",
    "[20 September 2023] Ana works at Mafen Labs.",
]
ASKED = [
    ("answer", NOTES, "What is the name of my dog?"),
    ("answer", NOTES, "Where does Ana work?"),
    ("chat", [], "Good night"),
    ("chat", [], "What is your name?"),
    ("extraction", [], "Date: 13 August 2023\nThe user: My dog is called Biscuit."),
    ("merge", [], "The user lives in Lund.\nThe user has a dog called Biscuit."),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    args = parser.parse_args()
    tokenizer = Tokenizer.from_file(f"{args.model}/tokenizer.json")
    model = LlamaForCausalLM.from_pretrained(args.model).eval()
    for task, notes, text in ASKED:
        trunk, branches, _ = render.branching(task, notes, [(text, "")])
        prompt = "".join(piece for piece, _ in [*trunk, *branches[0][:-1]])
        ids = tokenizer.encode(prompt, add_special_tokens=False).ids
        out = model.generate(torch.tensor([ids]), max_new_tokens=60, do_sample=False, eos_token_id=0, pad_token_id=0)
        print(json.dumps([task, text, tokenizer.decode(out[0, len(ids) :].tolist())]))


if __name__ == "__main__":
    main()
