#!/usr/bin/env node
// page.mjs - the flame graph in a browser, beside the reference's page
//
//	bench/page.mjs [--sonde PROGRAM] [--generator PROGRAM]
//
// A profile of 400,000 samples (BENCH_QUICK=1: a tenth) in a headless Chromium: from the click to a
// picture that can be used, bytes that were sent, memory of the server, and the scripting that zoom
// and search take; then every other view, from request to last byte, and the most memory that the
// server has meanwhile.  Scripting is what Chromium's own trace says the page's main thread spent in
// scripts: processor time, which others on the machine do not lengthen.
//
// SPDX-License-Identifier: Apache-2.0

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { chromium } from "../tests/browser/node_modules/playwright-core/index.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const option = (name, otherwise) => {
	const at = process.argv.indexOf(name);
	return at < 0 ? join(root, otherwise) : process.argv[at + 1];
};
const sonde = option("--sonde", "build/sonde");
const generator = option("--generator", "build/bench/gen-profile");
const quick = Boolean(process.env.BENCH_QUICK);
const samples = quick ? 40_000 : 400_000;
const PATIENCE = 60_000; // for the reference
const CHROMIUM = { executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] };
const folder = join(root, "build", quick ? "bench-data-quick" : "bench-data");

// ------------------------------------------------------------------ what is looked at

/** Of one program; "round" is when. */
function makeProfile(n = samples, round = 0) {
	const path = join(folder, `page-${n}${round ? `-${round}` : ""}.pb.gz`);

	mkdirSync(folder, { recursive: true });
	if (!existsSync(path))
		writeFileSync(path, execFileSync(generator, [`samples=${n}`, `round=${round}`], { maxBuffer: 1 << 30 }));
	return path;
}

/** What it is without gzip. */
function rawSize(path) {
	return Number(execFileSync("sh", ["-c", 'gzip -dc "$1" | wc -c', "sh", path], { encoding: "utf8" }));
}

function reference() {
	const go = spawnSync("go", ["tool", "-n", "pprof"], { encoding: "utf8" });

	return go.status === 0 ? go.stdout.trim() : null;
}

/** { address, pid, end } of a server. */
async function serve(program, ...args) {
	const child = spawn(program, ["-http=localhost:", "-no_browser", ...args], { stdio: ["ignore", "ignore", "pipe"] });

	for await (const line of createInterface({ input: child.stderr })) {
		const found = /Serving web UI on (http:\S+)/.exec(line);
		if (found) return { address: `${found[1]}/ui`, pid: child.pid, end: () => child.kill("SIGINT") };
	}
	throw new Error(`${program} does not serve`);
}

const peak = (pid) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;

// ------------------------------------------------------------------ Chromium's trace

/** Events of the trace that are scripting: what DevTools shows in that colour. */
const SCRIPTING = new Set(["EvaluateScript", "v8.evaluateModule", "v8.compile", "v8.compileModule", "FunctionCall",
	"EventDispatch", "FireAnimationFrame", "TimerFire", "RunMicrotasks", "MinorGC", "MajorGC", "V8.GCScavenger",
	"V8.ParseFunction"]);

/** Milliseconds of scripting on the main threads of pages, events inside of others counted once. */
function scripting(events) {
	const threads = new Set(events.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain")
		.map((e) => `${e.pid} ${e.tid}`));
	const ours = events.filter((e) => e.ph === "X" && SCRIPTING.has(e.name) && threads.has(`${e.pid} ${e.tid}`))
		.sort((a, b) => a.ts - b.ts);
	let spent = 0, end = 0;

	for (const e of ours) {
		if (e.ts < end) continue;
		spent += e.tdur ?? e.dur;
		end = e.ts + e.dur;
	}
	return spent / 1000;
}

/** What 'act' makes the page spend in scripts. */
async function traced(browser, page, act) {
	await browser.startTracing(page, { categories: ["devtools.timeline", "v8", "disabled-by-default-v8.gc"] });
	await act();
	const trace = JSON.parse((await browser.stopTracing()).toString());

	return scripting(trace.traceEvents);
}

// ------------------------------------------------------------------ measuring

/** Time from the click to 'selector', and bytes on the way. */
async function opened(browser, address, selector, patience) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
	const page = await context.newPage();
	const session = await context.newCDPSession(page);
	let bytes = 0;

	await session.send("Network.enable");
	session.on("Network.dataReceived", (e) => { bytes += e.encodedDataLength; });
	const begun = performance.now();
	await page.goto(address, { waitUntil: "commit", timeout: patience });
	await page.waitForSelector(selector, { timeout: patience, state: "attached" });
	return { page, context, ms: performance.now() - begun, bytes };
}

const rows = [];
const row = (what, ours, other, target, met) => {
	rows.push([what, ours, other, target, met ? "yes" : "NO"]);
	console.log(`${what.padEnd(52)}${ours.padStart(12)}${other.padStart(16)}${target.padStart(16)}${met ? "" : "  !"}`);
};
const ms = (v) => v < 1000 ? `${v.toFixed(0)} ms` : `${(v / 1000).toFixed(2)} s`;
const mb = (v) => `${(v / 1e6).toFixed(v < 1e7 ? 2 : 0)} MB`;

async function zoomed(browser, page) {
	const box = await page.locator(".flame-space canvas").boundingBox();

	return traced(browser, page, async () => {
		await page.mouse.click(box.x + box.width * 0.55, box.y + 30);
		await page.waitForSelector('[data-view="flame"]:not([data-ready="all"])');
		await page.waitForTimeout(300); // until it stands still
	});
}

async function searched(browser, page) {
	return traced(browser, page, async () => {
		await page.fill("input[type=search]", "raft");
		await page.waitForFunction(() => /functions/.test(document.querySelector(".flame-matches").textContent));
		await page.waitForTimeout(100);
	});
}

/** The share of the machine's memory that is left. */
function memoryLeft() {
	const text = readFileSync("/proc/meminfo", "utf8");
	const of = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)?.[1]);

	return of("MemAvailable") / of("MemTotal");
}

/** In a browser of its own: both have been seen to take all the memory there is, and are ended before that. */
async function ofReference(path) {
	const go = reference();

	if (!go) return null;
	const there = await chromium.launchServer(CHROMIUM);
	const browser = await chromium.connect(there.wsEndpoint());
	const server = await serve(go, path);
	let full = false;
	const watch = setInterval(() => {
		if (full || memoryLeft() > 0.25) return;
		full = true;
		process.kill(server.pid, "SIGKILL");
		void there.kill();
	}, 200);
	try {
		const { ms: time, bytes } = await opened(browser, `${server.address}/flamegraph`,
			"#chart svg g, #stack-chart div", PATIENCE);
		return { time: ms(time), bytes: mb(bytes), memory: mb(peak(server.pid)) };
	} catch {
		const memory = full ? NaN : peak(server.pid); // not a number: it has come to an end
		const why = full ? "no memory left" : Number.isNaN(memory) ? "it died" : `> ${ms(PATIENCE)}`;

		return { time: why, bytes: "?", memory: Number.isNaN(memory) ? "?" : mb(memory) };
	} finally {
		clearInterval(watch);
		server.end();
		await there.kill();
	}
}

/** Compressed, as it is sent. */
function bundleSize() {
	const made = readFileSync(join(root, "build/src/page-files.c"), "latin1");
	const files = [...made.matchAll(/file\d+\[\] = \{\n([\d,\s]*)\n\}/g)];

	return files.reduce((n, f) => n + gzipSync(Buffer.from(f[1].split(",").map(Number).slice(0, -1)), { level: 9 }).length, 0);
}

// ------------------------------------------------------------------ every view

/** What a person goes through one after the other: each with another filter, so that nothing is kept from before. */
const VIEWS = ["flame.json?px=1280", "flame.json?px=1280&si=alloc_space", "flame.json?px=1280&p=raft",
	"flame-search.json?q=raft", "flame.json?px=1280&f=raft", "flame.json?px=1280&h=raft", "flame.json?px=1280&i=raft",
	"flame.json?px=1280&tagroot=bytes", "flame.json?px=1280&tagleaf=bytes", "flame.json?px=1280&g=lines",
	"flamegraph.svg?h=raft", "top", "top?f=raft", "top?h=raft", "top?i=raft", "top?tagroot=bytes", "top?tagleaf=bytes",
	"top?g=lines", "top?sf=raft", "top?s=raft", "graph.svg", "graph.svg?f=raft", "graph.svg?h=raft", "peek", "peek?f=raft",
	"source?f=raft", "labels", "labels?h=raft", "download"];
/** The same of two profiles. */
const COMPARED = ["compare", "compare?f=raft", "compare?h=raft", "flame.json?px=1280", "flame.json?px=1280&h=raft",
	"top?h=raft", "graph.svg", "graph.svg?h=raft", "peek?f=raft"];
const VIEW_MS = 200;

/** The length of an answer that nobody looks at: fetch() takes 50 ms of a processor that the server needs for 17 MB. */
function drained(address) {
	return new Promise((done, fail) => {
		get(address, (answer) => {
			let bytes = 0;

			if (answer.statusCode !== 200) fail(new Error(`${address}: ${answer.statusCode}`));
			answer.on("data", (piece) => { bytes += piece.length; });
			answer.on("end", () => done(bytes));
			answer.on("error", fail);
		}).on("error", fail);
	});
}

/** Time of one request, and the most memory during it. */
async function viewed(server, view) {
	writeFileSync(`/proc/${server.pid}/clear_refs`, "5"); // the mark of the most memory starts anew
	const begun = performance.now();
	const bytes = await drained(`${server.address}/${view}`);

	return { ms: performance.now() - begun, bytes, memory: peak(server.pid) };
}

/** The best of some rounds in time, the worst in memory; what is kept of the one before is another view's. */
async function everyView(server, raw, views, of = "") {
	const all = new Map(views.map((v) => [v, { ms: Infinity, memory: 0 }]));

	for (let round = 0; round < 3; round++) {
		for (const view of views) {
			const one = await viewed(server, `${view}${view.includes("?") ? "&" : "?"}ef=0.00${round + 1}`);
			const best = all.get(view);

			best.ms = Math.min(best.ms, one.ms);
			best.memory = Math.max(best.memory, one.memory);
		}
	}
	for (const [view, { ms: time, memory }] of all) {
		const late = view === "download" ? false : time > VIEW_MS;
		row(`${of}/${view}`, `${ms(time)}, ${mb(memory)}`, "", `${view === "download" ? "" : `${VIEW_MS} ms, `}${mb(4 * raw)}`,
			!late && memory <= 4 * raw);
	}
}

async function main() {
	const path = makeProfile();
	const theirs = await ofReference(path) ?? { time: "", bytes: "", memory: "" };
	const browser = await chromium.launch(CHROMIUM);
	const ready = '[data-view="flame"][data-ready]';

	console.log(`${"flame graph in a browser".padEnd(52)}${"sonde".padStart(12)}${"go tool pprof".padStart(16)}${"target".padStart(16)}`);
	await (await opened(browser, "about:blank", "body", PATIENCE)).context.close(); // the browser is warm
	const server = await serve(sonde, path);
	const first = await opened(browser, `${server.address}/flamegraph`, ready, PATIENCE);
	row(`${samples.toLocaleString("en")} samples, click to usable`, ms(first.ms), theirs.time, "<= 1 s", first.ms <= 1000);
	row("bytes sent", mb(first.bytes), theirs.bytes, "<= 5 MB", first.bytes <= 5e6);
	const zoom = await zoomed(browser, first.page), search = await searched(browser, first.page);
	row("zoom, scripting", `${zoom.toFixed(1)} ms`, "", "<= 50 ms", zoom <= 50);
	row("search, scripting", `${search.toFixed(1)} ms`, "", "<= 50 ms", search <= 50);
	await first.context.close();
	const again = await opened(browser, `${server.address}/flamegraph?si=alloc_space`, ready, PATIENCE);
	row("another sample type, click to usable", ms(again.ms), "", "<= 1 s", again.ms <= 1000);
	await again.context.close();
	const memory = peak(server.pid), raw = rawSize(path);
	row("memory of the server, beside the raw profile", mb(memory), theirs.memory, `<= ${mb(4 * raw)}`, memory <= 4 * raw);
	await everyView(server, raw, VIEWS);
	server.end();

	const halves = [makeProfile(samples / 2, 1), makeProfile(samples / 2)];
	const two = await serve(sonde, "-diff_base", ...halves);
	await everyView(two, rawSize(halves[0]) + rawSize(halves[1]), COMPARED, `two of ${(samples / 2).toLocaleString("en")}: `);
	two.end();

	const small = await serve(sonde, join(root, "tests/profiles/prom-heap.pb.gz"));
	const little = await opened(browser, `${small.address}/flamegraph`, ready, PATIENCE);
	const paint = await little.page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN);
	row("351 samples, first paint", ms(paint), "", "<= 200 ms", paint <= 200);
	small.end();
	const bundle = bundleSize();
	row("scripts and styles of all pages, compressed", `${(bundle / 1e3).toFixed(1)} kB`, "", "<= 250 kB", bundle <= 250e3);
	await browser.close();
}

await main();
process.exit(0);
