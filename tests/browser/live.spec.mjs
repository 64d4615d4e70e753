// live.spec.mjs - a program as it runs: profiles on a click, its memory, its threads
//
// SPDX-License-Identifier: Apache-2.0

import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { assert, complaints, finish, freePort, LIMIT, scratch, serve, shoot, sonde, test } from "./harness.mjs";

// What is fetched is saved, as by the reference.
process.env.PPROF_TMPDIR = scratch;

function answers(url) {
	return new Promise((done) => {
		get(url, (r) => done(r.resume().statusCode === 200)).on("error", () => done(false));
	});
}

/** Starts a program that serves profiles; its address, or nothing if there is no such program. */
async function start(port, command, args, env = {}) {
	const child = spawn(command, args, { stdio: "ignore", env: { ...process.env, ...env } });
	const url = `http://127.0.0.1:${port}`;
	let gone = false;
	child.on("error", () => (gone = true));
	child.on("exit", () => (gone = true));
	process.on("exit", () => child.kill());
	for (const end = Date.now() + LIMIT; Date.now() < end && !gone; await sleep(50))
		if (await answers(`${url}/debug/pprof/`)) return url;
	return undefined;
}

async function startOurs() {
	const library = join(dirname(sonde), "libsonde.so");
	const port = await freePort();
	// So much from the start on that no heap profile is without a sample.
	const code = "import hashlib\nkeep = [bytes(1000) for i in range(50000)]\nwhile True:\n" +
		" keep.append(bytes(1000))\n hashlib.sha256(bytes(100000)).digest()\n keep = keep[-100000:]\n";
	if (!existsSync(library)) return undefined;
	return start(port, "python3", ["-c", code], { LD_PRELOAD: library, SONDE_ADDR: `127.0.0.1:${port}` });
}

async function startGo() {
	const port = await freePort();
	const config = join(scratch, "prometheus.yml");
	writeFileSync(config, "global: {scrape_interval: 1s}\nscrape_configs: [{job_name: self, " +
		`static_configs: [{targets: ['127.0.0.1:${port}']}]}]\n`);
	return start(port, "prometheus", [`--config.file=${config}`, `--web.listen-address=127.0.0.1:${port}`,
		`--storage.tsdb.path=${join(scratch, "prometheus")}`]);
}

const take = (page, kind) => page.click(`form:has(input[value="${kind}"]) button`);

/** The same for our library and for a Go service. */
function cases(name, address) {
	test(`${name}: lists what there is, and shows memory moving`, async ({ page }) => {
		await page.goto(address);
		await page.waitForSelector('[data-view="live"][data-ready]');
		const kinds = await page.$$eval(".kinds tbody th", (all) => all.map((th) => th.textContent));
		for (const kind of ["profile", "heap", "goroutine"]) assert.ok(kinds.includes(kind), kinds);
		await page.waitForFunction(() => Number(document.querySelector(".memory").dataset.points) >= 2);
		assert.match(await page.textContent(".memory dl"), /In use[\d.]+[kMG]?B/);
		assert.deepEqual(await complaints(page), []);
		await shoot(page, `live-${name}`);
	});

	test(`${name}: a heap profile is taken at once, and opens`, async ({ page }) => {
		await page.goto(address);
		await page.waitForSelector('[data-view="live"][data-ready]');
		await take(page, "heap");
		await page.click('.taken li[data-state="taken"] a');
		await page.waitForURL(/\/of\/\d+\/flamegraph/);
		await page.click("nav >> text=Top");
		await page.waitForSelector("tbody tr");
		await page.click("nav >> text=Live");
		await page.waitForSelector(".kinds");
	});

	test(`${name}: a CPU profile counts down`, async ({ page }) => {
		await page.goto(address);
		await page.waitForSelector('[data-view="live"][data-ready]');
		// Where the browser is not quick enough to show it, a longer one is taken.
		for (const seconds of ["2", "10", "50"]) {
			const known = await page.$$eval(".taken li", (all) => all.map((li) => li.dataset.id));
			await page.fill('form:has(input[value="profile"]) input[name="seconds"]', seconds);
			await take(page, "profile");
			const item = await page.waitForFunction((ids) =>
				[...document.querySelectorAll(".taken li")].find((li) => !ids.includes(li.dataset.id)), known);
			const id = await item.evaluate((li) => li.dataset.id);
			const seen = await page.waitForFunction((one) => {
				const li = document.querySelector(`.taken li[data-id="${one}"]`);
				return (li?.querySelector("progress") && "counts") || (li?.dataset.state === "taken" && "over");
			}, id);
			await page.waitForSelector(`.taken li[data-id="${id}"][data-state="taken"]`);
			if (await seen.jsonValue() === "counts") return;
		}
		assert.fail("it does not count down");
	});

	test(`${name}: taking can be cancelled`, async ({ page }) => {
		await page.goto(address);
		await page.waitForSelector('[data-view="live"][data-ready]');
		await page.fill('form:has(input[value="profile"]) input[name="seconds"]', "600");
		await take(page, "profile");
		await page.waitForSelector('.taken li[data-state="taking"] .left');
		await shoot(page, `live-${name}-counting`);
		await page.click('.taken li[data-state="taking"] button');
		await page.waitForSelector('.taken li[data-state="cancelled"]');
	});

	test(`${name}: two that were taken can be compared`, async ({ page }) => {
		await page.goto(address);
		await page.waitForSelector('[data-view="live"][data-ready]');
		for (const more of [1, 2]) {
			const before = await page.$$eval('.taken li[data-state="taken"]', (all) => all.length);
			await take(page, "heap");
			await page.waitForFunction(([n]) =>
				document.querySelectorAll('.taken li[data-state="taken"]').length > n, [before, more]);
		}
		await page.click("text=Compare");
		await page.waitForSelector('[data-view="compare"][data-ready]');
		assert.match(await page.textContent(".verdict"), /numbers/);
	});

	test(`${name}: threads as they are`, async ({ page }) => {
		await page.goto(address);
		await page.click("text=What are they doing now?");
		await page.waitForFunction(() => document.querySelector(".threads pre")?.textContent.length > 20);
	});
}

const ours = await startOurs();
const go = await startGo();
if (ours) cases("libsonde", await serve(ours));
if (go) cases("Go", await serve(`${go}/debug/pprof/`));
const closed = await freePort();
const nobody = await serve(`http://127.0.0.1:${closed}`);

test("nobody there: the page says so", async ({ page }) => {
	await page.goto(nobody);
	assert.match(await page.textContent(".warnings"), /refused/);
});

await finish();
