"""Scores prompts with somebody else's build of another llama.cpp release, from Python: the wheel
`cyllama`, pinned in outside-requirements.txt. JSON on stdin, JSON on stdout, in the shape of
reference-logprobs.ts; see README.md.
"""

import heapq
import json
import math
import os
import sys
from importlib.metadata import version

from cyllama.llama import llama_cpp

ROWS_MAX = 512
CONTEXT_STEP = 256


class Model(llama_cpp.LlamaModel):
    """The wheel's `get_logits_ith` asks for this property, which its own model lacks."""

    @property
    def n_vocab(self):
        return self.get_vocab().n_vocab


def main(answer_stream):
    request = json.load(sys.stdin)
    prompts = request["prompts"]
    # A token holds at least one byte; a model may put a token in front.
    longest = max((len(p.encode()) if isinstance(p, str) else len(p) for p in prompts), default=0)
    scorer = Scorer(request, -(-(longest + 8) // CONTEXT_STEP) * CONTEXT_STEP)
    answer = {
        "library": f"cyllama {version('cyllama')}",
        "vocabularySize": scorer.model.n_vocab,
        "prompts": [scorer.score(prompt) for prompt in prompts],
    }
    json.dump(answer, answer_stream)
    answer_stream.write("\n")
    answer_stream.flush()


class Scorer:
    def __init__(self, request, context_length):
        self.top = request.get("top", 5)
        self.chunk_rows = min(request.get("chunkRows", ROWS_MAX), ROWS_MAX)
        model_params = llama_cpp.LlamaModelParams()
        model_params.n_gpu_layers = 0
        model_params.use_extra_bufts = request.get("extraBuffers", True)
        self.model = Model(request["model"], model_params)
        params = llama_cpp.LlamaContextParams()
        params.n_ctx = context_length
        params.n_batch = params.n_ubatch = ROWS_MAX
        params.n_threads = params.n_threads_batch = request.get("threads", 1)
        params.kv_unified = False
        params.flash_attn_type = 1 if request.get("flashAttention", False) else 0
        self.context = llama_cpp.LlamaContext(self.model, params)
        self.batch = llama_cpp.LlamaBatch(n_tokens=ROWS_MAX, embd=0, n_seq_max=1)

    def score(self, prompt):
        tokens = self.tokenize(prompt) if isinstance(prompt, str) else prompt
        if not tokens:
            raise ValueError("a prompt has no tokens")
        logprobs, top, following = [None], [None], []
        for position, logits in self.rows(tokens):
            normaliser = log_sum_exp(logits)
            following = [[t, logits[t] - normaliser] for t in likeliest(logits, self.top)]
            if position + 1 < len(tokens):
                logprobs.append(logits[tokens[position + 1]] - normaliser)
                top.append(following)
        return {"tokens": tokens, "logprobs": logprobs, "top": top, "next": following}

    def rows(self, tokens):
        """Each position with its raw logits."""
        self.context.kv_cache_clear(True)
        for start in range(0, len(tokens), self.chunk_rows):
            chunk = tokens[start : start + self.chunk_rows]
            self.batch.reset()
            for row, token in enumerate(chunk):
                self.batch.add(token, start + row, [0], True)
            self.context.decode(self.batch)
            for row in range(len(chunk)):
                yield start + row, self.context.get_logits_ith(row)

    def tokenize(self, text):
        """With the model's own BOS; names of special tokens are plain text."""
        return self.model.get_vocab().tokenize(text, True, False)


def likeliest(logits, count):
    """Best first, ties by id."""
    least = heapq.nlargest(count, logits)[-1] if count > 0 else math.inf
    found = [token for token, logit in enumerate(logits) if logit >= least]
    return sorted(found, key=lambda token: (-logits[token], token))[:count]


def log_sum_exp(logits):
    largest = max(logits)
    return largest + math.log(math.fsum(math.exp(logit - largest) for logit in logits))


def keep_output_clean():
    """Native code may print to descriptor 1: that goes to the error stream, the answer does not."""
    answer_stream = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answer_stream


if __name__ == "__main__":
    stream = keep_output_clean()
    llama_cpp.disable_logging()
    try:
        main(stream)
    except Exception as error:
        sys.exit(f"outside-reference: {error}")
