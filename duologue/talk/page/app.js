// The page of a person who takes one side of a call: WebRTC for sound, a WebSocket for everything else.

import { buildFields, el, readable, renderEntries, renderValue } from "./forms.js";

const $ = (id) => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token");
const withToken = (path) => (token ? `${path}?token=${encodeURIComponent(token)}` : path);
const FLASH_MS = 4000;
const STATUS = {
  waiting: "Ready when you are",
  connecting: "Connecting your microphone",
  preparing: "Preparing the call",
  talking: "On the line",
  ending: "Hanging up",
  scoring: "Scoring the call",
  ended: "The call is over",
  lost: "Not connected",
};
const ENDS = { "[EXIT]": "The agent ended the call.", "[CALLER_DONE]": "The caller hung up.", "[TIMEOUT]": "The call reached its time limit." };

let session = null, socket = null, connection = null, microphone = null, state = null, reconnects = 0;
let openWords = null, otherName = "Agent";
const tools = new Map();

function setStatus(status, text) {
  document.body.dataset.status = status;
  $("status").textContent = text || STATUS[status] || status;
  const button = $("call");
  const isLive = status === "talking";
  button.textContent = isLive ? "Hang up" : status === "ended" ? "Call over" : "Start call";
  button.classList.toggle("hang-up", isLive);
  button.disabled = !(isLive || status === "waiting");
  for (const node of document.querySelectorAll("#tool-list button")) node.disabled = !isLive;
  if (status === "talking") $("empty").textContent = session.side === "user" ? "The agent is about to greet you." : "A caller is on the line. Greet them.";
  if (status === "ended" || status === "lost") stopSound();
}

function showAlert(text) {
  $("alert").textContent = text;
  $("alert").hidden = !text;
}

// ---- the server ------------------------------------------------------------------------------------------------

function openLive() {
  const url = new URL(withToken("/api/live"), location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  socket = new WebSocket(url);
  socket.onmessage = (event) => take(JSON.parse(event.data));
  socket.onopen = () => { reconnects = 0; };
  socket.onclose = (event) => closed(event.code);
}

function closed(code) {
  if (document.body.dataset.status === "ended") return;
  if (code === 4409) {
    setStatus("lost");
    showAlert("This call is open in another tab or window. Close that one and reload this page.");
  } else if (session && reconnects < 5) {
    reconnects += 1;
    setTimeout(openLive, 300 * reconnects);
  } else {
    setStatus("lost");
    showAlert(session
      ? "The connection to the server is gone. Is the program in the terminal still running?"
      : "The server refused the connection. Open the complete address that the terminal shows, with its token.");
  }
}

function send(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  else showAlert("Not connected to the server; nothing was sent.");
}

const takers = {
  session: showSession,
  status: ({ status, text }) => {
    if (status === "scoring") addNote(ENDS[text] ?? `The call ended ${text}.`);
    if (status === "waiting" && connection) return;
    setStatus(status);
  },
  time: ({ media_ms }) => { $("timer").textContent = clock(media_ms); },
  said: ({ who, text }) => addWords(who, text),
  speaking: ({ speaking }) => { if (speaking) openWords = null; $("level-other").closest(".meter").classList.toggle("speaking", speaking); },
  cut: () => { if (openWords?.who === "other") { openWords.words.append(" —"); openWords = null; } },
  tool: startDeed,
  result: finishDeed,
  recorded: ({ name, seq }) => { lastDeed(name)?.querySelector(".mark")?.replaceChildren(`recorded as action ${seq}`); },
  refused: ({ name, text }) => addNote(`${labelOf(name)}: ${text}`),
  state: showState,
  fault: ({ text }) => showAlert(`Something went wrong with the call: ${text}`),
  outcome: showOutcome,
};

function take(message) {
  takers[message.type]?.(message);
}

// ---- sound -----------------------------------------------------------------------------------------------------

async function startCall() {
  showAlert("");
  setStatus("connecting");
  try {
    microphone = await getMicrophone();
    await connectSound(microphone);
  } catch (error) {
    stopSound();
    setStatus("waiting");
    showAlert(error.message);
  }
}

async function getMicrophone() {
  if (!navigator.mediaDevices) {
    throw new Error("The browser gives a microphone only to pages from this machine (http://127.0.0.1…) or over HTTPS.");
  }
  try {
    return await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 } });
  } catch (error) {
    const reasons = {
      NotAllowedError: "The microphone is blocked for this page. Allow it in the address bar of the browser, then start the call again.",
      NotFoundError: "No microphone was found. Plug one in, then start the call again.",
      NotReadableError: "The microphone is in use by another program. Close it, then start the call again.",
    };
    throw new Error(reasons[error.name] ?? `The microphone cannot be used (${error.name}: ${error.message}).`);
  }
}

async function connectSound(stream) {
  const line = new RTCPeerConnection({ iceServers: [] });
  connection = line;
  line.onconnectionstatechange = () => lineChanged(line);
  line.ontrack = (event) => {
    $("voice").srcObject = event.streams[0] ?? new MediaStream([event.track]);
    watchLevel($("voice").srcObject, $("level-other"));
  };
  for (const track of stream.getAudioTracks()) line.addTrack(track, stream);
  watchLevel(stream, $("level-you"));
  await line.setLocalDescription(await line.createOffer());
  await gathered(line);
  const reply = await fetch(withToken("/api/offer"), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ type: "offer", sdp: line.localDescription.sdp }),
  }).catch(() => { throw new Error("The server cannot be reached. Is the program in the terminal still running?"); });
  const answer = await reply.json().catch(() => ({ error: `the server answered ${reply.status}` }));
  if (!reply.ok) throw new Error(`The call could not be connected: ${answer.error}.`);
  await line.setRemoteDescription(answer);
}

function gathered(line) {
  if (line.iceGatheringState === "complete") return Promise.resolve();
  return new Promise((resolve) => {
    setTimeout(resolve, 2000);
    line.addEventListener("icegatheringstatechange", () => { if (line.iceGatheringState === "complete") resolve(); });
  });
}

function lineChanged(line) {
  if (line !== connection || line.connectionState !== "failed") return;
  const wasOn = document.body.dataset.status === "talking";
  showAlert(wasOn
    ? "The sound connection broke, so the call is over."
    : "The sound connection could not be made: no network path between this browser and the program. A VPN or a firewall that blocks UDP is the usual reason.");
  stopSound();
  if (!wasOn) setStatus("waiting");
}

function stopSound() {
  connection?.close();
  for (const track of microphone?.getTracks() ?? []) track.stop();
  connection = microphone = null;
}

let audio = null;

function watchLevel(stream, bar) {
  audio ??= new AudioContext();
  const analyser = audio.createAnalyser();
  analyser.fftSize = 512;
  audio.createMediaStreamSource(stream).connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  const draw = () => {
    analyser.getFloatTimeDomainData(samples);
    const rms = Math.sqrt(samples.reduce((sum, value) => sum + value * value, 0) / samples.length);
    const level = Math.min(1, Math.max(0, (20 * Math.log10(rms + 1e-6) + 60) / 50));
    bar.style.transform = `scaleX(${connection ? level.toFixed(2) : 0})`;
    if (bar.id === "level-you") bar.closest(".meter").classList.toggle("speaking", level > 0.45);
    if (connection) requestAnimationFrame(draw);
  };
  draw();
}

// ---- the role --------------------------------------------------------------------------------------------------

function showSession(message) {
  if (session) return rebuild();
  session = message;
  otherName = message.side === "user" ? "Agent" : "Caller";
  $("state-title").textContent = message.side === "user" ? `Your ${message.device || "side"}` : "Your system";
  document.title = `${message.card.title} · Duologue`;
  $("title").textContent = message.card.title;
  $("scenario").textContent = message.scenario;
  $("other-name").textContent = otherName;
  $("empty").textContent = message.side === "user"
    ? `Read your role, then start the call. The agent greets you; say what is wrong, and do with your ${message.device || "tools"} what you are asked to do.`
    : "Read your brief, then start the call. You are the agent: greet the caller, use your tools, and hang up when everything is settled.";
  $("brief").replaceChildren(...message.card.sections.map(briefPart));
  showTools(message.tools);
}

function rebuild() {
  $("log").replaceChildren();
  openWords = null;
}

function briefPart(section) {
  const isPolicy = section.kind === "text" && section.items.some((item) => item.length > 1500);
  const body = isPolicy ? renderPolicy(section.items.join("\n\n")) : briefItems(section);
  if (section.is_open) return el("div", { class: "part" }, el("h3", { text: section.title }), body);
  return el("details", { class: "part" }, el("summary", { text: section.title }), body);
}

function briefItems({ kind, items }) {
  if (kind === "text") return el("div", {}, ...items.map((text) => el("p", { text })));
  return el(kind === "steps" ? "ol" : "ul", {}, ...items.map((text) => el("li", { text })));
}

// Headings, lists and paragraphs of a long brief; everything else stays text.
function renderPolicy(text) {
  const box = el("div", { class: "policy", tabindex: "0", role: "region", "aria-label": "Brief" });
  for (const block of text.split(/\n\s*\n/)) {
    const lines = block.split("\n").filter((line) => line.trim());
    if (!lines.length) continue;
    const heading = /^#{1,6}\s+(.*)$/.exec(lines[0]);
    if (heading) { box.append(el("h4", { text: plain(heading[1]) })); lines.shift(); }
    if (!lines.length) continue;
    if (lines.every((line) => /^\s*([-*]|\d+\.)\s|^\s{2,}/.test(line))) box.append(renderList(lines));
    else box.append(el("p", { text: plain(lines.join(" ")) }));
  }
  return box;
}

function renderList(lines) {
  const items = [];
  for (const line of lines) {
    const found = /^\s*(?:[-*]|\d+\.)\s+(.*)$/.exec(line);
    if (found || !items.length) items.push(found ? found[1] : line.trim());
    else items[items.length - 1] += ` ${line.trim()}`;
  }
  return el(/^\s*\d/.test(lines[0]) ? "ol" : "ul", {}, ...items.map((text) => el("li", { text: plain(text) })));
}

const plain = (text) => text.replace(/\*\*|`/g, "");

// ---- the tools -------------------------------------------------------------------------------------------------

const labelOf = (name) => tools.get(name)?.label ?? readable(name);

// What the button at the top does.
const hangsUp = (name) => Boolean(tools.get(name)?.ends_call) && !Object.keys(tools.get(name).parameters.properties).length;

function showTools(list) {
  for (const tool of list) tools.set(tool.name, tool);
  const shown = list.filter((tool) => !hangsUp(tool.name));
  const groups = [["Do", shown.filter((tool) => tool.kind !== "read")], ["Look", shown.filter((tool) => tool.kind === "read")]];
  if (session.side === "agent") groups.reverse();
  $("tool-list").replaceChildren(...groups.filter(([, group]) => group.length).map(([title, group]) =>
    el("div", { class: "group" }, el("h3", { text: title }), el("ul", {}, ...group.map(toolItem)))));
  $("filter").closest("label").hidden = shown.length < 8;
}

function toolItem(tool) {
  const text = [el("span", { class: "label", text: tool.label }), el("span", { class: "about", text: tool.description })];
  const item = el("li", { class: "tool", "data-tool": tool.name, "data-search": `${tool.label} ${tool.description}`.toLowerCase() });
  if (!Object.keys(tool.parameters.properties).length) {
    item.append(el("button", { type: "button", disabled: true, onclick: () => press(tool.name, {}) }, ...text));
    return item;
  }
  const { nodes, read } = buildFields(tool.parameters);
  const form = el("form", {}, ...nodes, el("button", { class: "primary", type: "submit", disabled: true, text: tool.label }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    try { press(tool.name, read()); } catch { /* the field itself says what is wrong */ }
  });
  item.append(el("details", {}, el("summary", {}, ...text), form));
  return item;
}

function press(name, args) {
  document.querySelector(`[data-tool="${CSS.escape(name)}"]`)?.classList.add("busy");
  send({ type: "press", name, arguments: args });
}

$("filter").addEventListener("input", (event) => {
  const wanted = event.target.value.trim().toLowerCase();
  for (const item of document.querySelectorAll(".tool")) item.hidden = !item.dataset.search.includes(wanted);
});

// ---- the conversation ------------------------------------------------------------------------------------------

function append(item) {
  const log = $("log");
  const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
  log.append(item);
  if (isAtEnd) log.scrollTop = log.scrollHeight;
  $("empty").hidden = true;
}

function addWords(who, text) {
  const last = $("log").lastElementChild;
  if (openWords?.who !== who && last?.classList.contains(who)) openWords = { who, words: last.querySelector(".words") };
  if (openWords?.who !== who) {
    const words = el("span", { class: "words" });
    const name = who === "you" ? `You, as the ${otherName.toLowerCase()} heard it` : otherName;
    openWords = { who, words };
    append(el("li", { class: who }, el("span", { class: "name", text: name }), words));
  }
  const before = openWords.words.textContent;
  openWords.words.textContent = `${before}${before && !/\s$/.test(before) ? " " : ""}${text}`.replace(/\s+/g, " ").trimStart();
  $("log").scrollTop = $("log").scrollHeight;
}

function addNote(text) {
  openWords = null;
  append(el("li", { class: "deed" }, el("span", { text })));
}

const lastDeed = (name) => [...document.querySelectorAll("#log .deed")].reverse().find((node) => node.dataset.name === name);

function startDeed({ id, name, arguments: args }) {
  if (hangsUp(name)) return;
  const given = Object.keys(args).length ? renderEntries(args) : null;
  const title = el("div", { class: "title" }, el("span", { text: labelOf(name) }), el("span", { class: "mark" }));
  append(el("li", { class: "deed", "data-id": id, "data-name": name }, title, given));
}

function finishDeed({ id, name, result }) {
  document.querySelector(`[data-tool="${CSS.escape(name)}"]`)?.classList.remove("busy");
  const item = document.querySelector(`#log .deed[data-id="${CSS.escape(id)}"]`);
  if (!item) return;
  const isBad = result?.status === "error" || result?.success === false;
  item.classList.toggle("bad", isBad);
  item.append(el("div", { class: "result", tabindex: "0", "aria-label": `Result of ${labelOf(name)}` }, resultText(result)));
  $("log").scrollTop = $("log").scrollHeight;
}

function resultText(result) {
  if (typeof result !== "object" || result === null) return renderValue(result);
  const { message, status, error_type, ...rest } = result;
  const shown = message === undefined ? result : rest;
  return el("div", {}, message ? el("p", { text: message }) : null, message ? null : renderValue(shown));
}

function showState({ state: latest }) {
  $("state-panel").hidden = latest === null;
  if (latest === null) return;
  const isSectioned = Object.values(latest).every((part) => typeof part === "object" && part !== null && !Array.isArray(part));
  const parts = isSectioned ? Object.entries(latest) : [["", latest]];
  $("state").replaceChildren(...parts.map(([title, part]) =>
    el("section", {}, title ? el("h3", { text: readable(title) }) : null, renderEntries(part, state ? (isSectioned ? state[title] ?? {} : state) : undefined))));
  state = latest;
  setTimeout(() => { for (const node of document.querySelectorAll("#state .changed")) node.classList.remove("changed"); }, FLASH_MS);
}

function showOutcome({ kind, cause, detail, checks, media_ms, folder }) {
  const title = { passed: "Passed", failed: "Failed", not_evaluable: `Not evaluable (${cause})` }[kind] ?? kind;
  const line = (check) => {
    const [word, style] = check.passed === true ? ["yes", "yes"] : check.passed === false ? ["no", "no"] : ["not checked", "none"];
    return el("li", {}, el("span", { class: `verdict ${style}`, text: word }), ` ${signalName(check.signal)}${check.gates ? "" : " (does not count)"}${check.reason ? `: ${check.reason}` : ""}`);
  };
  const box = $("outcome");
  box.className = `outcome ${kind}`;
  box.hidden = false;
  box.replaceChildren(
    el("h3", { text: title }),
    detail && kind !== "passed" ? el("p", { text: detail }) : "",
    el("ul", {}, ...checks.map(line)),
    el("p", { class: "scenario" }, `${clock(media_ms)} of call, recorded in `, el("code", { text: folder })),
  );
  box.focus();
}

const signalName = (signal) => readable(signal.replace(/^is_/, "").replace(/^db_/, "database_").replace(/^nl_/, "spoken_"));

function clock(ms) {
  const seconds = Math.floor(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

$("call").addEventListener("click", () => {
  if (document.body.dataset.status === "talking") send({ type: "hang_up" });
  else startCall();
});
window.addEventListener("pagehide", stopSound);
openLive();
