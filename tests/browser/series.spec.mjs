// series.spec.mjs - profiles over time, used as a person would
//
// SPDX-License-Identifier: Apache-2.0

import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { assert, complaints, finish, leave, scratch, serve, shoot, test } from "./harness.mjs";

const tree = join(scratch, "tree");
execFileSync("python3", ["-B", join(dirname(fileURLToPath(import.meta.url)), "../series.py"), "--make", tree]);
const series = await serve(tree);

/** The page of the program that leaks, when all of its profiles have been read. */
async function open(page) {
	await page.goto(`${series}/?c=web-shop`);
	await page.waitForSelector('.line[data-kind="heap"][data-points="24"]');
	await page.waitForSelector('.line[data-kind="profile"][data-points="24"]');
	await page.waitForSelector('[data-view="series"][data-judged]');
	await page.waitForSelector(".growth [data-judged]");
}

/** Drags over a part of the chart of a kind: shares of its width. */
async function drag(page, kind, from, to) {
	const chart = page.locator(`.line[data-kind="${kind}"] .u-over`);
	await chart.scrollIntoViewIfNeeded();
	const box = await chart.boundingBox();
	await page.mouse.move(box.x + box.width * from, box.y + box.height / 2);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width * (from + to) / 2, box.y + box.height / 2);
	await page.mouse.move(box.x + box.width * to, box.y + box.height / 2);
	await page.mouse.up();
}

test("memory and time over time, and what grows beside it", async ({ page }) => {
	await open(page);
	assert.match(await page.textContent(".growth"), /Leak.*store\.grow/s);
	assert.deepEqual(await complaints(page), []);
	await shoot(page, "series");
	await leave(page, () => page.click("nav >> text=calm"));
	await page.waitForSelector(".growth [data-judged]");
	assert.match(await page.textContent(".growth"), /Nothing leaks/);
});

test("a click chooses a moment, which opens", async ({ page }) => {
	await open(page);
	const chart = page.locator('.line[data-kind="heap"] .u-over');
	const box = await chart.boundingBox();
	await page.mouse.click(box.x + 3, box.y + box.height / 2);
	await page.waitForSelector('.line[data-kind="heap"][data-chosen="1"]');
	assert.equal(await page.inputValue('.line[data-kind="heap"] input[name="a"]'), "2020-09-13T12:26:40");
	await page.click('.line[data-kind="heap"] >> text=Open');
	await page.waitForURL(/\/of\/web-shop:heap:1600000000\/flamegraph/);
	await page.waitForSelector('[data-view="flame"][data-ready]');
	await page.click("nav >> text=Series");
	await page.waitForSelector(".line");
});

test("a range that is dragged is merged", async ({ page }) => {
	await open(page);
	await drag(page, "profile", 0.3, 0.6);
	await page.waitForSelector('.line[data-kind="profile"][data-chosen]');
	const n = Number(await page.getAttribute('.line[data-kind="profile"]', "data-chosen"));
	assert.ok(n >= 5 && n <= 9, String(n));
	await page.click('.line[data-kind="profile"] >> text=Open');
	await page.waitForURL(/\/of\/web-shop:profile:\d+-\d+\/flamegraph/);
	await page.waitForSelector('[data-view="flame"][data-ready]');
});

test("two ranges are marked and compared", async ({ page }) => {
	await open(page);
	await drag(page, "profile", 0.02, 0.4);
	await page.click('.line[data-kind="profile"] >> text=Mark as before');
	await drag(page, "profile", 0.6, 0.98);
	await page.click('.line[data-kind="profile"] >> text=Mark as after');
	await shoot(page, "series-marked");
	await page.click('.line[data-kind="profile"] >> text=Compare');
	await page.waitForURL(/\/of\/web-shop:profile:\d+-\d+~\d+-\d+\/compare/);
	await page.waitForSelector('[data-view="compare"][data-ready]');
	assert.match(await page.textContent(".changes tr.more"), /render/);
	assert.equal(await page.$(".changes tr.more ~ tr.more"), null);
	await shoot(page, "series-compared");
});

test("without a script the forms do the same", async ({ page }) => {
	await page.goto(`${series}/?c=web-shop`);
	await page.fill('.line[data-kind="heap"] input[name="a"]', "2020-09-13T12:30:01");
	await page.fill('.line[data-kind="heap"] input[name="b"]', "2020-09-13T14:30:01");
	await page.click('.line[data-kind="heap"] form.form-open button');
	await page.waitForURL(/\/of\/web-shop:heap:1600000000-1600007200\/flamegraph/);
}, { javaScriptEnabled: false });

test("dark, and as wide as a phone", async ({ page }) => {
	await open(page);
	assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
	assert.deepEqual(await complaints(page), []);
	await shoot(page, "series-phone");
}, { colorScheme: "dark", viewport: { width: 390, height: 800 } });

await finish();
