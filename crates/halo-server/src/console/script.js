"use strict";
const at = (id) => document.getElementById(id);
let token = "";
let round = 0;
let stream = null;

function element(tag, text, name) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (name) made.className = name;
  return made;
}

function call(path, options = {}) {
  const headers = { ...(options.headers || {}) };
  if (token) headers.Authorization = "Bearer " + token;
  return fetch(path, { ...options, headers });
}

async function read(path) {
  const answer = await call(path);
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.detail || body.title);
  return body;
}

async function act(path, body) {
  const answer = await call(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) window.alert((await answer.json()).detail);
  refresh();
}

function fill(id, heads, rows) {
  const table = at(id);
  table.replaceChildren();
  if (!rows.length) return;
  const head = table.insertRow();
  for (const text of heads) head.append(element("th", text));
  for (const cells of rows) {
    const row = table.insertRow();
    for (const cell of cells) {
      const place = row.insertCell();
      if (cell instanceof Node) place.append(cell);
      else place.textContent = cell === null || cell === undefined ? "" : String(cell);
    }
  }
}

async function show(id, path, draw) {
  const note = at(id + "-note");
  try {
    const count = draw(await read(path));
    note.textContent = count ? "" : "None.";
  } catch (error) {
    fill(id, [], []);
    note.textContent = error.message;
  }
}

function components(response) {
  const list = element("div");
  for (const one of response.components) {
    const why = one.reasons.map((reason) => reason.code + (reason.subject ? " " + reason.subject : ""));
    const line = element("div", one.id + " (" + one.type + ") ");
    line.append(element("span", one.phase, one.phase));
    line.append(why.length ? ": " + why.join(", ") : "");
    list.append(line);
  }
  return list;
}

function path(one, call) {
  const part = encodeURIComponent;
  const owner = one.owner ? "?owner=" + part(one.owner) : "";
  return "/v1/responses/" + part(one.response) + "/components/" + part(one.component) + "/" + call + owner;
}

function verdict(one) {
  const place = element("span");
  const seen = { generation: one.generation, digest: one.digest };
  const yes = element("button", "Approve");
  yes.onclick = () => act(path(one, "approve"), seen);
  const no = element("button", "Reject");
  no.onclick = () => {
    const text = window.prompt("Why?");
    if (text !== null) act(path(one, "reject"), { ...seen, text });
  };
  place.append(yes, " ", no);
  return place;
}

async function refresh() {
  show("approvals", "/v1/approvals", ({ approvals }) => {
    const rows = approvals.map((one) => [
      one.owner, one.response, one.component, one.type, element("code", JSON.stringify(one.payload)),
      one.approved_by.length + " of " + one.quorum, one.until, verdict(one)]);
    fill("approvals", ["owner", "response", "component", "type", "payload", "approved", "until", ""], rows);
    return rows.length;
  });
  show("obligations", "/v1/obligations?open=true", ({ obligations }) => {
    const rows = obligations.map((one) => [
      one.obligation, one.owner, one.response, one.component, one.route, one.assignee, one.state,
      one.missing.join(", "), one.expires]);
    fill("obligations", ["", "owner", "response", "component", "route", "assignee", "state", "to refresh", "until"], rows);
    return rows.length;
  });
  show("responses", "/v1/responses?limit=25", ({ responses }) => {
    const rows = responses.map((one) => [one.owner, one.response, components(one)]);
    fill("responses", ["owner", "response", "components"], rows);
    return rows.length;
  });
  const ready = await fetch("/readyz").then((answer) => answer.json()).catch(() => null);
  const faults = ready ? ready.faults.map((fault) => fault.source || fault.part) : ["no answer"];
  at("ready").textContent = faults.length ? "at fault: " + faults.join(", ") : "ready";
  at("ready").className = faults.length ? "bad" : "good";
}

function told(text) {
  const fields = {};
  for (const line of text.split("\n")) {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) || [];
    if (name) fields[name] = name in fields ? fields[name] + "\n" + value : value;
  }
  if (!fields.data) return null;
  const item = element("li");
  item.append(element("b", (fields.id ? fields.id + " " : "") + fields.event), " ", fields.data.slice(0, 600));
  at("events").prepend(item);
  while (at("events").childElementCount > 200) at("events").lastChild.remove();
  return fields;
}

async function listen(mine) {
  let last = null;
  let due = false;
  while (mine === round) {
    try {
      stream = new AbortController();
      const headers = last ? { "Last-Event-ID": last } : {};
      const answer = await call("/v1/events", { headers, signal: stream.signal });
      if (!answer.ok) throw new Error((await answer.json()).detail);
      at("events-note").textContent = "";
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        const parts = (rest + piece.value).split("\n\n");
        rest = parts.pop();
        for (const part of parts) {
          const fields = told(part);
          if (fields && fields.id) last = fields.id;
          if (fields && !due) {
            due = true;
            setTimeout(() => { due = false; refresh(); }, 500);
          }
        }
      }
    } catch (error) {
      if (mine === round) at("events-note").textContent = error.message;
    }
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}

function start() {
  token = at("token").value.trim();
  round += 1;
  if (stream) stream.abort();
  refresh();
  listen(round);
}

at("enter").onsubmit = (event) => { event.preventDefault(); start(); };
start();
