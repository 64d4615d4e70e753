// pages.spec.mjs - every page as a person uses it: tables, source, graph, labels, menus
//
// SPDX-License-Identifier: Apache-2.0

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { assert, complaints, eventually, finish, leave, profiles, run, scratch, serve, shoot, sonde, test } from "./harness.mjs";

const heapFile = profiles("prom-heap.pb.gz");
const heap = await serve(heapFile);
const sources = await serve(`-source_path=${profiles("srcroot")}`, "-trim_path=/go/src", profiles("arktos-list.pb.gz"));
const hasDot = (() => {
	try {
		execFileSync("dot", ["-V"], { stdio: "ignore" });
		return true;
	} catch {
		return false;
	}
})();

const views = ["top", "peek?f=newTxRing", "source", "disasm", "labels", ...(hasDot ? [""] : [])];
const ready = (page, view) => page.waitForSelector(`[data-view="${view}"][data-ready]`);
const column = (page, i) => page.$$eval("main tbody tr:not([hidden])", (rows, at) =>
	rows.map((r) => r.cells[at].textContent.trim()), i);

for (const scheme of ["light", "dark"]) {
	test(`axe has no complaints about any page in ${scheme}`, async ({ page }) => {
		for (const view of views) {
			await page.goto(`${heap}/${view}`);
			await ready(page, view === "" ? "graph" : "command");
			for (const summary of await page.$$("header summary")) await summary.click();
			assert.deepEqual(await complaints(page), [], view);
			await shoot(page, `${view.split("?")[0] || "graph"}-${scheme}`);
		}
		await page.goto(`${sources}/source?f=convertToWatchEvent`);
		await ready(page, "source");
		assert.deepEqual(await complaints(page), []);
		await shoot(page, `listing-${scheme}`);
	}, { colorScheme: scheme });
}

test("no page is wider than a phone", async ({ page }) => {
	for (const view of views) {
		await page.goto(`${heap}/${view}`);
		await ready(page, view === "" ? "graph" : "command");
		const [wide, has] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
		assert.ok(wide <= has, `${view}: ${wide} > ${has}`);
		await shoot(page, `${view.split("?")[0] || "graph"}-phone`);
	}
}, { viewport: { width: 360, height: 740 } });

test("headings sort the table, and say so", async ({ page }) => {
	await page.goto(`${heap}/top`);
	await ready(page, "table");
	const first = await column(page, 5);
	const heading = page.locator("th", { hasText: /^Cum$/ });
	const sorted = (th, how) => eventually(async () => assert.equal(await th.getAttribute("aria-sort"), how));
	await heading.locator("button").click();
	await sorted(heading, "descending");
	const numbers = (await page.$$eval("main tbody tr", (rows) => rows.map((r) => Number(r.cells[3].dataset.value))));
	assert.deepEqual(numbers, [...numbers].sort((a, b) => b - a));
	await heading.locator("button").press("Enter");
	await sorted(heading, "ascending");
	const name = page.locator("th", { hasText: /^Name$/ });
	await name.locator("button").click();
	await sorted(name, "ascending");
	await sorted(heading, "none");
	const names = await column(page, 5);
	assert.deepEqual(names, [...names].sort((a, b) => a.localeCompare(b)));
	await name.locator("button").click();
	await name.locator("button").click();
	await eventually(async () => assert.deepEqual(await column(page, 5), first));
});

test("a field finds rows of the table", async ({ page }) => {
	await page.goto(`${heap}/top`);
	await ready(page, "table");
	await page.getByLabel("Find").fill("^runtime\\.");
	await eventually(async () => {
		const names = await column(page, 5);
		assert.ok(names.length > 1 && names.every((n) => n.startsWith("runtime.")), names.join());
		assert.match(await page.textContent(".find .left"), new RegExp(`^${names.length} of `));
	});
	await page.getByLabel("Find").fill("(");
	await eventually(async () => assert.equal(await page.getByLabel("Find").getAttribute("aria-invalid"), "true"));
});

test("rows are picked to filter by", async ({ page }) => {
	await page.goto(`${heap}/top?i=nothing`);
	await ready(page, "table");
	await page.locator("tr", { hasText: "newTxRing" }).locator("td").nth(2).click();
	await page.getByLabel("Pick github.com/prometheus/prometheus/tsdb.newMemSeries").press("Space");
	await page.locator(".choices").getByRole("link", { name: "Focus" }).click();
	await page.waitForURL(/[?&]f=/);
	const expected = run("-top", "-nodecount=500", "-focus=tsdb\\.(newTxRing|newMemSeries)$", heapFile);
	const names = await column(page, 5);
	assert.ok(names.length > 3 && names.every((n) => expected.includes(n)), names.join());
	assert.equal(expected.trimEnd().split("\n").length - expected.split("cum%\n")[0].split("\n").length, names.length);
});

test("the command of a page is copied", async ({ page, context }) => {
	await context.grantPermissions(["clipboard-read", "clipboard-write"]);
	await page.goto(`${heap}/top?f=tsdb&si=alloc_space`);
	await page.getByRole("button", { name: "Copy as command" }).click();
	await page.getByText("copied").waitFor();
	const command = await page.evaluate(() => navigator.clipboard.readText());
	assert.equal(command, `sonde -top -sample_index=alloc_space -nodecount=500 -focus=tsdb ${heapFile}`);
	const text = execFileSync("sh", ["-c", command.replace(/^sonde/, `'${sonde}'`)], { encoding: "utf8" });
	const names = text.slice(text.indexOf("cum%\n") + 5).trimEnd().split("\n").map((l) => l.trim().split(/\s+/).slice(5).join(" "));
	assert.deepEqual(await column(page, 5), names);
});

test("a filter, a sample type and a reset, by mouse and keyboard", async ({ page }) => {
	await page.goto(`${heap}/top`);
	await page.getByLabel("Focus", { exact: true }).fill("regexp");
	await page.keyboard.press("Enter");
	await page.waitForURL(/f=regexp/);
	await page.getByRole("link", { name: "alloc_objects" }).click();
	await page.waitForURL(/si=alloc_objects/);
	assert.match(page.url(), /f=regexp/);
	assert.equal(await page.textContent("h1"), "prometheus alloc_objects");
	const expected = run("-top", "-nodecount=500", "-focus=regexp", "-sample_index=alloc_objects", heapFile);
	assert.ok(expected.includes((await column(page, 5))[0]));
	await page.getByText("Refine", { exact: true }).click();
	await page.getByLabel("Ignore", { exact: true }).fill("syntax");
	await page.getByRole("button", { name: "Apply" }).click();
	await page.waitForURL(/i=syntax/);
	assert.ok(!(await column(page, 5)).some((n) => n.includes("syntax")));
	await page.getByRole("link", { name: "Reset" }).click();
	await page.waitForURL(/\/top$/);
});

test("a configuration is saved and deleted", async ({ page }) => {
	await page.goto(`${heap}/top?f=tsdb`);
	await page.getByText("Config", { exact: true }).click();
	await page.getByLabel("Save as").fill("mine & <b>yours</b>");
	await leave(page, () => page.getByRole("button", { name: "Save", exact: true }).click());
	await page.getByText("Config", { exact: true }).click();
	const link = page.getByRole("link", { name: "mine & <b>yours</b>" });
	assert.equal(await link.getAttribute("aria-current"), "true");
	const saved = JSON.parse(readFileSync(join(scratch, "config/pprof/settings.json"), "utf8"));
	assert.deepEqual(saved.configs.map((c) => [c.name, c.focus]), [["mine & <b>yours</b>", "tsdb"]]);
	await page.getByText("Delete…").click();
	await leave(page, () => page.getByRole("button", { name: "Delete mine" }).click());
	await page.getByText("Config", { exact: true }).click();
	assert.equal(await page.getByRole("link", { name: "mine" }).count(), 0);
});

test("machine code and lines fold", async ({ page }) => {
	await page.goto(`${sources}/source?f=convertToWatchEvent`);
	await ready(page, "source");
	const text = await page.textContent("main");
	const list = run("-list=convertToWatchEvent", `-source_path=${profiles("srcroot")}`, "-trim_path=/go/src",
		profiles("arktos-list.pb.gz"));
	for (const line of list.split("\n").filter((l) => /^ +\S+ +\S+ +\d+:/.test(l)))
		assert.ok(text.includes(line.replace(/^ +\S+ +\S+ +\d+:\s*/, "").trim()), line);
});

test("labels filter and group by a click", async ({ page }) => {
	await page.goto(`${heap}/labels`);
	await ready(page, "table");
	const total = (await column(page, 0))[0];
	await page.getByRole("link", { name: "only", exact: true }).first().click();
	await page.waitForURL(/tf=/);
	assert.deepEqual(await column(page, 0), [total]);
	await page.goto(`${heap}/labels`);
	await page.getByRole("link", { name: "as a table" }).click();
	await page.waitForURL(/\/top\?tagroot=bytes/);
	const expected = run("-top", "-nodecount=500", "-tagroot=bytes", heapFile);
	for (const name of (await column(page, 5)).slice(0, 20)) assert.ok(expected.includes(name), name);
});

if (hasDot) {
	test("the graph zooms and moves by wheel, drag, keys and buttons", async ({ page }) => {
		await page.goto(`${heap}/`);
		await ready(page, "graph");
		const graph = page.locator("svg.graph");
		const scale = async () => Number(await graph.getAttribute("data-scale"));
		const box = () => graph.getAttribute("viewBox");
		const scaled = (to) => eventually(async () => assert.equal(await scale(), to));
		const moved = (from) => eventually(async () => assert.notEqual(await box(), from));
		await scaled(1);
		assert.match(await page.textContent("[data-view=graph] .left"), /Showing nodes accounting for .* of .* total/);
		await page.getByRole("button", { name: "Zoom in" }).click();
		await scaled(1.25);
		await page.getByRole("button", { name: "Zoom out" }).click();
		await scaled(1);
		const at = await graph.boundingBox();
		await page.mouse.move(at.x + 5, at.y + 5);
		await page.mouse.wheel(0, -100);
		await page.waitForFunction(() => Number(document.querySelector("svg.graph").dataset.scale) > 1);
		let before = await box();
		await page.mouse.down();
		await page.mouse.move(at.x + 105, at.y + 55, { steps: 4 });
		await page.mouse.up();
		await moved(before);
		await page.getByRole("button", { name: "Fit" }).press("0");
		await scaled(1);
		before = await box();
		await page.keyboard.press("ArrowRight");
		await moved(before);
		await page.keyboard.press("+");
		await scaled(1.25);
	});

	test("the graph tells what is trimmed, as other pages do", async ({ page }) => {
		const facts = async (view) => {
			await page.goto(`${heap}/${view}`);
			await page.waitForFunction(() => [...document.querySelectorAll("[data-view]")].every((e) => e.dataset.ready));
			return page.locator(".trust summary .fact").allTextContents();
		};
		for (const focus of ["", "tsdb"]) {
			const flags = [`-focus=${focus}`, "-unit=bytes", heapFile];
			const shown = Number(/accounting for (\d+)B/.exec(run("-dot", "-nodecount=8", ...flags))[1]);
			const left = JSON.parse(run("-top", "-json", "-nodecount=0", "-nodefraction=0", ...flags)).rows
				.reduce((n, r) => n + r.flat, 0);
			assert.ok(shown < left);
			const share = ((1 - shown / left) * 100).toFixed(2);
			const told = await facts(`?n=8&f=${focus}`);
			assert.ok(told.includes(`trimmed ${share}%`), `${told}: ${share}`);
			await page.click(".trust summary");
			assert.match(await page.textContent(".trust"), /\d entries are shown; their own values are/);
		}
		assert.ok(!(await facts("?n=100000&nf=0&ef=0")).some((f) => f.startsWith("trimmed")));
	});

	test("functions of the graph are chosen by mouse and keyboard", async ({ page }) => {
		await page.goto(`${heap}/?f=tsdb`);
		await ready(page, "graph");
		const node = page.locator("g.node[data-function*='newTxRing']");
		await node.focus();
		await page.keyboard.press("Enter");
		await eventually(async () => assert.equal(await node.getAttribute("aria-pressed"), "true"));
		await page.locator(".choices").getByRole("link", { name: "Peek" }).click();
		await page.waitForURL(/peek/);
		assert.ok((await page.textContent("pre")).includes("newTxRing"));
		await page.goBack();
		await ready(page, "graph");
		await page.locator("g.node[data-function*='newMemSeries']").click();
		await page.locator(".choices").getByRole("link", { name: "Ignore" }).click();
		await page.waitForURL(/i=/);
		await ready(page, "graph");
		assert.equal(await page.locator("g.node[data-function*='newMemSeries']").count(), 0);
	});
}

if (hasDot) test("what is picked from a graph of lines is the function", async ({ page }) => {
	await page.goto(`${heap}/?g=lines&f=tsdb`);
	await ready(page, "graph");
	const node = page.locator("g.node[data-function$='.newTxRing']").first();
	await node.focus();
	await page.keyboard.press("Enter");
	await eventually(async () => assert.equal(await node.getAttribute("aria-pressed"), "true"));
	await leave(page, () => page.locator(".choices").getByRole("link", { name: "Focus" }).click());
	await ready(page, "graph");
	assert.ok(await page.locator("g.node[data-function$='.newTxRing']").count() > 0);
	assert.equal(await page.locator(".warnings").count(), 0);
});

test("what is picked from a table of lines is the function", async ({ page }) => {
	await page.goto(`${heap}/top?g=lines`);
	await ready(page, "table");
	await page.locator("tbody tr", { hasText: "newTxRing" }).first().locator("input").check();
	await leave(page, () => page.locator(".choices").getByRole("link", { name: "Focus" }).click());
	await ready(page, "table");
	assert.ok((await column(page, 5)).some((name) => name.includes("newTxRing")));
	assert.equal(await page.locator(".warnings").count(), 0);
});

for (const scheme of ["light", "dark"]) {
	const other = scheme === "light" ? "dark" : "light";

	test(`a ${scheme} system's pages are ${other} for who chooses that, from the first picture on`, async ({ page }) => {
		const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
		const choose = (name) => page.getByRole("combobox", { name: "Colours" }).selectOption(name);
		const papers = { light: "rgb(255, 255, 255)", dark: "rgb(26, 29, 33)" };
		const views = ["top", "labels", "flamegraph", ...(hasDot ? [""] : [])];

		await page.goto(`${heap}/top`);
		await ready(page, "table");
		assert.equal(await paper(), papers[scheme]);
		await page.getByRole("combobox", { name: "Colours" }).focus();
		await page.keyboard.press(other[0]);
		await eventually(async () => assert.equal(await paper(), papers[other]));
		// No script of the page itself: what is painted first is what was chosen.
		await page.route("**/page.js*", (route) => route.fulfill({ contentType: "text/javascript", body: "" }));
		await page.goto(`${heap}/labels`);
		assert.equal(await paper(), papers[other]);
		await page.unroute("**/page.js*");
		for (const view of views) {
			await page.goto(`${heap}/${view}`);
			await ready(page, view === "" ? "graph" : view === "flamegraph" ? "flame" : "command");
			assert.equal(await page.getByRole("combobox", { name: "Colours" }).inputValue(), other);
			assert.deepEqual(await complaints(page), [], view);
			await shoot(page, `${view || "graph"}-${other}-on-${scheme}`);
		}
		await choose("System");
		await eventually(async () => assert.equal(await paper(), papers[scheme]));
		await page.reload();
		assert.equal(await paper(), papers[scheme]);
	}, { colorScheme: scheme });
}

const odd = ['say "hi"', "back\\slash", 'C:\\x"y"\\', "a|b(c)*[d]{e}^f$.+?", "<T as Q>::f", "two words", "$(rm) `x` 'q' &;",
	"%41#a&b=c", "tab\there", "new\nline", "turned\u202eround", "f<int, (a)1>(char)", "~!@;:,", "\u2033\u2216\u2409",
	`long${"x".repeat(3000)}`];

/** Main calls each of them; the first has 10, the next 11. */
const oddWriter = `
import json, sys
sys.path.insert(0, sys.argv[1])
from writer import Profile
p = Profile([("samples", "count")])
main = p.frame("main")
for i, name in enumerate(json.loads(sys.argv[3])):
    p.sample([p.frame(name), main], [10 + i])
open(sys.argv[2], "wb").write(p.encode())
`;

test("functions with any name are picked", async ({ page }) => {
	const file = join(scratch, "odd.pb");
	execFileSync("python3", ["-B", "-c", oddWriter, profiles("."), file, JSON.stringify(odd)]);
	const address = await serve("-symbolize=none", file);
	/** Picks one after the other by a key: the values of what "Focus" leaves of each. */
	const picked = (chosen) => page.evaluate(async (selector) => {
		const values = [];
		for (const one of document.querySelectorAll(selector)) {
			const pick = () => one.matches("input") ? one.click() :
				one.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", cancelable: true }));
			pick();
			const link = [...document.querySelectorAll(".choices a")].find((a) => a.textContent === "Focus");
			const text = await (await fetch(`./top${new URL(link.href).search}`)).text();
			const rows = new DOMParser().parseFromString(text, "text/html").querySelectorAll("tbody tr");
			values.push([...rows].map((tr) => tr.cells[0].textContent.trim()).filter((v) => v !== "0").join());
			pick();
		}
		return values.filter((v) => v.includes(",") === false);
	}, chosen);
	const all = odd.map((_, i) => String(10 + i)).reverse();
	await page.goto(`${address}/top`);
	await ready(page, "table");
	assert.deepEqual(await picked("tbody input[type=checkbox]"), all);
	if (!hasDot) return;
	await page.goto(`${address}/`);
	await ready(page, "graph");
	assert.deepEqual(await picked("g.node[data-function]"), all);
});

await finish();
