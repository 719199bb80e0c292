import assert from "node:assert/strict";
import { after as afterAll, before as beforeAll, test } from "node:test";
import { accessible, fits, items, open, screens, shoot, start, stop, usher } from "./browser.mjs";
import { after, before, hostile } from "./manifests.mjs";

const flags = ["diff", "-o", "html=RESULT", "old.yaml", "new.yaml"];
let path;

beforeAll(async () => {
  await start();
  path = usher("diff.html", { "old.yaml": before, "new.yaml": after }, flags);
});
afterAll(stop);

for (const [name, screen] of Object.entries(screens)) {
  test(`a page is accessible and fits: ${name}`, async (t) => {
    const page = await open(t, path, screen);
    await fits(page);
    await accessible(page, name);
    await shoot(page, `diff-${name}`);
  });
}

test("the most severe change is first, and filters are in the address", async (t) => {
  const page = await open(t, path);
  assert.deepEqual(await page.locator("main .badge:is(summary > *, .single > *)").allTextContents(), ["irreversible", "recreate", "rollout", "created", "deleted"]);
  await page.locator(".facet", { hasText: "Effect" }).getByRole("link", { name: /^recreate / }).click();
  assert.equal(await items(page), 1);
  const copy = await open(t, path, screens.light, new URL(page.url()).hash);
  assert.equal(await items(copy), 1);
  await copy.getByLabel("Search", { exact: true }).fill("postgres");
  await copy.waitForFunction(() => location.hash.includes("q="));
  assert.equal(await items(copy), 1);
  await copy.getByLabel("Search", { exact: true }).fill("web:1.1");
  await copy.getByText("Nothing matches").waitFor();
});

for (const [name, prepare] of Object.entries({
  "with the clipboard API": () => {},
  "without it": () => Object.defineProperty(navigator, "clipboard", { value: undefined }),
})) {
  test(`steps fold, and commands are copied ${name}`, async (t) => {
    const page = await open(t, path);
    await page.evaluate(prepare);
    const steps = page.locator(".fold", { hasText: "Steps for spec.volumeClaimTemplates" });
    const command = await steps.locator("code[data-copy]").nth(1).textContent();
    assert.match(command, /^kubectl -n data delete statefulset db --cascade=orphan/);
    await steps.getByRole("button", { name: "Copy" }).nth(1).click();
    await steps.getByRole("button", { name: "Copied" }).waitFor();
    const search = page.getByLabel("Search", { exact: true });
    await search.focus();
    await page.keyboard.press("Control+V");
    assert.equal(await search.inputValue(), command);
    await search.fill("");
    await steps.locator("summary").click();
    assert.ok(!(await steps.locator("ol").isVisible()));
  });
}

test("markup of a hostile manifest is text", async (t) => {
  const hostilePage = usher("hostile-diff.html", { "old.yaml": "", "new.yaml": hostile }, [...flags, "--allow-empty"]);
  for (const [name, screen] of Object.entries(screens)) {
    const page = await open(t, hostilePage, screen);
    assert.equal(await page.locator("img, iframe, object, embed, link, base, form").count(), 0);
    await fits(page);
    await accessible(page, name);
  }
});
