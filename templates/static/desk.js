// Live pages. When something has changed, the page asks for itself again and morphs: a stream says when, or else a poll.
// Everything works without this file. A hidden page asks for nothing.
(() => {
  const SILENCE = 40_000, MINUTE = 60_000, POLL = 5_000, RETRY = 1_500; // ms
  const acting = new Set(); // requests of people, to which a refresh gives way
  let stream, poll, loading, news; // news: a stamp that came while the page could not be refreshed
  let hopeful = false; // whether a stream is likely to be had
  let heard = 0, shown = Date.now(), opened = 0;

  const page = () => document.getElementById("page");
  const address = () => page().dataset.refresh ?? location.pathname + location.search; // empty: stays as it is

  function changed(stamp) {
    news = stamp;
    if (stamp !== page().dataset.seen) refresh();
  }

  async function refresh() {
    if (acting.size || loading || !address()) return;
    const own = (loading = new AbortController());
    news = undefined;
    try {
      const answer = await fetch(address(), { headers: { Accept: "text/html" }, signal: own.signal });
      if (answer.redirected && new URL(answer.url).pathname === "/sign-in") return leave();
      if (answer.status >= 500) throw new Error(answer.statusText);
      const text = await answer.text();
      if (answer.ok && !own.signal.aborted) await morph(text);
      shown = Date.now();
    } catch {
      if (!own.signal.aborted) reached(false);
    } finally {
      loading = undefined;
    }
    if (news) changed(news);
  }

  // What an action was refused for stays until the next action; so does a form that was typed in, with what it had seen.
  async function morph(text) {
    const kept = document.querySelectorAll("#said:has(.bad), form[data-typed]");
    kept.forEach((one) => one.setAttribute("hx-morph-skip", ""));
    await htmx.swap({ text, target: page(), select: "#page", selectOOB: "#pages", swap: "outerMorph", sourceElement: document.body });
    kept.forEach((one) => one.removeAttribute("hx-morph-skip"));
  }

  // The session ended: the page's own address leads to the sign-in page, and from there back.
  function leave() {
    stop();
    location.assign(address() || "/");
  }

  function follow() {
    stop();
    opened = heard = Date.now();
    stream = new EventSource("/console/events");
    stream.onmessage = (message) => {
      hopeful = true;
      heard = Date.now();
      reached(true);
      changed(message.data);
    };
    stream.onerror = fallBack;
  }

  // A stream that broke off is opened anew once the server answers; one that was not to be had is tried every minute.
  async function fallBack() {
    stop();
    let wait = POLL;
    try {
      const answer = await fetch("/console/changes", { headers: { "If-None-Match": `"${page().dataset.seen}"` } });
      if (answer.status === 401) return leave();
      if (answer.status >= 500) throw new Error(answer.statusText);
      reached(true);
      if (answer.ok) changed(await answer.text());
      if (hopeful || Date.now() - opened > MINUTE) {
        hopeful = false;
        return document.hidden || follow();
      }
    } catch {
      reached(false);
      hopeful = true;
      wait = RETRY;
    }
    if (!document.hidden) poll = setTimeout(fallBack, wait);
  }

  function stop() {
    stream?.close();
    clearTimeout(poll);
    stream = undefined;
  }

  function reached(yes) {
    const line = document.getElementById("stale");
    if (yes) return line?.remove();
    if (line) return;
    const fresh = Object.assign(document.createElement("p"), { id: "stale", className: "alert bad" });
    fresh.setAttribute("role", "status");
    fresh.textContent = "Not up to date: the server does not answer.";
    document.body.append(fresh);
  }

  function look() {
    if (document.hidden) return;
    if (stream && Date.now() - heard > SILENCE) fallBack(); // a laptop that slept
    if (Date.now() - shown > MINUTE) refresh(); // times left
  }

  document.addEventListener("input", (event) => event.target.closest("form[data-keep]")?.setAttribute("data-typed", ""));
  document.addEventListener("htmx:before:request", (event) => {
    acting.add(event.detail.ctx);
    loading?.abort();
  });
  // Another page takes nothing over from the one before, and begins at its top, as if it had been loaded.
  document.addEventListener("htmx:after:request", (event) => {
    const ctx = event.detail.ctx;
    const there = new URL(ctx.response.raw.url).pathname;
    ctx.moved = ctx.response.raw.ok && (ctx.sourceElement.matches("a") || there !== location.pathname);
    if (ctx.moved) ctx.swap = "outerHTML";
  });
  document.addEventListener("htmx:finally:request", (event) => {
    const ctx = event.detail.ctx;
    acting.delete(ctx);
    if (ctx.moved && ctx.status === "swapped" && !ctx.request.anchor) {
      scrollTo(0, 0);
      page().focus({ preventScroll: true });
    }
    shown = Date.now();
    if (news) changed(news);
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return stop();
    refresh();
    follow();
  });
  setInterval(look, POLL);
  if (!document.hidden) follow();
})();
