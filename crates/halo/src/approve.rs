//! `halo approve`: what waits for a person at a running `halo serve`, and what they say (P28).

use crate::terminal::{Paint, Screen, Verdict, plain, shortened};
use halo_runtime::ports::{
    http::{Endpoint, Header, Url},
    secret::Secret,
};
use serde_json::{Value, json};
use std::{
    io::{self, Write},
    time::Duration,
};

/// Where an approver's token is looked for.
const TOKEN: &str = "HALO_TOKEN";
const TIMEOUT: Duration = Duration::from_secs(10);
/// Longest payload on a line, in characters.
const WIDTH: usize = 200;

/// What `halo approve` is asked.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The token is read from HALO_TOKEN. Without a response, what waits is listed."
)]
pub(crate) struct Args {
    /// The response's id.
    #[arg(requires = "component")]
    response: Option<String>,
    /// The component's id.
    component: Option<String>,
    /// Reject it, with these words.
    #[arg(long, value_name = "TEXT", requires = "component")]
    reject: Option<String>,
    /// The digest that was approved elsewhere; where it is another one now, nothing is said.
    #[arg(long, requires = "component")]
    digest: Option<String>,
    /// Whose response it is, where several have one of that id.
    #[arg(long, requires = "component")]
    owner: Option<String>,
    /// Where the runtime listens.
    #[arg(long, default_value = "http://127.0.0.1:8700")]
    url: String,
}

/// Runs it.
pub(crate) fn run(args: &Args, screen: &mut Screen) -> io::Result<Verdict> {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let waiting = match tokio.block_on(call(args, "/v1/approvals", None)) {
        Ok(answer) => answer,
        Err(fault) => return refuse(screen, &fault),
    };
    let waiting = waiting.get("approvals").and_then(Value::as_array);
    let waiting = waiting.cloned().unwrap_or_default();
    let (Some(response), Some(component)) = (&args.response, &args.component) else {
        return list(&waiting, screen);
    };
    let mut found = waiting.iter().filter(|one| {
        text(one, "response") == response
            && text(one, "component") == component
            && args
                .owner
                .as_deref()
                .is_none_or(|owner| text(one, "owner") == owner)
    });
    let Some(one) = found.next() else {
        return refuse(
            screen,
            &format!("`{response}` / `{component}` does not wait for approval"),
        );
    };
    if found.next().is_some() {
        return refuse(
            screen,
            "several owners have such a one: say which with --owner",
        );
    }
    if let Some(digest) = args
        .digest
        .as_deref()
        .filter(|digest| text(one, "digest") != *digest)
    {
        let now = text(one, "digest");
        return refuse(
            screen,
            &format!("its digest is {now}, not {digest}: somebody saw another one"),
        );
    }
    let path = voice_path(one, args.reject.is_some());
    let mut body = json!({"generation": one.get("generation"), "digest": one.get("digest")});
    if let (Some(text), Some(body)) = (&args.reject, body.as_object_mut()) {
        body.insert("text".into(), text.as_str().into());
    }
    match tokio.block_on(call(args, &path, Some(body.to_string()))) {
        Err(fault) => refuse(screen, &fault),
        Ok(answer) if screen.json() => {
            screen.document(&answer, false)?;
            Ok(Verdict::Fine)
        }
        Ok(_) => {
            let said = if args.reject.is_some() {
                "rejected"
            } else {
                "approved"
            };
            writeln!(screen, "{said}: {} / {}", plain(response), plain(component))?;
            Ok(Verdict::Fine)
        }
    }
}

fn voice_path(one: &Value, reject: bool) -> String {
    let voice = if reject { "reject" } else { "approve" };
    let owner = match text(one, "owner") {
        "" => String::new(),
        owner => format!("?owner={owner}"),
    };
    let (response, component) = (text(one, "response"), text(one, "component"));
    format!("/v1/responses/{response}/components/{component}/{voice}{owner}")
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or("")
}

fn list(waiting: &[Value], screen: &mut Screen) -> io::Result<Verdict> {
    if screen.json() {
        screen.document(&waiting, false)?;
        return Ok(Verdict::Fine);
    }
    if waiting.is_empty() {
        writeln!(screen, "nothing waits for approval")?;
    }
    for one in waiting {
        let name = format!("{} {}", text(one, "response"), text(one, "component"));
        let name = screen.paint(Paint::Bold, &plain(&name));
        let payload = one
            .get("payload")
            .map_or_else(String::new, Value::to_string);
        writeln!(
            screen,
            "{name}  ({} → {}, until {})",
            plain(text(one, "type")),
            plain(text(one, "to")),
            plain(text(one, "until"))
        )?;
        writeln!(screen, "  {}", shortened(&plain(&payload), WIDTH))?;
        writeln!(screen, "  {}", plain(text(one, "digest")))?;
    }
    Ok(Verdict::Fine)
}

fn refuse(screen: &mut Screen, fault: &str) -> io::Result<Verdict> {
    screen.complain(fault);
    Ok(Verdict::Unusable)
}

/// One call; a problem in words.
async fn call(args: &Args, path: &str, body: Option<String>) -> Result<Value, String> {
    let url = format!("{}{path}", args.url.trim_end_matches('/'));
    let mut headers = Vec::new();
    if let Ok(token) = std::env::var(TOKEN) {
        headers.push(Header::new(
            "Authorization",
            Secret::new(format!("Bearer {token}")),
        )?);
    }
    let endpoint = Endpoint {
        url: Url::parse(&url)?,
        headers,
    };
    let called = tokio::time::timeout(TIMEOUT, endpoint.call(body)).await;
    let (status, body) = called.map_err(|_| format!("{}: no answer", args.url))??;
    let answer: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    if (200..300).contains(&status) {
        return Ok(answer);
    }
    let detail = answer
        .get("detail")
        .and_then(Value::as_str)
        .unwrap_or("no reason given");
    Err(format!("{}: {status}: {detail}", args.url))
}
