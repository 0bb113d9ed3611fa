//! `candor reload`: which gateway is asked, and its answer.

use super::*;

/// `candor reload` with these arguments.
fn ask(place: &Scenario, arguments: &[&str]) -> Output {
    place.candor(&[&["reload"], arguments].concat())
}

#[test]
#[ignore = "runs in a guest"]
fn reload_reports_the_result() {
    let Some(place) = scene(VCAN) else { return };
    let (files, file) = (files(), place.reloadable());
    let name = file.to_str().unwrap();
    let assert = |status: i32, words: &[&str]| ask(&place, &[]).assert(status, words);
    assert(2, &["no gateway is running"]);
    let candor = place.start_reloadable(&files[0], "auto");

    write(&file, &files[1]);
    assert(0, &["reloaded: ", name, "new: beside, back"]);
    write(&file, &files[0]);
    let answer = ask(&place, &[name, "--json"]).json();
    assert_eq!((&answer["taken"], &answer["gone_routes"][0]["route"]), (&true.into(), &"beside".into()), "{answer}");

    write(&file, "[bus.left]\ninterface = 7\n");
    assert(1, &["error[E", "interface = 7", "not valid", "the running gateway is unchanged"]);
    let answer = ask(&place, &["--json"]).json();
    assert_eq!(answer["taken"], false, "{answer}");
    let lines = answer["findings"].as_array().unwrap().iter().map(|finding| &finding["line"]);
    assert!(lines.into_iter().any(|line| *line == 2), "{answer}");

    write(&file, &files[0].replace("t-right", "t-nowhere"));
    assert(1, &["was not loaded, and the running gateway is unchanged", "interface t-nowhere (bus "]);
    fs::remove_file(&file).unwrap();
    assert(1, &["was not loaded", "cannot read"]);
    ask(&place, &["/nowhere.toml"]).assert(2, &["no gateway is running /nowhere.toml; running: ", name]);

    let stream = Stream::new(&place);
    assert_eq!(stream.flows(64, || {})[1], 0);
    candor.stop();
}

#[test]
#[ignore = "runs in a guest"]
fn a_new_engine_needs_a_restart() {
    let Some(place) = scene(VCAN) else { return };
    let with = |engine: &str| format!("engine = \"{engine}\"\n{}", files()[0]);
    write(&place.reloadable(), &with("read-write"));
    let mut command = place.command(&["run", place.reloadable().to_str().unwrap(), "--json"]);
    let mut candor = command.stdout(Stdio::null()).spawn().unwrap();
    while ask(&place, &[]).status != 0 {
        assert_eq!(candor.try_wait().unwrap(), None);
    }
    write(&place.reloadable(), &with("mmap-write"));
    let answer = "restart candor to change the engine: read-write runs, the file says mmap-write";
    ask(&place, &[]).assert(1, &[answer]);
    // The gateway continues, also without a reader of its events.
    assert_eq!(Stream::new(&place).flows(64, || {})[1], 0);
    signal::send(candor.id(), Signal::Terminate).unwrap();
    assert!(candor.wait().unwrap().success());
}

#[test]
#[ignore = "runs in a guest"]
fn standard_input_cannot_be_reloaded() {
    let Some(place) = scene(VCAN) else { return };
    let candor = place.start(&files()[0], "auto");
    ask(&place, &[]).assert(2, &["from standard input"]);
    signal::send(candor.pid(), Signal::Hangup).unwrap();
    let answer = candor.event(&["not-reloaded"]);
    assert!(answer["because"].as_str().unwrap().contains("standard input"), "{answer}");
    candor.stop();
}
