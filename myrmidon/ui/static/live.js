// The live page: listens to server-sent events, and changes what moves.  Text is only ever set as text;
// HTML comes from our own server alone, which escapes it.
"use strict";

const body = document.body;
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

// ------------------------------------------------------------------------------ times

function age(seconds) {
  seconds = Math.max(Math.round(seconds), 0);
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86400)}d`;
}
const isSince = (element) => /\b(for|in) $/.test(element.previousSibling?.textContent ?? "");
function tick() {
  const now = Date.now();
  for (const element of $$("time[data-time]")) {
    const at = Date.parse(element.dateTime);
    if (Number.isNaN(at)) continue;
    const until = element.dataset.time === "until";
    const text = age((until ? at - now : now - at) / 1000);
    const shown = until || isSince(element) ? text : `${text} ago`;
    if (element.textContent !== shown) element.textContent = shown;
  }
}
setInterval(tick, 1000);

// ------------------------------------------------------------------------------ graph

function pulse(root, edges) {
  for (const edge of edges) {
    const path = root.querySelector(`[data-edge="${CSS.escape(edge)}"]`);
    if (!path) continue;
    path.classList.remove("pulse");
    requestAnimationFrame(() => path.classList.add("pulse"));
  }
}
document.addEventListener("animationend", (event) => event.target.classList?.remove("pulse"));

function paintPath() {
  for (const graph of $$(".graph[data-edges]")) {
    for (const edge of JSON.parse(graph.dataset.edges)) {
      graph.querySelector(`[data-edge="${CSS.escape(edge)}"]`)?.classList.add("walked");
    }
    for (const [state, status] of Object.entries(JSON.parse(graph.dataset.states))) {
      graph.querySelector(`[data-state="${CSS.escape(state)}"]`)?.classList.add("on", status === "True" ? "true" : "open");
    }
  }
}

// --------------------------------------------------------------------------- connection

function connect(since, handlers) {
  const light = $("#connection");
  const source = new EventSource(`/events?since=${encodeURIComponent(since)}`);
  const say = (word) => { light.textContent = word; light.dataset.state = word; };
  source.onopen = () => say("live");
  source.onerror = () => say("reconnecting");
  source.addEventListener("reload", () => { source.close(); location.reload(); });
  for (const [name, handle] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
  }
  window.addEventListener("pagehide", () => source.close());
  return source;
}

// ---------------------------------------------------------------------------- overview

// What needs a person comes first.
const RANKS = ["failing", "waiting", "deleting", "new", "suspended", "ready", "gone"];

class Overview {
  constructor() {
    this.rows = new Map();
    this.words = JSON.parse(body.dataset.phases);
    this.number = 0; this.travelling = null; this.before = null; this.dirty = true;
    this.list = $("#list"); this.box = $("#rows");
    this.pool = []; this.found = [];
    this.box.replaceChildren();
    this.list.addEventListener("scroll", () => this.draw(), { passive: true });
    window.addEventListener("resize", () => this.draw());
    for (const id of ["f-text", "f-namespace", "f-labels", "f-state", "f-unready"]) {
      $(`#${id}`).addEventListener("input", () => this.filter());
    }
    $("#filters").addEventListener("submit", (event) => event.preventDefault());
    $("#travel")?.addEventListener("input", () => this.travel(Number($("#travel").value)));
    $("#travel-live")?.addEventListener("click", () => this.live());
    window.addEventListener("hashchange", () => this.fromHash());
    this.frames();
  }
  async start() {
    const state = await (await fetch("/board.json")).json();
    this.load(state);
    this.fromHash();
    if (body.dataset.live === "true") {
      connect(state.since, {
        passes: (change) => this.passes(change),
        vitals: (state) => this.vitals(state),
        reset: async () => this.load(await (await fetch("/board.json")).json()),
      });
    }
  }
  load(state) {
    this.rows = new Map(state.rows.map((row) => [row.id, row]));
    this.number = state.number;
    body.dataset.number = state.number;
    this.vitals(state);
    this.filter();
  }
  passes(change) {
    // Each event begins where the last one ended; tests look at these two numbers.
    if (change.from !== this.number) body.dataset.gaps = Number(body.dataset.gaps || 0) + 1;
    this.number = change.to;
    body.dataset.number = change.to;
    body.dataset.passes = Number(body.dataset.passes || 0) + (change.to - change.from);
    for (const row of change.rows) this.rows.set(row.id, row);
    if (this.travelling !== null) return;
    for (const [controller, edges] of Object.entries(change.walked)) {
      const card = $(`[data-controller="${CSS.escape(controller)}"]`);
      if (card) pulse(card, Object.keys(edges));
    }
    this.dirty = true;
  }
  vitals(state) {
    const slider = $("#travel");
    if (slider) {
      slider.min = Math.max(state.first - 1, 0); slider.max = state.number;
      if (this.travelling === null) slider.value = state.number;
    }
    this.last = state.counts;
    if (this.travelling === null) this.counts(state.counts);
    const vitals = state.vitals, now = performance.now() / 1000;
    const all = Object.values(vitals.controllers || {});
    const sum = (name) => all.reduce((total, one) => total + one[name], 0);
    const totals = { passes: sum("passes"), writes: sum("writes"), at: now };
    const rate = (name) => {
      if (!this.before || now <= this.before.at) return "0";
      const value = Math.max(totals[name] - this.before[name], 0) / (now - this.before.at);
      return value >= 10 ? value.toFixed(0) : value.toFixed(1);
    };
    const alive = [...this.rows.values()].filter((row) => row.phase !== "gone");
    const ready = alive.filter((row) => row.phase === "ready").length;
    const stale = Math.max(0, ...(vitals.caches || []).map((one) => one.staleSeconds));
    const synced = (vitals.caches || []).filter((one) => one.synced).length;
    this.set("leader-name", vitals.leads === false && vitals.leader ? `${vitals.leader} leads` : vitals.identity || "");
    this.set("leader", vitals.leads === null || vitals.leads === undefined ? (vitals.working ? "working" : "starting") : vitals.leads ? "leader" : "standby");
    this.set("objects", `${ready} of ${alive.length} ready`);
    this.set("passes", rate("passes")); this.set("writes", rate("writes"));
    this.set("errors", sum("errors")); this.set("queue", `${sum("queued")} + ${sum("inWork")} in work`);
    this.set("lag", `${Math.round((vitals.lagSeconds || 0) * 1000)} ms`);
    this.set("caches", `${synced} of ${(vitals.caches || []).length}, ${age(stale)} old`);
    this.before = totals;
    for (const [name, one] of Object.entries(vitals.controllers || {})) {
      const card = $(`[data-controller="${CSS.escape(name)}"]`);
      for (const cell of card ? $$("[data-stat]", card) : []) cell.textContent = one[cell.dataset.stat];
    }
    const problems = Object.entries(vitals.problems || {}).map(([name, said]) => `${name}: ${said}`);
    if ($("#problems").textContent !== problems.join("\n")) $("#problems").textContent = problems.join("\n");
  }
  set(name, text) {
    const cell = $(`[data-vital="${name}"]`);
    if (cell && cell.textContent !== String(text)) cell.textContent = text;
  }
  counts(counts) {
    for (const card of $$("[data-controller]")) {
      const found = counts[card.dataset.controller] || { states: {}, phases: {} };
      for (const badge of $$("[data-count]", card)) {
        const number = found.states[badge.dataset.count] || 0;
        badge.setAttribute("visibility", number ? "visible" : "hidden");
        $("text", badge).textContent = number > 9999 ? "9k+" : number;
      }
      const chips = Object.keys(this.words).filter((phase) => found.phases[phase]).map((phase) => {
        const chip = this.chip(phase);
        chip.append(` ${found.phases[phase]}`);
        return chip;
      });
      $(".phases", card).replaceChildren(...chips);
    }
  }
  chip(phase) {
    const chip = document.createElement("span"), sign = document.createElement("i");
    const [mark, word] = this.words[phase] || ["?", phase];
    chip.className = `chip ${phase}`; sign.textContent = mark; sign.setAttribute("aria-hidden", "true");
    chip.append(sign, word);
    return chip;
  }
  fromHash() {
    const state = new URLSearchParams(location.hash.slice(1)).get("state");
    if (state === null) return;
    $("#f-state").value = state;
    this.filter();
    $("#filters").scrollIntoView({ block: "start" });
  }
  filter() {
    const text = $("#f-text").value.trim().toLowerCase(), space = $("#f-namespace").value;
    const state = $("#f-state").value, unready = $("#f-unready").checked;
    const labels = $("#f-labels").value.split(",").map((one) => one.trim()).filter(Boolean);
    for (const link of $$("a.state")) link.classList.toggle("chosen", link.dataset.state === state);
    const rows = this.shown ?? [...this.rows.values()];
    const names = [...new Set(rows.map((row) => row.namespace))].sort();
    const select = $("#f-namespace");
    if (names.join() !== this.names) {
      this.names = names.join();
      select.replaceChildren(new Option("all", ""), ...names.filter(Boolean).map((name) => new Option(name, name)));
      select.value = space;
    }
    const hasLabels = (row) => labels.every((one) => {
      const [key, value] = one.split("=");
      return value === undefined ? key in row.labels : row.labels[key] === value;
    });
    this.found = rows.filter((row) =>
      (!space || row.namespace === space) && (!state || row.state === state)
      && (!unready || !["ready", "gone"].includes(row.phase)) && hasLabels(row)
      && (!text || `${row.namespace}/${row.name} ${row.kind} ${row.reason} ${row.message}`.toLowerCase().includes(text)));
    const rank = (row) => RANKS.indexOf(row.phase);
    this.found.sort((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1));
    $("#shown").textContent = `${this.found.length} of ${rows.length}`;
    $("#objects").setAttribute("aria-rowcount", this.found.length + 1);
    this.draw();
  }
  draw() {
    const height = matchMedia("(max-width: 700px)").matches ? 76 : 44;
    const first = Math.max(Math.floor(this.list.scrollTop / height) - 4, 0);
    const count = Math.ceil(this.list.clientHeight / height) + 8;
    const rows = this.found.slice(first, first + count);
    this.box.style.height = `${this.found.length * height}px`;
    while (this.pool.length < rows.length) this.pool.push(this.makeRow());
    this.pool.forEach((line, index) => {
      const row = rows[index];
      if (!row) { line.root.remove(); return; }
      this.fill(line, row, first + index);
      line.root.style.transform = `translateY(${(first + index) * height}px)`;
      if (!line.root.isConnected) this.box.append(line.root);
    });
  }
  makeRow() {
    const root = document.createElement("div"), cells = [0, 1, 2, 3, 4].map(() => document.createElement("span"));
    root.className = "row"; root.setAttribute("role", "row");
    for (const cell of cells) { cell.setAttribute("role", "cell"); root.append(cell); }
    const link = document.createElement("a"), kind = document.createElement("small");
    cells[0].append(link, kind);
    return { root, cells, link, kind, seen: "" };
  }
  fill(line, row, index) {
    line.root.setAttribute("aria-rowindex", index + 2);
    const key = JSON.stringify(row);
    if (line.seen === key) return;
    line.seen = key;
    line.link.textContent = row.namespace ? `${row.namespace}/${row.name}` : row.name;
    line.link.href = `/objects/${[row.controller, row.namespace, row.name].map(encodeURIComponent).join("/")}`;
    line.kind.textContent = row.kind;
    line.cells[1].replaceChildren(this.chip(row.phase));
    line.cells[2].textContent = row.state;
    line.cells[3].textContent = [row.reason, row.message].filter(Boolean).join(": ");
    line.cells[3].title = row.message;
    const time = document.createElement("time");
    time.dateTime = row.endedAt; time.dataset.time = "ago";
    line.cells[4].replaceChildren(...(row.endedAt ? [time] : []));
  }
  async travel(number) {
    if (number >= Number($("#travel").max)) { this.live(); return; }
    this.travelling = number;
    if (this.fetching) return;
    this.fetching = true;
    try {
      let asked;
      do {
        asked = this.travelling;
        const then = await (await fetch(`/at/${asked}`)).json();
        if (this.travelling === null) return;
        this.shown = then.rows;
        this.counts(then.counts);
        $("#travel-at").textContent = then.at ? new Date(then.at).toLocaleTimeString() : "";
        $("#travel-live").hidden = false;
        this.filter();
      } while (asked !== this.travelling);
    } finally { this.fetching = false; }
  }
  live() {
    this.travelling = null; this.shown = undefined;
    $("#travel").value = $("#travel").max;
    $("#travel-at").textContent = $("#travel-at").dataset.end; $("#travel-live").hidden = true;
    if (this.last) this.counts(this.last);
    this.filter();
  }
  frames() {
    // At most one redraw in a frame, however many events came.
    const frame = () => {
      if (this.dirty && this.travelling === null) {
        this.dirty = false;
        const old = Date.now() - 60_000;
        for (const row of this.rows.values()) {
          if (row.phase === "gone" && Date.parse(row.endedAt) < old) this.rows.delete(row.id);
        }
        this.filter(); tick();
      }
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }
}

// ------------------------------------------------------------------------------- object

class ObjectPage {
  constructor() { this.pass = null; this.wanted = false; }
  async start() {
    this.ready();
    if (body.dataset.live !== "true") return;
    connect("", {
      passes: (change) => { if (change.rows.some((row) => row.id === body.dataset.id)) this.load(); },
      reset: () => {},
    });
  }
  async load() {
    if (this.pass !== null && !this.moved) return;  // an earlier pass is shown
    if (this.loading) { this.wanted = true; return; }
    this.loading = true;
    const open = $$("details[open] > summary").map((one) => one.textContent);
    const focused = document.activeElement?.id, typing = document.activeElement?.tagName === "TEXTAREA";
    try {
      const asked = this.pass === null ? "" : `&pass=${this.pass}`;
      const answer = await fetch(`${location.pathname}?fragment=1${asked}`);
      if (!answer.ok || typing) return;
      $("#main").innerHTML = await answer.text();
      for (const summary of $$("details > summary")) summary.parentElement.open = open.includes(summary.textContent);
      if (focused) document.getElementById(focused)?.focus();
      this.ready();
    } finally {
      this.loading = false; this.moved = false;
      if (this.wanted) { this.wanted = false; setTimeout(() => this.load(), 200); }
    }
  }
  ready() {
    paintPath(); tick();
    const slider = $("#pass");
    slider?.addEventListener("input", () => {
      const numbers = JSON.parse(slider.dataset.numbers), place = Number(slider.value);
      this.pass = place === numbers.length - 1 ? null : numbers[place];
      this.moved = true;
      this.load();
    });
    for (const link of $$("a.state")) link.setAttribute("href", `/#state=${encodeURIComponent(link.dataset.state)}`);
    for (const button of $$("[data-copy]")) {
      button.addEventListener("click", async () => {
        await navigator.clipboard?.writeText(button.dataset.copy);
        button.textContent = "Copied";
      });
    }
  }
}

if (body.dataset.page === "overview") new Overview().start();
if (body.dataset.page === "object") new ObjectPage().start();
