"use strict";
// Filters and the search live in the address, behind the #: a copy of the
// address shows the same view. Links of filters lead to the view that they make.
(() => {
  const $ = (id) => document.getElementById(id);
  const search = $("q"), shown = $("shown");
  const items = [...document.querySelectorAll("[data-item]")];
  const groups = [...document.querySelectorAll("[data-group]")];
  const number = new Intl.NumberFormat("en");

  // The values of the facets, and for each result the index of its value.
  const facets = [...document.querySelectorAll("[data-facet]")].map((list) => {
    const key = list.dataset.facet;
    const links = [];
    list.querySelectorAll("a").forEach((link) => (links[Number(link.dataset.i)] = link));
    const counts = links.map((link) => link.querySelector("b"));
    const of = items.map((item) => {
      const holder = item.closest("[data-" + key + "]");
      return holder ? Number(holder.getAttribute("data-" + key)) : -1;
    });
    return { key, links, counts, of, values: links.map((link) => link.dataset.v), chosen: new Set() };
  });
  const groupOf = new Map(groups.map((group, i) => [group, i]));
  const group = items.map((item) => groupOf.get(item.closest("[data-group]")) ?? -1);
  const groupCounts = groups.map((g) => g.querySelector("[data-count]"));
  let texts;

  const state = () => new URLSearchParams(location.hash.slice(1));
  const address = (params) => "#" + params.toString();

  function apply() {
    const params = state();
    const q = params.get("q") ?? "";
    if (search.value.trim() !== q) search.value = q;
    const words = q.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length > 0 && !texts) {
      texts = items.map((item, i) => ((group[i] >= 0 ? groups[group[i]].dataset.group : "") + " " + (item.dataset.item ? item : item.querySelector("summary")).textContent).toLowerCase());
    }
    for (const facet of facets) {
      const wanted = new Set(params.getAll(facet.key));
      facet.chosen = new Set([...facet.values.keys()].filter((i) => wanted.has(facet.values[i])));
      facet.found = new Array(facet.values.length).fill(0);
    }
    const perGroup = new Array(groups.length).fill(0);
    let count = 0;
    items.forEach((item, i) => {
      let failed = 0, by;
      for (const facet of facets) {
        if (facet.chosen.size > 0 && !facet.chosen.has(facet.of[i])) {
          failed++;
          by = facet;
        }
      }
      const matches = words.every((word) => texts[i].includes(word));
      // A facet counts the results that its other values would show.
      if (matches && failed === 0) facets.forEach((facet) => facet.of[i] >= 0 && facet.found[facet.of[i]]++);
      if (matches && failed === 1 && by.of[i] >= 0) by.found[by.of[i]]++;
      const visible = matches && failed === 0;
      if (item.hidden === visible) item.hidden = !visible;
      if (visible) {
        count++;
        if (group[i] >= 0) perGroup[group[i]]++;
      }
    });
    groups.forEach((g, i) => {
      g.hidden = perGroup[i] === 0;
      if (groupCounts[i]) groupCounts[i].textContent = number.format(perGroup[i]);
    });
    for (const facet of facets) {
      facet.links.forEach((link, i) => {
        const on = facet.chosen.has(i);
        if (on) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
        facet.counts[i].textContent = number.format(facet.found[i]);
        const next = state();
        next.delete(facet.key);
        facet.chosen.forEach((k) => k !== i && next.append(facet.key, facet.values[k]));
        if (!on) next.append(facet.key, facet.values[i]);
        link.href = address(next);
      });
    }
    const filtered = words.length > 0 || facets.some((facet) => facet.chosen.size > 0);
    $("clear").hidden = !filtered;
    $("empty").hidden = count > 0 || items.length === 0;
    const noun = document.querySelector("[data-noun]")?.dataset.noun ?? "results";
    shown.textContent = filtered ? `${number.format(count)} of ${number.format(items.length)} ${noun}` : `${number.format(items.length)} ${noun}`;
  }

  function go(params) {
    history.replaceState(null, "", address(params));
    apply();
  }

  let typed;
  search.addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(() => {
      const params = state();
      const q = search.value.trim();
      if (q) params.set("q", q);
      else params.delete("q");
      go(params);
    }, 120);
  });
  $("clear").addEventListener("click", () => {
    search.value = "";
    go(new URLSearchParams());
    search.focus();
  });
  addEventListener("hashchange", () => {
    if (location.hash !== "#results") apply();
  });

  const folds = () => [...document.querySelectorAll("main details")];
  const visible = (fold) => !fold.closest("[hidden]");
  $("open").addEventListener("click", () => folds().filter(visible).forEach((fold) => (fold.open = true)));
  $("close").addEventListener("click", () => folds().filter((fold) => visible(fold) && !fold.hasAttribute("data-group")).forEach((fold) => (fold.open = false)));

  // On paper nothing can be unfolded.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = folds().filter((fold) => !fold.open);
    closed.forEach((fold) => (fold.open = true));
  });
  addEventListener("afterprint", () => closed.forEach((fold) => (fold.open = false)));

  // Buttons that copy. Pages from files have no clipboard API in some browsers.
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      area.setAttribute("aria-label", "Text to copy");
      area.className = "offscreen";
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }
  function addCopy(source) {
    if (source.dataset.copied !== undefined) return;
    source.dataset.copied = "";
    const button = document.createElement("button");
    const label = source.dataset.copy || "Copy";
    button.type = "button";
    button.className = "copy";
    button.textContent = label;
    button.addEventListener("click", async () => {
      const done = await copy(source.textContent);
      button.textContent = done ? "Copied" : "Select the text, then copy";
      button.focus();
      shown.textContent = done ? "Copied to the clipboard." : "The text could not be copied.";
      setTimeout(() => (button.textContent = label), 2000);
    });
    // A summary is a button itself, so it contains none.
    (source.closest("summary")?.nextElementSibling ?? source.parentElement).append(button);
  }
  document.addEventListener("toggle", (event) => {
    if (event.target.open) event.target.querySelectorAll("[data-copy]").forEach((source) => source.closest("details") === event.target && addCopy(source));
  }, true);
  document.querySelectorAll("details[open] [data-copy]").forEach((source) => source.closest("details").open && addCopy(source));

  document.querySelector(".find").hidden = false;
  document.documentElement.classList.add("script");
  // On a narrow screen the filters would push the results away.
  if (matchMedia("(max-width: 52rem)").matches) document.querySelectorAll(".facet").forEach((facet) => (facet.open = false));
  apply();
})();
