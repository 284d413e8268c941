//! A client that knows only `/openapi.json`: it finds each call there, and holds both sides to what is said.

use super::http::{Answer, Ask};
use serde_json::{Value, json};
use std::net::SocketAddr;

/// The document, and where it came from.
pub(crate) struct Api {
    pub(crate) document: Value,
    address: SocketAddr,
}

/// A call that is put together.
pub(crate) struct Call<'a> {
    api: &'a Api,
    operation: Value,
    ask: Ask,
}

impl Api {
    pub(crate) async fn of(address: SocketAddr) -> Self {
        let answer = Ask::get("/openapi.json").of(address).await;
        assert_eq!(answer.status, 200);
        Self {
            document: answer.json(),
            address,
        }
    }

    /// A call by its `operationId`, with what stands in its path.
    #[track_caller]
    pub(crate) fn call(&self, operation: &str, parts: &[(&str, &str)]) -> Call<'_> {
        let paths = self.document["paths"].as_object().unwrap();
        for (path, methods) in paths {
            for (method, found) in methods.as_object().unwrap() {
                if found["operationId"] != operation {
                    continue;
                }
                let mut target = path.clone();
                for (name, value) in parts {
                    target = target.replace(&format!("{{{name}}}"), value);
                }
                assert!(!target.contains('{'), "{target}");
                return Call {
                    api: self,
                    operation: found.clone(),
                    ask: Ask::new(&method.to_uppercase(), &target),
                };
            }
        }
        panic!("the document has no `{operation}`");
    }

    #[track_caller]
    fn holds(&self, schema: &Value, value: &Value) {
        let whole = json!({
            "allOf": [schema],
            "components": self.document["components"],
        });
        let validator = jsonschema::validator_for(&whole).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?} in {value:#}");
    }
}

impl Call<'_> {
    pub(crate) fn by(mut self, name: &str) -> Self {
        self.ask = self.ask.by(name);
        self
    }

    #[track_caller]
    pub(crate) fn query(mut self, name: &str, value: &str) -> Self {
        self.knows(name, "query");
        let mark = if self.ask.target.contains('?') {
            '&'
        } else {
            '?'
        };
        self.ask.target += &format!("{mark}{name}={value}");
        self
    }

    #[track_caller]
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.knows(name, "header");
        self.ask = self.ask.header(name, value);
        self
    }

    #[track_caller]
    fn knows(&self, name: &str, place: &str) {
        let parameters = self.operation["parameters"].as_array().unwrap();
        let known = |one: &Value| one["name"] == name && one["in"] == place;
        assert!(parameters.iter().any(known), "{name}: {parameters:?}");
    }

    #[track_caller]
    pub(crate) fn body(mut self, body: Value) -> Self {
        let schema = &self.operation["requestBody"]["content"]["application/json"]["schema"];
        assert!(schema.is_object());
        self.api.holds(schema, &body);
        self.ask = self.ask.json(&body.to_string());
        self
    }

    /// The answer, which must be one that the document tells of.
    pub(crate) async fn answer(self) -> Answer {
        let answer = self.ask.of(self.api.address).await;
        let told = &self.operation["responses"][answer.status.to_string()];
        assert!(
            told.is_object(),
            "{} is not told of: {}",
            answer.status,
            answer.text()
        );
        let media_type = answer.header("content-type").unwrap_or("");
        let media_type = media_type.split(';').next().unwrap();
        if media_type.is_empty() {
            assert!(told["content"].is_null(), "{told}");
            assert!(answer.body.is_empty());
        } else {
            let content = &told["content"][media_type];
            assert!(content.is_object(), "{media_type}: {told}");
            if content["schema"].is_object() {
                self.api.holds(&content["schema"], &answer.json());
            }
        }
        answer
    }

    /// An answer of this status.
    pub(crate) async fn gives(self, status: u16) -> Answer {
        let answer = self.answer().await;
        assert_eq!(answer.status, status, "{}", answer.text());
        answer
    }
}
