import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { accessible, open, screens, shoot, start, stop, usher } from "./browser.mjs";
import { cronjobs } from "./manifests.mjs";

let path;

before(async () => {
  await start();
  path = usher("calendar.svg", { "cronjobs.yaml": cronjobs }, ["explain", "cronjob", "--from", "2026-01-05T09:00:00Z", "-o", "svg=RESULT", "cronjobs.yaml"]);
});
after(stop);

for (const [name, screen] of Object.entries({ light: screens.light, dark: screens.dark })) {
  test(`a calendar: ${name}`, async (t) => {
    const page = await open(t, path, { ...screen, viewport: { width: 1040, height: 1260 } });
    await shoot(page, `calendar-${name}`);
    // No text is outside the drawing.
    const outside = await page.evaluate(() => [...document.querySelectorAll("text")].filter((text) => {
      const box = text.getBBox();
      return box.x < 0 || box.x + box.width > document.documentElement.viewBox.baseVal.width;
    }).map((text) => text.textContent));
    assert.deepEqual(outside, []);
  });
}

test("a calendar in a page is an image with a name and a description", async (t) => {
  const inline = path.replace(/svg$/, "html");
  writeFileSync(inline, `<!doctype html><html lang="en"><meta charset="utf-8"><title>Calendar</title><main><h1>Calendar</h1>${readFileSync(path, "utf8")}</main>`);
  const page = await open(t, inline);
  const image = page.getByRole("img", { name: "A year of runs of cronjob/nightly in shop" });
  assert.equal(await image.count(), 1);
  await accessible(page, "inline");
});
