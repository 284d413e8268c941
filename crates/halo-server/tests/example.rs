//! Every step of the running example, by a client that knows only `/openapi.json`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{World, api::Api, now, one_for_each};
use halo_core::Outcome;
use serde_json::{Value, json};

fn component<'a>(response: &'a Value, id: &str) -> &'a Value {
    let components = response["components"].as_array().unwrap();
    components.iter().find(|one| one["id"] == id).unwrap()
}

fn phases(response: &Value) -> Vec<&str> {
    let components = response["components"].as_array().unwrap();
    components
        .iter()
        .map(|one| one["phase"].as_str().unwrap())
        .collect()
}

async fn write_map(api: &Api, epoch: u64) {
    let value = json!({"open": true, "manned": false, "valid_until": "2999-01-01T00:00:00Z"});
    api.call("writeState", &[("source", "map")])
        .by("provider")
        .body(json!({"epoch": epoch, "value": value}))
        .gives(204)
        .await;
}

async fn write_traffic(api: &Api) {
    api.call("writeState", &[("source", "traffic")])
        .by("provider")
        .body(
            json!({"observed_at": now(), "provenance": "adsb-2", "value": {"separation_m": 120.5}}),
        )
        .gives(204)
        .await;
}

async fn submit(api: &Api, id: &str, components: Value) -> Value {
    let answer = api
        .call("submitResponse", &[])
        .by("agent")
        .query("wait", "300ms")
        .body(json!({"response": id, "catalog": "corridor", "catalog_version": "7", "components": components}))
        .gives(201)
        .await;
    answer.json()
}

async fn dispatch(api: &Api, response: &str, component: &str) -> Value {
    let parts = [("response", response), ("component", component)];
    let answer = api.call("dispatchComponent", &parts).by("agent");
    answer.gives(200).await.json()["answer"].clone()
}

fn route() -> Value {
    json!({"id": "e3", "type": "route", "payload": {"leg": "L3", "until": "2026-01-01T00:01:00Z"}})
}

fn status() -> Value {
    json!({"id": "e4", "type": "status", "payload": {}, "requires": [{"id": "e3", "phase": "dispatched"}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_map_change_and_the_way_back() {
    let world = World::with(one_for_each()).await;
    let api = Api::of(world.address).await;
    write_map(&api, 8).await;
    write_traffic(&api).await;
    api.call("writeKeyedState", &[("source", "legs"), ("key", "L3")])
        .by("provider")
        .body(json!({"value": {"version": 1}}))
        .gives(204)
        .await;
    let state = api
        .call("readState", &[])
        .by("operator")
        .gives(200)
        .await
        .json();
    assert_eq!(state["state"]["legs/L3"]["epoch"], 1);

    let notice = json!({"id": "e1", "type": "notice", "payload": {"text": "leg 3 next"}});
    let response = submit(&api, "r-41", json!([notice, route(), status()])).await;
    assert_eq!(phases(&response), ["emitted", "retained", "pending"]);

    // The map changes before the route left: the gate notices.
    write_map(&api, 9).await;
    assert_eq!(dispatch(&api, "r-41", "e3").await, "witness_changed");
    let get = api.call("getResponse", &[("response", "r-41")]).by("agent");
    let response = get.gives(200).await.json();
    assert_eq!(phases(&response), ["emitted", "withheld", "invalidated"]);
    let reason = &component(&response, "e3")["reasons"][0];
    assert_eq!(
        (&reason["code"], &reason["subject"]),
        (&json!("witness_changed"), &json!("map.epoch"))
    );
    assert_eq!(dispatch(&api, "r-41", "e3").await, "not_retained");

    let explained = api
        .call(
            "explainComponent",
            &[("response", "r-41"), ("component", "e3")],
        )
        .by("agent")
        .gives(200)
        .await
        .json();
    assert!(explained["way_back"].as_str().unwrap().len() > 5);

    // Its obligation tells what is needed; a fresh candidate answers it.
    let open = api
        .call("listObligations", &[])
        .by("assignee")
        .query("open", "true");
    let open = open.gives(200).await.json();
    let obligation = &open["obligations"][0];
    assert_eq!(obligation["scope"], json!(["e3", "e4"]));
    assert_eq!(obligation["state"], "ready_for_readmission");
    let number = obligation["obligation"].to_string();
    let offered = api
        .call("offerCandidates", &[("obligation", &number)])
        .by("agent")
        .body(json!({"candidates": [route(), status()]}))
        .gives(200)
        .await
        .json();
    assert_eq!(phases(&offered), ["emitted", "retained", "pending"]);
    assert_eq!(dispatch(&api, "r-41", "e3").await, "authorized");
    let get = api
        .call("getResponse", &[("response", "r-41")])
        .by("agent")
        .query("wait", "5s");
    let response = get.gives(200).await.json();
    assert_eq!(phases(&response), ["emitted", "dispatched", "emitted"]);
    assert_eq!(world.yard.left(), ["emit e1", "call e3"]);

    // What becomes of it downstream.
    let binding = component(&response, "e3")["binding"].clone();
    api.call("observe", &[])
        .by("observer")
        .body(json!({"binding": binding, "outcome": "success"}))
        .gives(204)
        .await;
    let get = api
        .call("getResponse", &[("response", "r-41")])
        .by("operator");
    let response = get.gives(200).await.json();
    assert_eq!(phases(&response), ["emitted", "observed", "emitted"]);
    let audit = api
        .call("audit", &[])
        .by("operator")
        .query("limit", "200")
        .gives(200)
        .await
        .json();
    assert!(audit["records"].as_array().unwrap().len() > 10);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn people_approve_reject_settle_and_withdraw() {
    let world = World::with(one_for_each()).await;
    let api = Api::of(world.address).await;
    let land = |id: &str| json!({"id": id, "type": "land", "payload": {"at": id}});
    let response = submit(&api, "r-1", json!([land("a"), land("b"), land("c")])).await;
    assert_eq!(phases(&response), ["pending", "pending", "pending"]);
    assert_eq!(dispatch(&api, "r-1", "a").await, "approval_missing");

    let waiting = api
        .call("listApprovals", &[])
        .by("approver")
        .gives(200)
        .await
        .json();
    let waiting = waiting["approvals"].as_array().unwrap();
    assert_eq!(waiting.len(), 3);
    assert_eq!(waiting[0]["payload"], json!({"at": "a"}));
    let seen = |index: usize| json!({"generation": waiting[index]["generation"], "digest": waiting[index]["digest"]});
    let about = |component| [("response", "r-1"), ("component", component)];

    // Another instance than the one that was seen.
    let other = api
        .call("approveComponent", &about("a"))
        .by("approver")
        .body(seen(1));
    other.gives(409).await.is_problem(409, "outdated");
    api.call("approveComponent", &about("a"))
        .by("approver")
        .body(seen(0))
        .gives(200)
        .await;
    let mut no = seen(1);
    no["text"] = json!("too close");
    let rejected = api
        .call("rejectComponent", &about("b"))
        .by("approver")
        .body(no);
    let rejected = rejected.gives(200).await.json();
    assert_eq!(
        component(&rejected, "b")["reasons"][0]["detail"],
        "approver: too close"
    );
    api.call("withdrawComponent", &about("c"))
        .by("agent")
        .gives(200)
        .await;

    // Nobody knows what became of it; an operator finds out.
    world.yard.outcomes.lock().unwrap().push(Outcome::Lost);
    assert_eq!(dispatch(&api, "r-1", "a").await, "authorized");
    let get = api
        .call("getResponse", &[("response", "r-1")])
        .by("agent")
        .query("wait", "5s");
    assert_eq!(
        phases(&get.gives(200).await.json()),
        ["in_doubt", "withheld", "withheld"]
    );
    let settled = api
        .call("settleComponent", &about("a"))
        .by("operator")
        .body(json!({"outcome": "happened"}));
    assert_eq!(phases(&settled.gives(200).await.json())[0], "observed");
    assert_eq!(world.yard.left(), ["call a"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn assignees_support_and_refuse_and_windows_roll() {
    let world = World::with(one_for_each()).await;
    let api = Api::of(world.address).await;
    write_map(&api, 1).await;
    write_traffic(&api).await;
    let manned = |id: &str| json!({"id": id, "type": "manned", "payload": {}});
    let response = submit(&api, "r-1", json!([manned("a"), manned("b")])).await;
    assert_eq!(phases(&response), ["withheld", "withheld"]);
    let number = |index: usize| response["obligations"][index]["obligation"].to_string();
    let (first, second) = (number(0), number(1));
    let early = api
        .call("offerCandidates", &[("obligation", &first)])
        .by("agent")
        .body(json!({"candidates": [manned("a")]}));
    early
        .gives(409)
        .await
        .is_problem(409, "obligation_not_ready");
    let supported = api
        .call("supportObligation", &[("obligation", &first)])
        .by("assignee");
    let supported = supported.gives(200).await.json();
    assert_eq!(
        supported["obligations"][0]["state"],
        "ready_for_readmission"
    );
    let refused = api
        .call("refuseObligation", &[("obligation", &second)])
        .by("assignee")
        .body(json!({"text": "nobody is here"}));
    let refused = refused.gives(200).await.json();
    assert_eq!(component(&refused, "b")["terminal"], true);

    let follow = json!([{"id": "f", "type": "follow", "payload": {"v": 1}}]);
    let response = submit(&api, "r-2", follow).await;
    assert_eq!(phases(&response), ["dispatched"]);
    let about = [("response", "r-2"), ("component", "f")];
    let stale = api.call("rollComponent", &about).by("agent").answer().await;
    stale.is_problem(409, "not_refreshed");
    write_traffic(&api).await;
    let rolled = api
        .call("rollComponent", &about)
        .by("agent")
        .body(json!({"payload": {"v": 2}}));
    assert_eq!(
        component(&rolled.gives(200).await.json(), "f")["generation"],
        2
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_catalog_comes_into_force_and_a_faulty_one_does_not() {
    let world = World::with(one_for_each()).await;
    let api = Api::of(world.address).await;
    let reload = || api.call("reloadCatalog", &[]).by("operator");
    assert_eq!(reload().gives(200).await.json()["changed"], false);
    let next = common::CATALOG.replace("version: \"7\"", "version: \"8\"");
    std::fs::write(&world.catalog, &next).unwrap();
    let loaded = reload().gives(200).await.json();
    assert_eq!(
        (&loaded["changed"], &loaded["catalog_version"]),
        (&json!(true), &json!("8"))
    );
    std::fs::write(&world.catalog, next.replace("max_age: 1m", "max_age: 2m")).unwrap();
    reload().gives(409).await.is_problem(409, "known_version");
    std::fs::write(&world.catalog, "halo: v1\ncatalog: [").unwrap();
    reload().gives(422).await.is_problem(422, "bad_catalog");
    assert_eq!(
        api.call("health", &[]).gives(200).await.json()["status"],
        "alive"
    );
    assert_eq!(
        api.call("readiness", &[]).gives(200).await.json()["ready"],
        true
    );
    world.stop().await;
}
