//! Things that are numbered in the order of their making. A number is never given twice; what is over can be dropped.

/// The most places that are made at once: a damaged number must not take all memory.
const WIDEST: u32 = 1 << 26;

/// Its members, by number. One that was dropped costs a pointer until all before it are dropped too.
#[derive(Debug)]
pub(crate) struct Numbered<T> {
    /// The number of the first place.
    base: u32,
    places: Vec<Option<Box<T>>>,
    /// How many places at the front are empty: they go once they are half of all.
    empty: usize,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self {
            base: 0,
            places: Vec::new(),
            empty: 0,
        }
    }
}

impl<T> Numbered<T> {
    /// Made of members with growing numbers below `next`; nothing where they are not, or lie too far apart.
    pub(crate) fn restore(next: u32, members: Vec<(u32, T)>) -> Option<Self> {
        let base = members.first().map_or(next, |(number, _)| *number);
        if next.checked_sub(base)? > WIDEST {
            return None;
        }
        let mut all = Self {
            base,
            ..Self::default()
        };
        for (number, member) in members {
            if number < all.next() || number >= next {
                return None;
            }
            all.fill_up_to(number);
            all.push(member);
        }
        all.fill_up_to(next);
        Some(all)
    }

    fn fill_up_to(&mut self, next: u32) {
        let places = next.saturating_sub(self.base) as usize;
        self.places.resize_with(places, || None);
    }

    /// The number that the next one gets.
    pub(crate) fn next(&self) -> u32 {
        self.base + self.places.len() as u32
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        // A number before the first place wraps to one that no place has.
        let place = self.places.get(number.wrapping_sub(self.base) as usize)?;
        place.as_deref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let place = number.wrapping_sub(self.base) as usize;
        self.places.get_mut(place)?.as_deref_mut()
    }

    pub(crate) fn push(&mut self, member: T) {
        self.places.push(Some(Box::new(member)));
    }

    /// Those that are still there, in order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, &T)> {
        let places = self.places.iter().enumerate().skip(self.empty);
        places.filter_map(|(place, member)| Some((self.base + place as u32, member.as_deref()?)))
    }

    /// Takes one out for good.
    pub(crate) fn forget(&mut self, number: u32) -> Option<T> {
        let place = number.wrapping_sub(self.base) as usize;
        let member = self.places.get_mut(place)?.take()?;
        while self.places.get(self.empty).is_some_and(Option::is_none) {
            self.empty += 1;
        }
        if self.empty * 2 > self.places.len() {
            self.places.drain(..self.empty);
            self.base += self.empty as u32;
            self.empty = 0;
        }
        Some(*member)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::Numbered;

    #[test]
    fn numbers_stay_and_are_never_given_again() {
        let mut all = Numbered::default();
        for number in 0..100_u32 {
            assert_eq!(all.next(), number);
            all.push(number);
        }
        for number in (0..100).filter(|number| number % 7 != 3) {
            assert_eq!(all.forget(number), Some(number));
            assert_eq!(all.forget(number), None);
            assert_eq!(all.get(number), None);
            let rest = (0..100).filter(|other| other % 7 == 3 || *other > number);
            assert!(all.iter().map(|(_, member)| *member).eq(rest));
            assert!(all.iter().all(|(number, member)| number == *member));
        }
        assert_eq!(all.next(), 100);
        for number in (0..100).filter(|number| number % 7 == 3) {
            assert_eq!(all.get_mut(number), Some(&mut { number }));
            assert_eq!(all.forget(number), Some(number));
        }
        assert_eq!((all.places.len(), all.next()), (0, 100));
        assert_eq!(all.get(u32::MAX), None);
    }

    #[test]
    fn restored_with_the_same_numbers() {
        let all = Numbered::restore(9, vec![(3, 'a'), (4, 'b'), (7, 'c')]).unwrap();
        let found: Vec<(u32, char)> = all
            .iter()
            .map(|(number, member)| (number, *member))
            .collect();
        assert_eq!(found, [(3, 'a'), (4, 'b'), (7, 'c')]);
        assert_eq!((all.next(), all.get(5)), (9, None));
        assert!(Numbered::restore(7, vec![(3, 'a'), (7, 'c')]).is_none());
        assert!(Numbered::restore(9, vec![(3, 'a'), (3, 'c')]).is_none());
        assert!(Numbered::restore(u32::MAX, vec![(3, 'a')]).is_none());
        assert!(Numbered::<char>::restore(9, Vec::new()).is_some_and(|all| all.next() == 9));
    }
}
