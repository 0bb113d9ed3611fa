"use strict";
// Plays two logs of `candor-lab wire` (docs/wire.md, "Event log") side by side. Times are µs since the urgent frame was sent.
(() => {
  const URGENT = "080", BURST_MARK = "7FE", URGENT_MARK = "7FF", MARKS = "mark";
  const DEPTH = 2; // frames that the controller holds
  const SAME = 2; // events of both recordings that are closer than this are one step
  const CALM_MS = 700; // between steps, at least, if motion is unwelcome

  const byId = (id) => document.getElementById(id);
  const micros = (us) => `${us < 0 ? "−" : ""}${Math.abs(Math.round(us)).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f")} µs`;
  const millis = (us) => `${us < 0 ? "−" : ""}${(Math.abs(us) / 1000).toFixed(2)} ms`;
  const count = (frames) => `${frames} ${frames === 1 ? "frame" : "frames"}`;
  const make = (tag, into, name, text = "") => {
    const made = into.appendChild(document.createElement(tag));
    made.className = name;
    made.textContent = text;
    return made;
  };

  const read = (name) => {
    const lines = byId(`log-${name}`).textContent.split("\n").map((line) => line.split(" "));
    const all = lines.filter(([kind]) => kind === "frame").map(([, bus, start, end, , frame]) => ({
      bus, id: frame.split("#")[0], start: 1e6 * start, end: 1e6 * end,
    }));
    const marks = (id) => all.filter((one) => one.bus === MARKS && one.id === id).map((one) => one.start);
    const [sent] = marks(URGENT_MARK);
    const frames = all.filter((one) => one.bus !== MARKS).sort((one, other) => one.start - other.start);
    frames.forEach((one) => { one.start -= sent; one.end -= sent; one.isUrgent = one.id === URGENT; });
    return { name, frames, urgent: frames.find((one) => one.isUrgent), from: marks(BURST_MARK).at(-1) - sent };
  };

  const lanes = ["before", "after"].map(read);
  const from = Math.max(...lanes.map((lane) => lane.from));
  const to = Math.max(...lanes.map((lane) => lane.frames.at(-1).end));
  const steps = lanes.flatMap((lane) => [...lane.frames.map((one) => one.start), lane.urgent.end])
    .concat([from, 0, to]).filter((at) => at >= from).sort((one, other) => one - other)
    // The later of two that are close: then both have happened.
    .filter((at, index, all) => index + 1 === all.length || all[index + 1] - at > SAME);

  // Where each frame is: those on the bus and in the controller are the next ones in the order of the bus.
  const stateAt = ({ frames, urgent }, now) => {
    const waiting = frames.filter((one) => one.end > now && (!one.isUrgent || now >= 0));
    const controller = waiting.slice(0, DEPTH);
    const queue = waiting.slice(DEPTH);
    const ahead = waiting.indexOf(urgent);
    let place = "queue";
    if (now < 0) place = "before";
    else if (now >= urgent.end) place = "received";
    else if (now >= urgent.start) place = "bus";
    else if (ahead < DEPTH) place = "controller";
    return { controller, queue, ahead, place };
  };
  const SAYS = {
    before: () => "not sent yet",
    queue: ({ ahead }) => `in the queue, ${count(ahead)} before it`,
    controller: () => "in the controller, next on the bus",
    bus: () => "on the bus",
    received: () => "received",
  };

  const share = (us) => `${(100 * (us - from) / (to - from)).toFixed(3)}%`;
  for (const lane of lanes) {
    const root = byId(lane.name);
    const find = (selector) => root.querySelector(selector);
    const bus = find(".bus");
    for (const one of lane.frames) {
      if (one.end <= from) continue;
      const start = Math.max(one.start, from);
      one.bar = make("i", bus, one.isUrgent ? "urgent" : "");
      one.bar.style.left = share(start);
      one.bar.style.width = `${(100 * (one.end - start) / (to - from)).toFixed(3)}%`;
    }
    lane.wait = make("i", bus, "wait");
    lane.wait.style.left = share(0);
    lane.head = make("i", bus, "head");
    for (let ms = 0; ms * 1000 < to; ms += 5) make("span", find(".axis"), "", ms === 0 ? "sent" : `${ms} ms`).style.left = share(ms * 1000);
    Object.assign(lane, {
      waited: find(".waited b"), state: find(".state"), count: find(".count"), queue: find(".queue .frames"),
      band: find(".band .frames"), slots: [...root.querySelectorAll(".slots i")],
    });
  }

  const draw = (lane, now) => {
    const { controller, queue, ahead, place } = stateAt(lane, now);
    lane.place = place;
    lane.says = SAYS[place]({ ahead });
    lane.state.textContent = lane.says;
    const fill = (box, frames) => {
      box.replaceChildren();
      for (const one of frames) make("i", box, one.isUrgent ? "urgent" : "", one.isUrgent ? one.id : "");
    };
    const inQueue = lane.band ? queue.filter((one) => !one.isUrgent) : queue;
    lane.count.textContent = `: ${count(inQueue.length)}`;
    fill(lane.queue, inQueue);
    if (lane.band) fill(lane.band, queue.filter((one) => one.isUrgent));
    lane.slots.forEach((slot, at) => {
      const one = controller[at];
      slot.textContent = one ? one.id : "";
      slot.className = one ? `full${one.isUrgent ? " urgent" : ""}${one.start <= now ? " sending" : ""}` : "";
    });
    for (const one of lane.frames) one.bar?.classList.toggle("past", one.start <= now);
  };

  const scrubber = byId("scrubber"), play = byId("play"), speed = byId("speed"), time = byId("time"), said = byId("said");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let now = from, drawn, playing = false, last;

  const next = (direction) => {
    const further = direction > 0 ? steps.find((at) => at > now + 0.5) : steps.findLast((at) => at < now - 0.5);
    return further ?? (direction > 0 ? to : from);
  };
  const say = () => {
    said.textContent = `${millis(now)}. Before: ${lanes[0].says}. After: ${lanes[1].says}.`;
  };
  const show = (at) => {
    now = Math.min(Math.max(at, from), to);
    scrubber.value = now;
    time.textContent = millis(now);
    // Nothing but the clock moves between two events.
    const event = lanes.flatMap(({ frames }) => frames).filter((one) => one.start <= now).length
      + lanes.flatMap(({ frames }) => frames).filter((one) => one.end <= now).length + (now >= 0);
    const places = lanes.map((lane) => lane.place).join();
    if (event !== drawn) lanes.forEach((lane) => draw(lane, now));
    drawn = event;
    for (const lane of lanes) {
      const waited = Math.min(Math.max(now, 0), lane.urgent.end);
      lane.waited.textContent = micros(waited);
      lane.wait.style.width = `${(100 * waited / (to - from)).toFixed(3)}%`;
      lane.head.style.left = share(now);
    }
    scrubber.setAttribute("aria-valuetext", `${millis(now)}, before: ${lanes[0].says}, after: ${lanes[1].says}`);
    if (playing && places !== lanes.map((lane) => lane.place).join()) say();
  };
  const run = (isOn) => {
    playing = isOn;
    play.querySelector("span").textContent = isOn ? "Pause" : "Play";
    play.classList.toggle("playing", isOn);
    last = undefined;
    if (isOn) requestAnimationFrame(tick);
    else say();
  };
  const tick = (clock) => {
    if (!playing) return;
    const passed = last === undefined ? 0 : clock - last;
    const step = calm.matches ? next(1) : now + Math.min(passed, 100) * speed.value;
    if (!calm.matches || passed >= Math.max(CALM_MS, (step - now) / speed.value)) {
      show(step);
      last = clock;
    } else {
      last ??= clock;
    }
    if (now >= to) run(false);
    else requestAnimationFrame(tick);
  };
  const toggle = () => {
    if (!playing && now >= to) show(from);
    run(!playing);
  };
  const jump = (at) => {
    show(at);
    if (playing) run(false);
    else say();
  };

  play.addEventListener("click", toggle);
  byId("back").addEventListener("click", () => jump(next(-1)));
  byId("forth").addEventListener("click", () => jump(next(1)));
  scrubber.addEventListener("input", () => show(Number(scrubber.value)));
  scrubber.addEventListener("change", say);
  const KEYS = {
    " ": toggle, ArrowLeft: () => jump(next(-1)), ArrowRight: () => jump(next(1)), Home: () => jump(from), End: () => jump(to),
  };
  document.addEventListener("keydown", (event) => {
    const press = KEYS[event.key];
    const isOwn = event.target.closest("select, pre, .scroll") || event.key === " " && event.target.closest("button, a, summary");
    if (!press || isOwn || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    press();
  });

  Object.assign(scrubber, { min: from, max: to });
  const explain = () => { byId("calm").hidden = !calm.matches; };
  calm.addEventListener("change", explain);
  explain();
  const body = document.querySelector("#frames tbody");
  lanes[0].frames.forEach((_, at) => {
    const row = make("tr", body, "first");
    make("td", row, "n", at + 1);
    for (const { frames } of lanes) {
      make("td", row, "", frames[at].id);
      make("td", row, "n", frames[at].start.toFixed(0));
      make("td", row, "n", frames[at].end.toFixed(0));
    }
  });
  show(from);
})();
