"""The embedder beside ONNX Runtime, f32, on the same MiniLM.

    pip install torch transformers onnx onnxscript onnxruntime
    python tests/bench/vs_onnxruntime.py --inglenook target/release/inglenook --minilm $(tests/fixtures/fetch-minilm.sh)

Both take turns; medians. ONNX Runtime gets ready-made tokens, inglenook text.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from transformers import AutoTokenizer, BertModel

SENTENCE = ("We walked along the river for an hour this morning, then my sister told me that she is going to move to "
            "another town next spring, to be near her work.")  # as `inglenook-eval bench embedder` has it


class States(torch.nn.Module):
    def __init__(self, folder):
        super().__init__()
        self.bert = BertModel.from_pretrained(folder, attn_implementation="eager").eval()

    def forward(self, ids, mask):
        return self.bert(input_ids=ids, attention_mask=mask).last_hidden_state


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inglenook", required=True)
    parser.add_argument("--minilm", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(args.minilm)
    texts = [f"{i}. {SENTENCE}" for i in range(32)]
    rows = tokenizer(texts, padding="longest", return_tensors="np")
    print(f"{rows['input_ids'].shape[1]} tokens a text")
    with tempfile.TemporaryDirectory() as folder:
        model = f"{folder}/minilm.onnx"
        example = torch.tensor(rows["input_ids"]), torch.tensor(rows["attention_mask"])
        axes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
        torch.onnx.export(States(args.minilm), example, model, input_names=["ids", "mask"], dynamo=True,
                          dynamic_shapes={"ids": axes, "mask": axes})
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = args.threads
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

        def theirs(n, repeats=20):
            feed = {"ids": rows["input_ids"][:n].astype(np.int64), "mask": rows["attention_mask"][:n].astype(np.int64)}
            session.run(None, feed)
            times = []
            for _ in range(repeats):
                begun = time.perf_counter()
                session.run(None, feed)
                times.append((time.perf_counter() - begun) * 1e3)
            return statistics.median(times)

        def run(*command):
            out = subprocess.run([args.inglenook, "--data-dir", f"{folder}/data", *command], check=True, capture_output=True, text=True)
            return out.stdout

        run("model", "import", str(Path(args.minilm).resolve()), "--name", "minilm")
        run("model", "use", "minilm")
        found = {"one": [], "many": [], "ort one": [], "ort many": []}
        for _ in range(args.rounds):
            ours = json.loads(run("bench", "embedder", "--json", "--threads", str(args.threads)))
            found["one"].append(ours["one_ms"])
            found["many"].append(ours["many_ms"])
            found["ort one"].append(theirs(1))
            found["ort many"].append(theirs(32))
        median = {name: statistics.median(times) for name, times in found.items()}
        for name, what in (("one", "1 text"), ("many", "32 texts")):
            ours, other = median[name], median[f"ort {name}"]
            print(f"{what}: inglenook {ours:.2f} ms, ONNX Runtime {other:.2f} ms, ratio {other / ours:.2f}")


if __name__ == "__main__":
    main()
