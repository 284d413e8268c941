//! Pulled providers are asked before a decision that rests on them: silence is not support.

use super::{Driver, guarded::within, lanes::AnswerTo};
use crate::{machine::Cause, ports::plugs::Plugs};
use halo_core::{ComponentRef, Handled, Input};
use std::sync::Arc;
use tokio::task::JoinSet;

/// How many records are asked for at the same time for one decision.
pub const PULLED_AT_ONCE: usize = 32;

/// What asking for a record gave.
#[derive(Debug)]
pub struct Asked {
    /// Which.
    pub address: String,
    /// The record's text, or why there is none.
    pub record: Result<Vec<u8>, String>,
}

impl Driver {
    /// An armed action before its last look: its pulled records are asked for.
    pub(super) fn approach(&mut self, at: ComponentRef, generation: u32, answer: Option<AnswerTo>) {
        // Where everything is pushed there is nobody to ask.
        let footprint = match self.plugs.providers.is_empty() {
            true => Vec::new(),
            false => self.engine().footprint(at),
        };
        self.ask_then(footprint, move |driver, silent| {
            if let Some(error) = driver.halted.clone() {
                return driver.give_up(answer, error);
            }
            driver.look(at, generation, silent, answer);
        });
    }

    /// Asks for those of the records that are pulled, takes what comes, and goes on with those that are missing.
    pub fn ask_then(
        &mut self,
        addresses: Vec<String>,
        then: impl FnOnce(&mut Self, Vec<String>) + Send + 'static,
    ) {
        let pulled: Vec<String> = addresses
            .into_iter()
            .filter(|address| self.plugs.providers.contains_key(source_of(address)))
            .collect();
        if pulled.is_empty() {
            return then(self, Vec::new());
        }
        let (plugs, host) = (self.plugs.clone(), self.host.clone());
        self.host.spawn(async move {
            let mut asked = ask_all(plugs, pulled.clone()).await;
            for address in pulled {
                if !asked.iter().any(|one| one.address == address) {
                    let record = Err("asking was cut off".into());
                    asked.push(Asked { address, record });
                }
            }
            host.send(move |driver| {
                let silent = driver.take_asked(asked);
                then(driver, silent);
            });
        });
    }

    /// Takes the records that came. The addresses of those that did not, or that P8 refuses.
    pub fn take_asked(&mut self, asked: Vec<Asked>) -> Vec<String> {
        if self.halted.is_some() {
            return asked.into_iter().map(|asked| asked.address).collect();
        }
        let (mut silent, mut records) = (Vec::new(), Vec::new());
        for Asked { address, record } in asked {
            match record {
                Ok(text) => records.push((address, halo_core::RawText(text))),
                Err(reason) => {
                    self.host
                        .remark(&format!("provider of `{address}`: {reason}"));
                    silent.push(address);
                }
            }
        }
        let addresses: Vec<String> = records.iter().map(|(address, _)| address.clone()).collect();
        if let Ok(Handled::Updated { refused }) =
            self.turn(Cause::default(), Input::Update { records })
        {
            silent.extend(refused.into_iter().filter_map(|(index, refusal)| {
                self.host.remark(&refusal.message);
                addresses.get(index).cloned()
            }));
        }
        for address in &silent {
            let source = source_of(address).to_owned();
            *self.counters.silent.entry(source).or_default() += 1;
        }
        silent
    }
}

fn source_of(address: &str) -> &str {
    address
        .split_once('/')
        .map_or(address, |(source, _)| source)
}

/// Asks for all of them, each within its provider's time.
async fn ask_all(plugs: Arc<Plugs>, addresses: Vec<String>) -> Vec<Asked> {
    let mut asked = Vec::with_capacity(addresses.len());
    let mut waiting = addresses.into_iter();
    let mut out = JoinSet::new();
    loop {
        while out.len() < PULLED_AT_ONCE
            && let Some(address) = waiting.next()
        {
            out.spawn(ask(plugs.clone(), address));
        }
        match out.join_next().await {
            // What fails here is missing from the list, and counts as silent.
            Some(one) => asked.extend(one.ok()),
            None => return asked,
        }
    }
}

async fn ask(plugs: Arc<Plugs>, address: String) -> Asked {
    let Some(plug) = plugs.providers.get(source_of(&address)) else {
        let record = Err("nothing is plugged in".into());
        return Asked { address, record };
    };
    let (provider, limit) = (plug.provider.clone(), plug.timeout);
    let key = address.split_once('/').map(|(_, key)| key.to_owned());
    let call = async { provider.ask(key.as_deref()).await };
    let record = within(limit, call)
        .await
        .unwrap_or_else(|| Err(format!("no answer within {limit:?}")));
    Asked { address, record }
}
