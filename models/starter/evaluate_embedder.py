"""Evidence recall@10 of a student against MiniLM's, on LoCoMo's development conversations
(evaluation only). The program's own measurement of the finished file is `cargo test --release
--test embedder -- --nocapture`.

    python evaluate_embedder.py --minilm DIR --student student.pt --memories ../shared/data/locomo-dev-memories
"""

import argparse
import json
import re
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import BertModel

from distil_embedder import embed_all, student_of


def recall(memories, vectors_of):
    shares = []
    for folder in sorted(Path(memories).iterdir()):
        semantics = [json.loads(line) for line in open(folder / "semantics.jsonl")]
        questions = json.loads((folder / "qa.json").read_text())
        s, q = vectors_of(folder, semantics, questions)
        order = np.argsort(-(q @ s.T), axis=1, kind="stable")[:, :10]
        for question, top in zip(questions, order):
            evidence = [e for e in question["evidence"] if re.fullmatch(r"D\d+:\d+", e)]
            if question["category"] not in (1, 2, 3, 4) or not evidence:
                continue
            covered = {e for i in top for e in semantics[i]["evidence"]}
            shares.append(sum(e in covered for e in evidence) / len(evidence))
    return float(np.mean(shares)), len(shares)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minilm", required=True)
    parser.add_argument("--student", required=True)
    parser.add_argument("--memories", required=True)
    args = parser.parse_args()
    torch.set_num_threads(2)
    tokenizer = Tokenizer.from_file(f"{args.minilm}/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    teacher = BertModel.from_pretrained(args.minilm, add_pooling_layer=False)
    student = student_of(teacher)
    student.load_state_dict(torch.load(args.student))
    student.eval()

    def reference(folder, semantics, questions):
        return np.load(folder / "semantics.f32.npy"), np.load(folder / "questions.f32.npy")

    cosines = []

    def ours(folder, semantics, questions):
        ids = [e.ids for e in tokenizer.encode_batch([s["content"] for s in semantics])]
        asked = [e.ids for e in tokenizer.encode_batch([q["question"] for q in questions])]
        s, q = embed_all(student, ids), embed_all(student, asked)
        cosines.extend((s * np.load(folder / "semantics.f32.npy")).sum(1))
        return s, q

    (theirs, n), (mine, _) = recall(args.memories, reference), recall(args.memories, ours)
    print(f"evidence recall@10 over {n} questions: MiniLM {theirs:.4f}, student {mine:.4f} "
          f"({mine / theirs:.4f}x), mean cosine {np.mean(cosines):.4f}")


if __name__ == "__main__":
    main()
