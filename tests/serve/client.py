"""The `openai` package against a running server: `client.py URL TOKEN`. Exit code 77: the package is not there."""

import json
import sys

try:
    import openai
except ImportError as error:
    print(f"no openai package ({error})")
    sys.exit(77)

url, token = sys.argv[1:]
client = openai.OpenAI(base_url=url, api_key=token, max_retries=0)
say = lambda text: [{"role": "user", "content": text}]

assert [m.id for m in client.models.list()][0] == "starter"
assert client.models.retrieve("inglenook").id == "inglenook"

whole = client.chat.completions.create(model="inglenook", messages=say("Hi!"), temperature=0)
text = whole.choices[0].message.content
assert text and whole.choices[0].finish_reason == "stop" and whole.usage.completion_tokens > 0

pieces, last = [], None
for chunk in client.chat.completions.create(
    model="inglenook", messages=say("Hi!"), temperature=0, stream=True, stream_options={"include_usage": True}
):
    pieces += [choice.delta.content or "" for choice in chunk.choices]
    last = chunk
assert "".join(pieces) == text, (pieces, text)
assert last.usage.prompt_tokens == whole.usage.prompt_tokens

schema = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
shaped = client.chat.completions.create(
    model="inglenook",
    messages=say("Invent somebody."),
    max_tokens=60,
    response_format={"type": "json_schema", "json_schema": {"name": "person", "schema": schema, "strict": True}},
)
person = json.loads(shaped.choices[0].message.content)
assert set(person) == {"name", "age"} and isinstance(person["age"], int)

response = client.responses.create(model="inglenook", input="Good morning!", temperature=0)
assert response.status == "completed" and response.output_text
with client.responses.stream(model="inglenook", input="Good morning!", temperature=0) as stream:
    said = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
    assert stream.get_final_response().output_text == said == response.output_text

embedded = client.embeddings.create(model="inglenook", input=["a fox", "a crow"])
assert [len(item.embedding) for item in embedded.data] == [384, 384]
assert abs(sum(x * x for x in embedded.data[0].embedding) - 1) < 1e-3

memory = {"memory": True}
client.chat.completions.create(model="inglenook", messages=say("My dog Max is a Labrador."), extra_body=memory)
asked = client.chat.completions.create(model="inglenook", messages=say("What is Max?"), extra_body=memory)
assert "Labrador" in json.dumps(asked.model_extra["inglenook"]["evidence"]), asked

for bad, error in [
    (lambda: openai.OpenAI(base_url=url, api_key="wrong", max_retries=0).models.list(), openai.AuthenticationError),
    (lambda: client.chat.completions.create(model="gpt-9", messages=say("Hi!")), openai.NotFoundError),
    (lambda: client.chat.completions.create(model="inglenook", messages=[]), openai.BadRequestError),
]:
    try:
        bad()
    except error as raised:
        assert raised.body["message"], raised
    else:
        raise AssertionError(f"no {error}")
print("served", openai.__version__)
