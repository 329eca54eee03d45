"""The current openai client: nulls for None, extensions through `extra_body`, typed answers.

Arguments: the server's address and a key. Prints one JSON object with what each call gave.
"""

import asyncio
import json
import sys

import openai

URL = sys.argv[1] + "/v1"
KEY = sys.argv[2]
CLIENT = openai.OpenAI(base_url=URL, api_key=KEY, max_retries=0)
FIELDS = dict(model="davinci-002", prompt="The river was", seed=3, max_tokens=6)


def nulls():
    names = ["best_of", "echo", "frequency_penalty", "logit_bias", "logprobs", "n"]
    names += ["presence_penalty", "stop", "stream_options", "suffix", "temperature", "top_p"]
    answer = CLIENT.completions.create(**FIELDS, **{name: None for name in names})
    return {"body": answer.model_dump(), "request_id": answer._request_id}


def stream():
    text = ""
    usage = None
    options = {"include_usage": True}
    for chunk in CLIENT.completions.create(**FIELDS, stream=True, stream_options=options):
        usage = chunk.usage
        text += "".join(choice.text for choice in chunk.choices)
    return {"text": text, "usage": usage.model_dump()}


def extra_body():
    extra = {"ignore_eos": True, "min_p": 0.01, "top_k": 50, "not_known_here": {"a": 1}}
    answer = CLIENT.completions.create(**FIELDS, logprobs=2, echo=True, extra_body=extra)
    return answer.model_dump()


def asynchronous():
    async def both():
        client = openai.AsyncOpenAI(base_url=URL, api_key=KEY, max_retries=0)
        one, two = await asyncio.gather(
            client.completions.create(**FIELDS), client.completions.create(**FIELDS)
        )
        return [one.choices[0].text, two.choices[0].text]

    return asyncio.run(both())


def failure(call):
    try:
        call()
    except openai.APIStatusError as error:
        fields = ("status_code", "code", "param", "type", "request_id")
        return {"class": type(error).__name__, **{name: getattr(error, name) for name in fields}}
    return None


def errors():
    stranger = CLIENT.with_options(api_key="sk-wrong-0123456789abcdef")
    return {
        "range": failure(lambda: CLIENT.completions.create(**{**FIELDS, "temperature": 3})),
        "model": failure(lambda: CLIENT.completions.create(model="no-such", prompt="x")),
        "key": failure(lambda: stranger.completions.create(**FIELDS)),
        "route": failure(lambda: CLIENT.embeddings.create(model="davinci-002", input="x")),
    }


CALLS = [nulls, stream, extra_body, asynchronous, errors]
print(json.dumps({call.__name__: call() for call in CALLS}))
