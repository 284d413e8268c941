//! Documents as they are saved: each once, in canonical form, and places in it that outlast its arena.

use halo_canon::{Document, Node, Value};
use std::{collections::HashMap, sync::Arc};

/// A place in a saved document: its number, and which of its values in [`walk`]'s order.
pub(crate) type Place = (u32, u32);

/// The values of a document, in an order that depends on what it says only.
fn walk(document: &Document) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut stack: Vec<Value<'_>> = vec![document.root()];
    while let Some(value) = stack.pop() {
        nodes.push(value.node());
        if let Some(array) = value.as_array() {
            stack.extend(array.iter());
        } else if let Some(object) = value.as_object() {
            stack.extend(object.iter().map(|(_, member)| member));
        }
    }
    nodes
}

/// Documents on their way into a saved state.
#[derive(Default)]
pub(crate) struct Shelf {
    texts: Vec<String>,
    /// By address: the documents live as long as the engine that is being saved.
    known: HashMap<*const Document, u32>,
    places: Vec<HashMap<Node, u32>>,
}

impl Shelf {
    /// The number of a document.
    pub(crate) fn put(&mut self, document: &Arc<Document>) -> u32 {
        let next = self.texts.len() as u32;
        let number = *self.known.entry(Arc::as_ptr(document)).or_insert(next);
        if number == next {
            self.texts.push(document.root().to_canonical());
            let nodes = walk(document).into_iter();
            self.places.push(nodes.zip(0..).collect());
        }
        number
    }

    /// The place of a value.
    pub(crate) fn place(&mut self, document: &Arc<Document>, node: Node) -> Place {
        let number = self.put(document);
        let places = self.places.get(number as usize);
        // Every node of a document is met on the walk through it.
        let place = places.and_then(|places| places.get(&node).copied());
        (number, place.unwrap_or(0))
    }

    /// The texts, by number.
    pub(crate) fn into_texts(self) -> Vec<String> {
        self.texts
    }
}

/// Documents that were read again.
pub(crate) struct Documents(Vec<(Arc<Document>, Vec<Node>)>);

impl Documents {
    /// Nothing where a text is no canonical JSON.
    pub(crate) fn read(texts: &[String]) -> Option<Self> {
        let read = |text: &String| {
            let document = Document::parse_canonical(text.as_bytes()).ok()?;
            let nodes = walk(&document);
            Some((Arc::new(document), nodes))
        };
        texts.iter().map(read).collect::<Option<_>>().map(Self)
    }

    /// A document by number.
    pub(crate) fn get(&self, number: u32) -> Option<&Arc<Document>> {
        self.0.get(number as usize).map(|(document, _)| document)
    }

    /// A value by its place.
    pub(crate) fn at(&self, (number, place): Place) -> Option<(&Arc<Document>, Node)> {
        let (document, nodes) = self.0.get(number as usize)?;
        Some((document, *nodes.get(place as usize)?))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{Documents, Shelf};
    use halo_canon::Document;
    use std::sync::Arc;

    #[test]
    fn places_outlast_the_order_of_the_source() {
        let text =
            r#"{ "b": [1, {"y": "\u0041", "x": {}}], "a": {"z": [[2]], "e\u0000": 1e20}, "c": 3 }"#;
        let document = Arc::new(Document::parse(text.as_bytes(), 9).unwrap());
        let mut shelf = Shelf::default();
        let root = document.root();
        let values = [
            root,
            root.get("b").unwrap().element(1).unwrap().get("x").unwrap(),
            root.get("b").unwrap().element(1).unwrap().get("y").unwrap(),
            root.get("a").unwrap().get("z").unwrap().element(0).unwrap(),
            root.get("a").unwrap().get("e\0").unwrap(),
            root.get("c").unwrap(),
        ];
        let places = values.map(|value| shelf.place(&document, value.node()));
        assert_eq!(shelf.put(&document), 0);
        assert_eq!(shelf.put(&Arc::new(root.to_document())), 1);
        let documents = Documents::read(&shelf.into_texts()).unwrap();
        for (value, place) in values.into_iter().zip(places) {
            let (document, node) = documents.at(place).unwrap();
            assert_eq!(document.at(node).to_canonical(), value.to_canonical());
        }
        assert!(documents.at((0, 99)).is_none());
        assert!(documents.at((9, 0)).is_none());
        assert!(Documents::read(&["{".into()]).is_none());
    }
}
