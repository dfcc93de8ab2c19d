"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector, within = document) => within.querySelector(selector);
  const claims = all("tbody.claim");
  const order = ["refuted", "undecided", "confirmed"];

  // Unfold a claim.
  const more = claim => one("tr.more", claim);
  function unfold(claim, open) {
    const row = more(claim);
    if (!row) return;
    row.classList.toggle("open", open);
    one(".toggle", claim).setAttribute("aria-expanded", open);
  }
  const isOpen = claim => more(claim)?.classList.contains("open") ?? false;
  for (const claim of claims) {
    if (!more(claim)) continue;
    const button = document.createElement("button");
    button.className = "toggle";
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-label", "Evidence of " + claim.dataset.name);
    one("th", claim).prepend(button);
    one("tr", claim).addEventListener("click", event => {
      if (!event.target.closest("a") && !String(getSelection())) unfold(claim, !isOpen(claim));
    });
  }
  if (claims.length <= 3) claims.forEach(claim => unfold(claim, true));
  const unfolder = one("#unfold");
  if (unfolder && !claims.some(more)) unfolder.hidden = true;
  unfolder?.addEventListener("click", () => {
    const open = unfolder.getAttribute("aria-expanded") !== "true";
    claims.filter(claim => !claim.hidden).forEach(claim => unfold(claim, open));
    unfolder.setAttribute("aria-expanded", open);
    unfolder.textContent = open ? "collapse all" : "expand all";
  });

  // Filter and search.
  const search = one("#search");
  const texts = new Map();
  let wanted = "";
  function textOf(claim) {
    if (!texts.has(claim)) texts.set(claim, claim.textContent.toLowerCase());
    return texts.get(claim);
  }
  function apply() {
    const words = (search?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const claim of claims) {
      const fits = (!wanted || claim.dataset.words.split(" ").includes(wanted)) && words.every(word => textOf(claim).includes(word));
      claim.hidden = !fits;
      count += fits;
    }
    const shown = one("#shown");
    if (shown) shown.textContent = count === claims.length ? "" : count + " of " + claims.length + " shown";
  }
  function choose(filter) {
    wanted = filter;
    all("[data-filter]").forEach(button => button.setAttribute("aria-pressed", button.dataset.filter === filter));
    apply();
  }
  all("[data-filter]").forEach(button => button.addEventListener("click", () => choose(button.dataset.filter)));
  search?.addEventListener("input", apply);
  const asked = new URLSearchParams(location.search).get("show");
  if (asked && all("[data-filter]").some(button => button.dataset.filter === asked)) choose(asked);

  // Sort.
  for (const table of all("table.claims")) {
    const usual = all("tbody.claim", table);
    for (const head of all("th[data-sort]", table)) {
      const button = document.createElement("button");
      button.setAttribute("aria-label", "Sort by " + head.textContent);
      head.append(" ", button);
      head.addEventListener("click", () => {
        const next = {ascending: "descending", descending: "none"}[head.getAttribute("aria-sort")] ?? "ascending";
        all("th[data-sort]", table).forEach(other => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", next);
        const key = claim => {
          const value = claim.dataset[head.dataset.sort];
          return head.dataset.sort === "measured" ? (value === "" ? Infinity : Number(value)) : head.dataset.sort === "verdict" ? order.indexOf(value) : value;
        };
        const compare = (a, b) => typeof a === "number" ? a - b || 0 : a.localeCompare(b, "en", {numeric: true});
        const sorted = next === "none" ? usual : [...usual].sort((a, b) => (next === "ascending" ? 1 : -1) * compare(key(a), key(b)));
        table.append(...sorted);
      });
    }
  }

  // Go to what the address names.
  function arrive() {
    const name = decodeURIComponent(location.hash.slice(1));
    if (!name) return;
    const target = document.getElementById(name);
    const claim = target?.closest("tbody.claim");
    if (claim) {
      if (claim.hidden) { if (search) search.value = ""; choose(""); }
      unfold(claim, true);
      target.scrollIntoView({block: "start"});
    }
    const other = target ? null : all("table.claims a").find(link => link.getAttribute("href").endsWith(".html#" + name));
    if (other) location.replace(other.href);
  }
  addEventListener("hashchange", arrive);
  arrive();

  // Enlarge a figure.
  const dialog = one("#enlarged");
  const stage = one(".stage", dialog);
  for (const link of all("a.enlarge")) {
    link.addEventListener("click", event => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || !dialog.showModal) return;
      event.preventDefault();
      const image = one("img", stage);
      image.src = link.href;
      image.alt = one("img", link).alt;
      one(".open", dialog).href = link.href;
      stage.classList.remove("near");
      dialog.showModal();
    });
  }
  one("img", stage).addEventListener("click", () => stage.classList.toggle("near"));
  dialog.addEventListener("click", event => { if (event.target === dialog) dialog.close(); });

  // Keys.
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    if (event.target.closest("input")) {
      if (event.key === "Escape") { search.value = ""; apply(); search.blur(); }
      return;
    }
    const visible = claims.filter(claim => !claim.hidden);
    const here = visible.indexOf(event.target.closest("tbody.claim"));
    const focus = claim => { const place = claim && (one(".toggle", claim) ?? one("a", claim)); place?.focus(); place?.scrollIntoView({block: "center"}); };
    if (event.key === "/" && search) { event.preventDefault(); search.focus(); search.select(); }
    else if (event.key === "j") focus(visible[Math.min(here + 1, visible.length - 1)]);
    else if (event.key === "k") focus(visible[Math.max(here - 1, 0)]);
    else if (event.key === "o" && here >= 0) unfold(visible[here], !isOpen(visible[here]));
  });
})();
