// compare.spec.mjs - what changed from one profile to another, used as a person would
//
// SPDX-License-Identifier: Apache-2.0

import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { assert, complaints, eventually, finish, run, scratch, serve, shoot, test } from "./harness.mjs";

/** A profile as folded stacks: counts by function; each is called by one of three. */
function folded(name, counts) {
	const lines = Object.entries(counts).map(([f, n], i) => `main;caller${i % 3};${f} ${n}\n`);
	const path = join(scratch, name);
	writeFileSync(path, lines.join(""));
	return path;
}

const usual = { parse: 400, render: 312, sort: 205, hash: 148, copy: 90, log: 41, idle: 8, rare: 2 };
const again = { parse: 417, render: 298, sort: 214, hash: 141, copy: 97, log: 37, idle: 11, rare: 1 };
const slower = { parse: 410, render: 620, sort: 99, hash: 150, copy: 88, log: 44, idle: 9, rare: 3 };

const same = await serve("-diff_base", folded("usual", usual), folded("again", again));
const changed = await serve("-diff_base", folded("usual", usual), folded("slower", slower));
const merged = await serve("-base", folded("usual", usual), folded("slower", slower));

/** Rows as [verdict class, cells]. */
async function rows(page) {
	return page.$$eval(".changes tbody tr", (all) =>
		all.map((tr) => [tr.className, [...tr.cells].map((td) => td.textContent)]));
}

test("two profiles of the same program stay grey", async ({ page }) => {
	await page.goto(`${same}/compare`);
	await page.waitForSelector('[data-view="compare"][data-ready]');
	assert.deepEqual(new Set((await rows(page)).map((r) => r[0])), new Set(["unsure"]));
	assert.match(await page.textContent(".verdict"), /No change beyond chance/);
	assert.deepEqual(await complaints(page), []);
	await shoot(page, "compare-same");
});

test("what changed is coloured and has its sign in the text", async ({ page }) => {
	await page.goto(`${changed}/`);
	await page.click("nav >> text=Compare");
	await page.waitForSelector('[data-view="compare"][data-ready]');
	const found = Object.fromEntries((await rows(page)).map(([verdict, cells]) => [cells.at(-1), [verdict, cells]]));
	assert.equal(found.render[0], "more");
	assert.deepEqual(found.render[1].slice(0, 4), ["312", "620", "+308", "+98.7%"]);
	assert.equal(found.sort[0], "less");
	assert.deepEqual(found.sort[1].slice(0, 4), ["205", "99", "-106", "-51.7%"]);
	assert.equal(found.parse[0], "unsure");
	assert.equal(found.rare[1].at(-2), "too few samples");
	assert.deepEqual(await complaints(page), []);
	await shoot(page, "compare-changed");
});

test("the table has the numbers of the command", async ({ page }) => {
	const told = JSON.parse(run("compare", "--json", "--all", join(scratch, "usual"), join(scratch, "again")));
	await page.goto(`${same}/compare?sort=cum`);
	for (const [, cells] of await rows(page)) {
		const f = told.functions.find((one) => one.name === cells.at(-1)).cum;
		assert.deepEqual(cells.slice(0, 2), [String(f.before), String(f.after)]);
		assert.equal(cells.at(-2).replace(" samples", ""), f.verdict);
	}
});

test("only what changed can be left, and the address keeps that", async ({ page }) => {
	await page.goto(`${changed}/compare`);
	await page.waitForSelector('[data-view="compare"][data-ready]');
	await page.check("text=only what changed");
	await eventually(async () => assert.equal(await page.isVisible("tr.unsure"), false));
	assert.equal(await page.isVisible("tr.more"), true);
	await page.reload();
	await page.waitForSelector("table.changed-only");
	assert.equal(await page.isChecked("input[type=checkbox]"), true);
});

test("with -base the sides are still known, and other pages have the difference", async ({ page }) => {
	await page.goto(`${merged}/compare`);
	assert.equal((await page.$$("tr.more")).length, 1);
	await page.goto(`${merged}/top`);
	assert.match(await page.textContent("tbody"), /308/);
});

/** How many pixels of a drawing are rather blue, and rather orange. */
async function tints(page, part) {
	return page.evaluate((where) => {
		const canvas = document.querySelectorAll('[data-view="flame"] canvas')[where];
		const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
		let blue = 0, orange = 0;
		for (let i = 0; i < data.length; i += 4) {
			blue += data[i + 2] - data[i] > 20;
			orange += data[i] - data[i + 2] > 20;
		}
		return { blue, orange };
	}, part);
}

test("the drawing of both is grey where nothing changed", async ({ page }) => {
	await page.goto(`${same}/compare`);
	await page.waitForSelector('[data-view="flame"][data-judged="0"][data-ready]');
	await page.waitForFunction(() => document.querySelector(".flame-legend")?.textContent.includes("chance"));
	assert.deepEqual(await tints(page, 0), { blue: 0, orange: 0 });
});

test("the drawing of both has the colours of what changed, and each side its own drawing", async ({ page }) => {
	await page.goto(`${changed}/compare`);
	await page.waitForSelector('[data-view="flame"][data-judged][data-ready]');
	await page.waitForFunction(() => document.querySelectorAll('[data-view="flame"][data-ready]').length === 3);
	const { blue, orange } = await tints(page, 0);
	assert.ok(blue > 500 && orange > 500, `${blue} ${orange}`);
	assert.match(await page.textContent('.pair > :nth-child(1) .flame-note'), /1206/);
	assert.match(await page.textContent('.pair > :nth-child(2) .flame-note'), /1423/);
	assert.equal(await page.isVisible(".pair .flame-legend"), false);
	assert.deepEqual(await complaints(page), []);
	await page.locator(".pair").scrollIntoViewIfNeeded();
	await shoot(page, "compare-drawings");
});

test("side by side, both zoom and search together, or each alone", async ({ page }) => {
	await page.goto(`${changed}/compare`);
	await page.waitForFunction(() => document.querySelectorAll('[data-view="flame"][data-ready]').length === 3);
	const [before, after] = [1, 2].map((i) => page.locator(`.pair > :nth-child(${i}) [data-view="flame"]`));
	const crumbs = async (side) => (await side.locator(".flame-crumbs").innerText()).replace(/\s/g, "");
	const click = async (side, level) => {
		const canvas = side.locator(".flame-space canvas");
		await canvas.scrollIntoViewIfNeeded();
		await canvas.click({ position: { x: 20, y: level * 20 + 10 } });
	};
	await click(before, 2);
	await eventually(async () => assert.match(await crumbs(before), /caller/));
	await eventually(async () => assert.equal(await crumbs(after), await crumbs(before)));
	await before.locator("input[type=search]").fill("parse");
	await eventually(async () => assert.match(await after.locator(".flame-matches").innerText(), /1 function/));
	assert.ok(!page.url().includes("q=parse"));
	await after.getByRole("button", { name: "Reset zoom" }).click();
	await eventually(async () => assert.doesNotMatch(await crumbs(before), /caller/));
	await page.getByLabel("zoom and search in both together").uncheck();
	await click(after, 2);
	await eventually(async () => assert.match(await crumbs(after), /caller/));
	assert.doesNotMatch(await crumbs(before), /caller/);
	assert.deepEqual(await complaints(page), []);
});

test("shares can be compared instead of amounts", async ({ page }) => {
	await page.goto(`${changed}/compare`);
	await page.click('nav[aria-label="Compared by"] >> text=shares');
	await page.waitForURL(/by=shares/);
	assert.match(await page.textContent(".verdict"), /of equal total/);
});

test("dark, and as wide as a phone", async ({ page }) => {
	await page.goto(`${changed}/compare`);
	await page.waitForSelector('[data-view="compare"][data-ready]');
	assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
	assert.deepEqual(await complaints(page), []);
	await shoot(page, "compare-phone");
}, { colorScheme: "dark", viewport: { width: 390, height: 800 } });

await finish();
