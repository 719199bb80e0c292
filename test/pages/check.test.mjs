import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { after, before, test } from "node:test";
import { accessible, fits, items, open, screens, shoot, start, stop, usher } from "./browser.mjs";
import { hostile, many } from "./manifests.mjs";

const flags = ["check", "--level", "strict", "-o", "html=RESULT", "."];
let some, lots;

before(async () => {
  await start();
  some = usher("check.html", { ...many(30), "broken/notes.yaml": "just: values\n" }, flags);
  lots = usher("many.html", many(1000), flags);
});
after(stop);

for (const [name, screen] of Object.entries(screens)) {
  test(`a page is accessible and fits: ${name}`, async (t) => {
    const page = await open(t, some, screen);
    await fits(page);
    await accessible(page, name);
    await shoot(page, `check-${name}`);
    await page.locator(".list summary").first().click();
    await page.getByRole("button", { name: "Copy the place" }).first().waitFor();
    await fits(page);
    await accessible(page, `${name}, open`);
    await page.locator(".list summary").first().scrollIntoViewIfNeeded();
    await shoot(page, `check-${name}-open`);
  });
}

test("the search and the filters are in the address", async (t) => {
  const page = await open(t, some);
  const all = await items(page);
  await page.getByLabel("Search", { exact: true }).fill("nightly  CronJob/");
  await page.waitForFunction(() => location.hash.includes("q="));
  const searched = await items(page);
  assert.ok(searched > 0 && searched < all, `${searched} of ${all}`);
  assert.match(await page.getByRole("status").textContent(), new RegExp(`^${searched} of ${all} findings$`));
  for (const [facet, value] of [["Severity", "strict"], ["Namespace", "shop"], ["Namespace", "billing"]]) {
    await page.locator(".facet", { hasText: facet }).getByRole("link", { name: new RegExp(`^${value} `) }).click();
  }
  const filtered = await items(page);
  assert.ok(filtered > 0 && filtered < searched, `${filtered} of ${searched}`);
  assert.equal(await page.locator("a[aria-current]").count(), 3);
  await accessible(page, "filtered");
  await shoot(page, "check-filtered");

  const address = new URL(page.url());
  const copy = await open(t, some, screens.light, address.hash);
  assert.equal(await items(copy), filtered);
  assert.equal(await copy.getByLabel("Search", { exact: true }).inputValue(), "nightly  CronJob/");
  assert.deepEqual(await copy.locator("a[aria-current] span").allTextContents(), await page.locator("a[aria-current] span").allTextContents());

  await page.goBack();
  assert.equal(await page.locator("a[aria-current]").count(), 2);
  await page.getByRole("button", { name: "Clear filters" }).click();
  assert.equal(await items(page), all);
  assert.equal(new URL(page.url()).hash, "");
  await page.getByLabel("Search", { exact: true }).fill("nothing has this");
  await page.getByText("Nothing matches the search and the filters.").waitFor();
  assert.equal(await page.locator("main .group:visible").count(), 0);
  await accessible(page, "empty");
});

test("findings fold, and places can be copied", async (t) => {
  const page = await open(t, some);
  const group = page.locator("main .group").first();
  await group.locator("> summary").click();
  assert.equal(await group.locator("[data-item]:visible").count(), 0);
  await group.locator("> summary").click();
  const finding = group.locator("[data-item]").first();
  await finding.locator("summary").click();
  assert.match(await finding.locator("pre mark").textContent(), /^\d+ /);
  const place = await finding.locator("summary > :last-child").textContent();
  await finding.getByRole("button", { name: "Copy the place" }).click();
  await finding.getByRole("button", { name: "Copied" }).waitFor();
  const search = page.getByLabel("Search", { exact: true });
  await search.focus();
  await page.keyboard.press("Control+V");
  assert.equal(await search.inputValue(), place);
  await search.fill("");
  await page.getByRole("button", { name: "Expand all" }).click();
  assert.equal(await page.locator(".list details:not([open])").count(), 0);
  await page.getByRole("button", { name: "Collapse all" }).click();
  assert.equal(await page.locator(".list details[open]").count(), 0);
});

test("a keyboard reaches everything, and shows where it is", async (t) => {
  const page = await open(t, some);
  const focused = () => page.evaluate(() => {
    const e = document.activeElement;
    return { text: e.textContent.trim().slice(0, 30), id: e.id, outline: getComputedStyle(e).outlineStyle };
  });
  await page.keyboard.press("Tab");
  assert.equal((await focused()).text, "Skip to the results");
  await page.keyboard.press("Enter");
  assert.equal((await focused()).id, "results");
  await page.keyboard.press("Tab");
  assert.deepEqual({ ...(await focused()), text: "" }, { text: "", id: "", outline: "solid" });
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("main .group").first().getAttribute("open"), null);
  assert.ok((await items(page)) > 0, "the address #results is not a filter");
});

test("without JavaScript everything is shown", async (t) => {
  const page = await open(t, some, { ...screens.light, javaScriptEnabled: false });
  assert.equal(await items(page), readFileSync(some, "utf8").split("<li data-item").length - 1);
  assert.equal(await page.locator(".find:visible").count(), 0);
  await page.locator(".list summary").first().click();
  assert.ok(await page.locator(".list pre").first().isVisible());
});

test("on paper everything is unfolded, without the filters", async (t) => {
  const page = await open(t, some);
  const closed = await page.locator(".list details:not([open])").count();
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator(".list details:not([open])").count(), 0);
  assert.equal(await page.locator("search:visible").count(), 0);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.equal(await page.locator(".list details:not([open])").count(), closed);
});

test("markup of a hostile manifest is text", async (t) => {
  const path = usher("hostile.html", { "a.yaml": hostile }, ["check", "--level", "strict", "--unknown-kinds", "fail", "-o", "html=RESULT", "."]);
  for (const [name, screen] of Object.entries(screens)) {
    const page = await open(t, path, screen);
    await page.getByRole("button", { name: "Expand all" }).click();
    assert.equal(await page.locator("img, iframe, object, embed, link, base, form").count(), 0);
    assert.equal(await page.locator("script").count(), 1);
    await fits(page);
    await accessible(page, name);
    await page.getByLabel("Search", { exact: true }).fill("<script>alert(1)</script>");
    await page.waitForFunction(() => location.hash.includes("q="));
    assert.ok((await items(page)) > 0);
    await shoot(page, `hostile-${name}`);
  }
  assert.doesNotMatch(readFileSync(path, "utf8"), /hunter2/);
});

test("5,000 findings", async (t) => {
  const page = await open(t, lots);
  // The processor's time does not depend on what else the machine does.
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.reload({ waitUntil: "load" });
  const opened = await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => {
    const [navigation] = performance.getEntriesByType("navigation");
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    resolve({ paint: Math.round(paint?.startTime ?? 0), load: Math.round(navigation.loadEventEnd), ready: Math.round(performance.now()) });
  }))));
  const searched = await page.evaluate(() => new Promise((resolve) => {
    const from = performance.now();
    location.hash = "q=payments&ns=shop";
    addEventListener("hashchange", () => requestAnimationFrame(() => setTimeout(() => resolve(Math.round(performance.now() - from)))));
  }));
  const { metrics } = await session.send("Performance.getMetrics");
  const busy = Math.round(1000 * metrics.find((metric) => metric.name === "TaskDuration").value);
  const bytes = statSync(lots).size;
  const count = Number((await page.getByRole("status").textContent()).match(/of ([\d,]+) findings/)[1].replace(",", ""));
  t.diagnostic(`${count} findings, ${bytes} bytes: first paint after ${opened.paint} ms, loaded after ${opened.load} ms, ready after ${opened.ready} ms; a search took ${searched} ms; the main thread took ${busy} ms of the processor in all`);
  assert.ok(count >= 5000, `${count} findings`);
  assert.ok(bytes < 5_000_000, `${bytes} bytes`);
  assert.doesNotMatch(readFileSync(lots, "utf8"), /hunter2/);
});
