use super::*;

fn band(name: &str, take: Vec<Selection>) -> Band {
    let queue = Queue::new(Fair::No, 10, Full::Refuse).unwrap();
    Band { name: name.to_owned(), take, queue, rate: None, share: None }
}

fn some() -> Vec<Selection> {
    vec![Selection { kind: Some(FrameKind::Data), ..Selection::default() }]
}

#[test]
fn every_frame_belongs_to_a_band_and_every_band_can_have_one() {
    let new = |bands| Policy::new(bands, Vec::new());
    assert_eq!(new(Vec::new()), Err(PolicyError::NoBand));
    assert_eq!(new(vec![band("a", some())]), Err(PolicyError::LastChooses));
    assert_eq!(
        new(vec![band("a", some()), band("b", Vec::new()), band("c", Vec::new())]),
        Err(PolicyError::EmptyBand(1))
    );
    let many = |count: usize| {
        let mut bands: Vec<_> = (1..count).map(|_| band("a", some())).collect();
        bands.push(band("rest", Vec::new()));
        bands
    };
    assert_eq!(new(many(17)), Err(PolicyError::TooManyBands(17)));
    assert_eq!(new(many(16)).unwrap().bands().len(), 16);
}

#[test]
fn the_last_bands_share_or_none() {
    let of = |shares: &[u8]| {
        let bands = shares.iter().enumerate().map(|(at, share)| {
            let take = if at + 1 == shares.len() { Vec::new() } else { some() };
            Band { share: NonZeroU8::new(*share), ..band("a", take) }
        });
        bands.collect::<Vec<_>>()
    };
    let new = |bands| Policy::new(bands, Vec::new()).map(|policy| policy.bands().len());
    assert_eq!(new(of(&[0, 3, 1])), Ok(3));
    assert_eq!(new(of(&[3, 1, 6])), Ok(3));
    assert_eq!(new(of(&[3, 0, 1])), Err(PolicyError::LonelyShare(1)));
    assert_eq!(new(of(&[3, 1, 0])), Err(PolicyError::LonelyShare(2)));
    assert_eq!(new(of(&[0, 1])), Err(PolicyError::LonelyShare(1)));
    assert_eq!(new(of(&[1])), Err(PolicyError::LonelyShare(0)));
    let mut held_back = of(&[3, 1]);
    held_back[1].rate = FrameRate::new(20);
    assert_eq!(new(held_back), Err(PolicyError::ShareAndRate(1)));
}

#[test]
fn a_sender_in_a_fair_band_has_less_room() {
    assert!(Queue::new(Fair::PerSocket, 127, Full::Refuse).is_ok());
    assert_eq!(Queue::new(Fair::PerSocket, 128, Full::Refuse), Err(QueueError { most: 127 }));
    assert!(Queue::new(Fair::No, 128, Full::Refuse).is_ok());
    assert!(Queue::new(Fair::No, 0, Full::Refuse).is_err());
}

#[test]
fn a_share_of_a_bus_is_reckoned_with_its_longest_frames() {
    let bus = BitRate::from_bits_per_second(500_000).unwrap();
    assert_eq!(FrameRate::share(bus, 200).map(FrameRate::frames_per_second), Some(625));
    assert_eq!(FrameRate::share(bus, 1000).map(FrameRate::frames_per_second), Some(3125));
    let slow = BitRate::from_bits_per_second(10_000).unwrap();
    assert_eq!(FrameRate::share(slow, 10), None);
}
