//! Replies as programs read them: whole, or as events while they are written.

use serde_json::{Value, json};

use super::error::ApiError;

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It is complete, or reached one of the stops.
    Stop,
    /// It is as long as it may be.
    Length,
}

/// A reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Replied {
    /// All of it.
    pub text: String,
    /// Why it ended.
    pub ended: Ended,
    /// Tokens of the prompt.
    pub n_prompt: usize,
    /// Those of them that were read before, for another request.
    pub n_cached: usize,
    /// Tokens of the reply.
    pub n_generated: usize,
    /// With memory: what the reply rests on, and where it was kept.
    pub memory: Option<Value>,
}

/// Whose form a reply has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Chat completions; streamed, with usage at the end or without.
    Chat {
        counts: bool,
    },
    Responses,
}

/// Puts one reply into its form.
#[derive(Debug)]
pub(super) struct Form {
    protocol: Protocol,
    id: String,
    model: String,
    /// Seconds since 1970.
    created: i64,
    n_events: u64,
    said: String,
}

impl Form {
    pub fn new(protocol: Protocol, id: &str, model: String, created: i64) -> Self {
        let prefix = if protocol == Protocol::Responses { "resp" } else { "chatcmpl" };
        Self {
            protocol,
            id: format!("{prefix}_{id}"),
            model,
            created,
            n_events: 0,
            said: String::new(),
        }
    }

    /// All of it at once.
    pub fn whole(&self, replied: &Replied) -> Value {
        let mut value = match self.protocol {
            Protocol::Chat { .. } => json!({
                "id": self.id, "object": "chat.completion", "created": self.created, "model": self.model,
                "choices": [{
                    "index": 0,
                    "message": {"role": "assistant", "content": replied.text, "refusal": null},
                    "logprobs": null,
                    "finish_reason": reason(replied),
                }],
                "usage": chat_usage(replied),
            }),
            Protocol::Responses => self.response(Some(replied)),
        };
        extend(&mut value, replied);
        value
    }

    /// The events before the first word.
    pub fn opening(&mut self) -> String {
        match self.protocol {
            Protocol::Chat { .. } => {
                self.chunk(json!({"role": "assistant", "content": ""}), Value::Null, None)
            }
            Protocol::Responses => {
                let response = self.response(None);
                let item = self.item("in_progress", &json!([]));
                let part = part("");
                let at = self.place();
                [
                    self.event("response.created", json!({"response": response})),
                    self.event("response.in_progress", json!({"response": response})),
                    self.event(
                        "response.output_item.added",
                        json!({"output_index": 0, "item": item}),
                    ),
                    self.event("response.content_part.added", with(&at, "part", part)),
                ]
                .concat()
            }
        }
    }

    /// The event of a piece of text.
    pub fn piece(&mut self, text: &str) -> String {
        self.said.push_str(text);
        match self.protocol {
            Protocol::Chat { .. } => self.chunk(json!({"content": text}), Value::Null, None),
            Protocol::Responses => {
                let delta = with(&self.place(), "delta", text.into());
                self.event("response.output_text.delta", with(&delta, "logprobs", json!([])))
            }
        }
    }

    /// The events at the end.
    pub fn closing(&mut self, replied: &Result<Replied, ApiError>) -> String {
        let replied = match replied {
            Ok(replied) => replied,
            Err(error) => return self.failed(error),
        };
        match self.protocol {
            Protocol::Chat { counts } => {
                let mut events = self.chunk(json!({}), reason(replied).into(), Some(replied));
                if counts {
                    let usage = json!({
                        "id": self.id, "object": "chat.completion.chunk", "created": self.created,
                        "model": self.model, "choices": [], "usage": chat_usage(replied),
                    });
                    events += &data(&usage);
                }
                events + "data: [DONE]\n\n"
            }
            Protocol::Responses => {
                let said = std::mem::take(&mut self.said);
                let (place, item) = (self.place(), self.item("completed", &json!([part(&said)])));
                let mut response =
                    self.response(Some(&Replied { text: said.clone(), ..replied.clone() }));
                extend(&mut response, replied);
                let name = if replied.ended == Ended::Stop { "completed" } else { "incomplete" };
                let done = with(&with(&place, "text", said.as_str().into()), "logprobs", json!([]));
                [
                    self.event("response.output_text.done", done),
                    self.event("response.content_part.done", with(&place, "part", part(&said))),
                    self.event(
                        "response.output_item.done",
                        json!({"output_index": 0, "item": item}),
                    ),
                    self.event(&format!("response.{name}"), json!({"response": response})),
                ]
                .concat()
            }
        }
    }

    fn failed(&mut self, error: &ApiError) -> String {
        match self.protocol {
            Protocol::Chat { .. } => data(&error.to_json()),
            Protocol::Responses => {
                let mut response = self.response(None);
                response["status"] = "failed".into();
                response["error"] = json!({"code": "server_error", "message": error.message});
                self.event("response.failed", json!({"response": response}))
            }
        }
    }

    fn chunk(&self, delta: Value, finish: Value, replied: Option<&Replied>) -> String {
        let mut chunk = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model,
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
        });
        if let Some(replied) = replied {
            extend(&mut chunk, replied);
        }
        data(&chunk)
    }

    fn event(&mut self, kind: &str, fields: Value) -> String {
        let mut event = json!({"type": kind, "sequence_number": self.n_events});
        self.n_events += 1;
        if let (Some(event), Value::Object(fields)) = (event.as_object_mut(), fields) {
            event.extend(fields);
        }
        format!("event: {kind}\n{}", data(&event))
    }

    /// Where the text of the one message is.
    fn place(&self) -> Value {
        json!({"item_id": self.message_id(), "output_index": 0, "content_index": 0})
    }

    fn message_id(&self) -> String {
        self.id.replace("resp_", "msg_")
    }

    fn item(&self, status: &str, content: &Value) -> Value {
        json!({
            "type": "message", "id": self.message_id(), "status": status, "role": "assistant", "content": content,
        })
    }

    /// The object `response`; without a reply, as it begins.
    fn response(&self, replied: Option<&Replied>) -> Value {
        let (mut output, mut usage, mut incomplete) = (Vec::new(), Value::Null, Value::Null);
        let mut status = "in_progress";
        if let Some(replied) = replied {
            status = "completed";
            if replied.ended == Ended::Length {
                status = "incomplete";
                incomplete = json!({"reason": "max_output_tokens"});
            }
            output.push(self.item(status, &json!([part(&replied.text)])));
            usage = json!({
                "input_tokens": replied.n_prompt,
                "input_tokens_details": {"cached_tokens": replied.n_cached},
                "output_tokens": replied.n_generated,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": replied.n_prompt + replied.n_generated,
            });
        }
        json!({
            "id": self.id, "object": "response", "created_at": self.created, "status": status,
            "error": null, "incomplete_details": incomplete, "instructions": null, "metadata": {},
            "model": self.model, "output": output, "parallel_tool_calls": false, "tool_choice": "none",
            "tools": [], "store": false, "previous_response_id": null, "usage": usage,
        })
    }
}

fn reason(replied: &Replied) -> &'static str {
    match replied.ended {
        Ended::Stop => "stop",
        Ended::Length => "length",
    }
}

fn chat_usage(replied: &Replied) -> Value {
    json!({
        "prompt_tokens": replied.n_prompt,
        "completion_tokens": replied.n_generated,
        "total_tokens": replied.n_prompt + replied.n_generated,
        "prompt_tokens_details": {"cached_tokens": replied.n_cached},
    })
}

/// What OpenAI's protocol has no place for.
fn extend(value: &mut Value, replied: &Replied) {
    if let Some(memory) = &replied.memory {
        value["inglenook"] = memory.clone();
    }
}

fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn with(fields: &Value, name: &str, value: Value) -> Value {
    let mut fields = fields.clone();
    fields[name] = value;
    fields
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}
