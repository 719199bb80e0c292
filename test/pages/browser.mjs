// Chromium, and what every page must hold.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const folder = process.env.FOLDER;

export const screens = {
  light: { colorScheme: "light", viewport: { width: 1280, height: 900 } },
  dark: { colorScheme: "dark", viewport: { width: 1280, height: 900 } },
  phone: { colorScheme: "light", viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true },
  "phone-dark": { colorScheme: "dark", viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true },
};

let browser;
export async function start() {
  // Playwright gives the browser an empty user data folder, and runs it headless.
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
      "--host-resolver-rules=MAP * ~NOTFOUND"],
  });
}
export const stop = () => browser.close();

// usher runs the command line on files that it writes first, and returns the
// path of its result.
export function usher(name, files, args, statuses = [0, 1]) {
  const work = join(folder, "input", name);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(work, path)), { recursive: true });
    writeFileSync(join(work, path), text);
  }
  const result = join(folder, name);
  const run = spawnSync(process.env.USHER, args.map((arg) => arg.replace("RESULT", result)), { cwd: work, encoding: "utf8", maxBuffer: 1 << 28 });
  assert.ok(statuses.includes(run.status), `usher ${args.join(" ")}: status ${run.status}, ${run.error ?? run.stderr}`);
  return result;
}

// open opens a page, and fails when it asks the network, violates its policy, or
// has an error.
export async function open(t, path, options = screens.light, hash = "") {
  const context = await browser.newContext(options);
  t.after(() => context.close());
  const page = await context.newPage();
  const url = pathToFileURL(path).href;
  page.on("request", (request) => {
    if (request.url().split("#")[0] !== url) throw new Error(`the page requests ${request.url()}`);
  });
  page.on("websocket", (socket) => { throw new Error(`the page connects to ${socket.url()}`); });
  page.on("console", (message) => { throw new Error(`the page logs ${message.text()}`); });
  page.on("pageerror", (error) => { throw error; });
  page.on("dialog", (dialog) => { throw new Error(`the page shows ${dialog.message()}`); });
  await page.goto(url + hash, { waitUntil: "load" });
  return page;
}

// accessible fails when axe finds a violation.
export async function accessible(page, name) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  const found = violations.map((v) => `${v.id} (${v.impact}): ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html + " " + n.failureSummary).join("; ")}`);
  assert.deepEqual(found, [], name);
}

export async function fits(page) {
  const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= screen, `the page is ${content} pixels wide on a screen of ${screen}`);
}

export const shoot = (page, name) => page.screenshot({ path: join(folder, name + ".png") });
export const items = (page) => page.locator("[data-item]:visible").count();
