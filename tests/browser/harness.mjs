// harness.mjs - what specs share: servers, one browser, cases in TAP
//
//	node NAME.spec.mjs --sonde PROGRAM [--tests FOLDER] [WORD...]
//
// A spec calls test() for each case and finish() at its end.  Cases run one after the other, in the
// order they were given, each with a page of its own; WORDs pick those whose names have one of them.
// SONDE_SCREENSHOTS=FOLDER keeps what shoot() sees.
//
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

export { assert };

const here = dirname(fileURLToPath(import.meta.url));
const args = process.argv.slice(2);
const option = (name) => {
	const at = args.indexOf(name);
	return at < 0 ? undefined : args.splice(at, 2)[1];
};

export const sonde = option("--sonde");
/** Profiles of the repository: profiles("prom-heap.pb.gz"). */
export const profiles = (name) => join(here, "../profiles", name);
/** A folder of this run's own. */
export const scratch = mkdtempSync(join(tmpdir(), "sonde-browser."));
/** Generous: machines may be busy.  Nothing waits for a time, only for something to happen. */
export const LIMIT = 120_000;

const axe = readFileSync(join(here, "node_modules/axe-core/axe.min.js"), "utf8");
const cases = [];
const servers = [];
let browser;

/** What "sonde ARGS" prints. */
export function run(...flags) {
	return execFileSync(sonde, flags.map(String), { encoding: "utf8", timeout: LIMIT, maxBuffer: 1 << 28 });
}

/** Serves profiles until the spec ends; the address of the pages, without a slash behind it. */
export async function serve(...flags) {
	const child = spawn(sonde, ["-http=localhost:", "-no_browser", ...flags.map(String)], {
		stdio: ["ignore", "ignore", "pipe"],
		env: { ...process.env, XDG_CONFIG_HOME: join(scratch, "config") },
	});
	servers.push(child);
	let said = "";
	for await (const line of createInterface({ input: child.stderr })) {
		const found = /^Serving web UI on (http:\S+)$/.exec(line);
		if (found) return `${found[1]}/ui`;
		said += `${line}\n`;
	}
	throw new Error(`it did not serve: ${said}`);
}

/** One case: body({ page, context }).  'options' are Playwright's of a context. */
export function test(name, body, options = {}) {
	cases.push({ name, body, options });
}

/** Waits until what is asserted holds: what a click, a key or the pointer does may take a while to show. */
export async function eventually(body) {
	for (const end = Date.now() + LIMIT; ; await sleep(20)) {
		try {
			return await body();
		} catch (e) {
			if (!(e instanceof assert.AssertionError) || Date.now() > end) throw e;
		}
	}
}

/** Does what leads to another page, and waits for that: the one before may look just like it. */
export async function leave(page, action) {
	await page.evaluate(() => (window.left = false));
	await action();
	await page.waitForFunction(() => window.left === undefined);
	await page.waitForLoadState();
}

/** A port of this spec's own, as those of ports.py, for as long as it runs. */
export async function freePort() {
	for (;;) {
		const port = 10_000 + randomInt(20_000);
		const claims = await Promise.all([listen(`\0sonde-test-port-${port}`), listen(port)]);
		if (claims[1]) await new Promise((done) => claims[1].close(done));
		if (claims.every((c) => c)) return port;
		claims[0]?.close();
	}
}

/** A server there, or nothing if somebody else has one. */
function listen(where) {
	return new Promise((done) => {
		const server = createServer().unref();
		server.on("error", () => done(undefined));
		server.listen(where, () => done(server));
	});
}

/** Complaints of axe about the page, as lines. */
export async function complaints(page) {
	// Not as an element, which the page's policy would refuse.
	await page.evaluate(axe);
	const found = await page.evaluate(() => window.axe.run(document, {
		runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
	}));
	return found.violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target.join(" ")}: ${n.failureSummary}`));
}

/** Keeps a picture where somebody wants to look at it. */
export async function shoot(page, name) {
	const folder = process.env.SONDE_SCREENSHOTS;
	if (folder) await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** Runs a case; what the console complained about is a failure, too. */
async function attempt({ body, options }) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
	context.setDefaultTimeout(LIMIT);
	const page = await context.newPage();
	const said = [];
	page.on("console", (m) => m.type() === "error" && said.push(m.text()));
	page.on("pageerror", (e) => said.push(e.stack ?? String(e)));
	page.on("request", (r) => /^(data|blob|http:\/\/localhost)/.test(r.url()) || said.push(`asked for ${r.url()}`));
	try {
		await body({ page, context, said });
		assert.deepEqual(said, []);
	} finally {
		await context.close();
	}
}

async function runAll(wanted) {
	let failed = 0;
	for (const [i, one] of wanted.entries()) {
		let wrong;
		try {
			await attempt(one);
		} catch (e) {
			wrong = e.stack ?? String(e);
			failed++;
		}
		console.log(`${wrong ? "not " : ""}ok ${i + 1} - ${one.name}`);
		if (wrong) console.log(wrong.replace(/^/gm, "# "));
	}
	console.log(`1..${wanted.length}`);
	return failed;
}

/** Runs the cases; the last statement of a spec. */
export async function finish() {
	const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((p) => existsSync(p));
	const wanted = cases.filter((c) => args.length === 0 || args.some((w) => c.name.includes(w)));
	let failed = 1;
	if (!executablePath) {
		console.log("1..0 # SKIP no chromium");
		process.exit(0);
	}
	try {
		browser = await chromium.launch({
			executablePath,
			timeout: LIMIT,
			args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
		});
		failed = await runAll(wanted);
		await browser.close();
	} catch (e) {
		console.log(`Bail out! ${e.message}`);
	} finally {
		for (const child of servers) child.kill("SIGINT");
		rmSync(scratch, { recursive: true, force: true });
	}
	process.exit(failed ? 1 : 0);
}
