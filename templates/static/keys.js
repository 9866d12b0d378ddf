// The inbox by keyboard: j and k walk the cards, a approves, r goes to the reason, x selects, ? lists the keys.
"use strict";
(() => {
  const cards = () => [...document.querySelectorAll(".card")];
  const current = () => document.activeElement?.closest(".card");
  let last = null; // the id of the card that had the focus: its buttons go when it is answered, the focus stays

  const walk = (step) => {
    const all = cards();
    const at = all.findIndex((card) => card.id === (current()?.id ?? last));
    const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };

  const keys = {
    j: () => walk(1),
    k: () => walk(-1),
    a: () => current()?.querySelector(".yes")?.click(),
    r: () => current()?.querySelector("[name=reason]")?.focus(),
    x: () => current()?.querySelector(".pick")?.click(),
    "?": () => document.getElementById("keys")?.togglePopover(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input:not([type=checkbox]), select, textarea, [contenteditable]")) {
      if (event.key === "Escape") current()?.focus();
      return;
    }
    const key = keys[event.key];
    if (!key || event.repeat && event.key !== "j" && event.key !== "k") return;
    event.preventDefault();
    key();
  });

  document.addEventListener("focusin", () => (last = current()?.id ?? last));
  document.addEventListener("htmx:after:swap", () => {
    if (document.activeElement === document.body && last) document.getElementById(last)?.focus({ preventScroll: true });
  });
})();
