"""openai 0.28 as research code uses it: `engine=`, so the model is in the path.

Arguments: the server's address and a key. Prints one JSON object with what each call gave.
"""

import asyncio
import json
import sys

import openai

openai.api_base = sys.argv[1] + "/v1"
openai.api_key = sys.argv[2]

ENGINE = "text-davinci-003"
PROMPT = "The river was"


def create(**fields):
    return openai.Completion.create(engine=ENGINE, prompt=PROMPT, seed=3, **fields)


def completion():
    answer = create(max_tokens=6, temperature=0.7)
    return {"body": answer, "organization": answer.organization}


def stream():
    chunks = list(create(max_tokens=6, temperature=0.7, stream=True))
    return {
        "text": "".join(chunk.choices[0].text for chunk in chunks),
        "finish_reasons": [chunk.choices[0].finish_reason for chunk in chunks],
    }


def score():
    answer = openai.Completion.create(
        engine=ENGINE,
        prompt=["The river was high", "The bridge was closed"],
        max_tokens=0,
        echo=True,
        logprobs=0,
    )
    return [choice.logprobs for choice in answer.choices]


def engines():
    return {
        "ids": [engine.id for engine in openai.Engine.list().data],
        "retrieved": openai.Engine.retrieve(ENGINE).id,
        "models": [model.id for model in openai.Model.list().data],
    }


def asynchronous():
    async def collect():
        text = ""
        chunks = await openai.Completion.acreate(
            engine=ENGINE, prompt=PROMPT, seed=3, max_tokens=6, temperature=0.7, stream=True
        )
        async for chunk in chunks:
            text += chunk.choices[0].text
        return text

    return asyncio.run(collect())


def failure(call):
    try:
        call()
    except openai.error.OpenAIError as error:
        return {
            "class": type(error).__name__,
            "status": error.http_status,
            "code": error.code,
            "param": getattr(error, "param", None),
            "message": error.user_message,
            "request_id": error.headers.get("x-request-id"),
        }
    return None


def errors():
    wrong_key = dict(engine=ENGINE, prompt=PROMPT, api_key="sk-wrong-0123456789abcdef")
    return {
        "range": failure(lambda: create(temperature=3)),
        "stream": failure(lambda: list(create(temperature=3, stream=True))),
        "engine": failure(lambda: openai.Completion.create(engine="no-such", prompt=PROMPT)),
        "key": failure(lambda: openai.Completion.create(**wrong_key)),
    }


CALLS = [completion, stream, score, engines, asynchronous, errors]
print(json.dumps({call.__name__: call() for call in CALLS}))
