// flame.spec.mjs - the flame graph, used as a person would
//
// SPDX-License-Identifier: Apache-2.0

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { assert, complaints, eventually, finish, profiles, run, scratch, serve, shoot, test } from "./harness.mjs";

const PROM = profiles("prom-heap.pb.gz");
const heap = await serve(PROM);
const ROW = 20;

/** Opens the page and waits for the picture. */
async function open(page, address) {
	await page.goto(address);
	await drawn(page);
}

async function drawn(page, zoom = undefined) {
	const ready = zoom === undefined ? "[data-ready]" : `[data-ready="${zoom}"]`;
	await page.waitForSelector(`[data-view="flame"]${ready}`);
}

/** What the page was sent. */
async function sent(page, set = {}) {
	return page.evaluate(async (more) => {
		const params = new URLSearchParams(location.search);
		for (const [k, v] of Object.entries({ px: 1254, ...more })) params.set(k, v);
		return (await fetch(`./flame.json?${params}`)).json();
	}, set);
}

const places = (data) => new Map(data.places.id.map((id, i) => [id, data.places.name[i]]));

/** Where on the page the middle of the first frame with this name is; icicle, not scrolled. */
async function spot(page, name) {
	const data = await sent(page), tree = data.trees[0], names = places(data);
	const box = await page.locator(".flame-space canvas").boundingBox();
	const next = [], last = [];
	for (let i = 0; i < tree.place.length; i++) {
		const level = tree.level[i], caller = last[level - 1];
		const x = i <= tree.trail ? 0 : next[caller];
		if (i > tree.trail) next[caller] += tree.value[i];
		next[i] = x;
		last[level] = i;
		if (names.get(tree.place[i]) === name) {
			const middle = i <= tree.trail ? 0.5 : (x + tree.value[i] / 2) / tree.value[tree.trail];
			return { x: box.x + middle * box.width, y: box.y + level * ROW + ROW / 2 };
		}
	}
	throw new Error(`${name} is not drawn`);
}

const topJson = (...flags) => JSON.parse(run("-top", "-json", "-nodecount=0", "-nodefraction=0", ...flags));
const focused = (page) => page.evaluate(() => document.activeElement.textContent);
/** Waits until the focus is on something that says this, and tells all that it says. */
const focuses = (page, what) => eventually(async () => {
	assert.match(await focused(page), what);
	return focused(page);
});
const params = (page) => new URL(page.url()).searchParams;
const key = async (page, ...keys) => {
	for (const k of keys) await page.keyboard.press(k);
};

test("the page opens with the numbers of the text reports", async ({ page }) => {
	await open(page, `${heap}/flamegraph`);
	const data = await sent(page), tree = data.trees[0], names = places(data);
	const report = topJson(PROM);
	const own = new Map();

	assert.equal(data.total, report.total);
	for (let i = 0; i < tree.place.length; i++)
		if (tree.self[i]) own.set(names.get(tree.place[i]), (own.get(names.get(tree.place[i])) ?? 0) + tree.self[i]);
	assert.deepEqual([...own].sort(), report.rows.filter((r) => r.flat).map((r) => [r.name, r.flat]).sort());
	assert.match(await page.textContent(".flame-note"), /^11\.29MB \(100%\) of 11\.29MB in 106 frames\.$/);
	assert.deepEqual(await complaints(page), []);
	await shoot(page, "flame");
});

test("a hovered frame tells its value and its shares", async ({ page }) => {
	await open(page, `${heap}/flamegraph`);
	const name = "github.com/prometheus/prometheus/tsdb.newStripeSeries";
	const { x, y } = await spot(page, name);
	const row = run("-top", "-unit=auto", "-nodecount=0", PROM).split("\n").find((l) => l.includes(`${name} `));
	const [flat, flatShare, , cum, cumShare] = row.trim().split(/\s+/);
	await page.mouse.move(x, y);
	await eventually(async () => {
		const tip = (await page.innerText(".flame-tip")).split("\n");
		assert.deepEqual(tip.slice(0, 3), [name, `${cum} (${cumShare})`, `self ${flat} (${flatShare})`]);
		assert.equal(tip.at(-1), "inlined into its caller");
	});
	await page.mouse.move(2, 2);
	await page.waitForSelector(".flame-tip", { state: "hidden" });
});

test("a click zooms, crumbs and the browser lead back", async ({ page }) => {
	await open(page, `${heap}/flamegraph`);
	const { x, y } = await spot(page, "main.openDBWithMetrics");
	await page.mouse.click(x, y);
	await page.waitForFunction(() => document.querySelectorAll(".flame-crumbs li").length > 2);
	const zoom = await eventually(async () => {
		assert.ok(params(page).get("z"));
		return params(page).get("z");
	});
	await drawn(page, zoom);
	const data = await sent(page);
	assert.equal(places(data).get(data.trees[0].place[data.trees[0].trail]), "main.openDBWithMetrics");
	await eventually(async () =>
		assert.match(await page.innerText(".flame-crumbs [aria-current]"), /openDBWithMetrics/));
	await shoot(page, "flame-zoom");

	// The address alone leads to the same frame.
	const other = await page.context().newPage();
	await open(other, page.url());
	assert.match(await other.innerText(".flame-crumbs [aria-current]"), /openDBWithMetrics/);
	await other.close();

	await page.goBack();
	await drawn(page, "all");
	await page.goForward();
	await drawn(page, zoom);
	await page.click(".flame-crumbs button >> nth=0");
	await drawn(page, "all");
	await eventually(async () => assert.equal(params(page).get("z"), null));
});

test("search tells the share of all stacks that match, each counted once", async ({ page }) => {
	await open(page, `${heap}/flamegraph`);
	await page.fill("input[type=search]", "tsdb\\.\\(");
	await page.waitForFunction(() => /functions/.test(document.querySelector(".flame-matches").textContent));
	const told = await page.textContent(".flame-matches");
	const value = await page.evaluate(async () =>
		(await (await fetch("./flame-search.json?q=tsdb%5C.%5C(")).json()).all.value);
	const folded = run("-folded", PROM).split("\n").filter((l) => /tsdb\.\(/.test(l))
		.reduce((n, l) => n + Number(l.slice(l.lastIndexOf(" "))), 0);
	assert.equal(value, folded);
	assert.match(told, /^\d+ functions: 5\.\d+MB \(\d+\.\d+%\)$/);
	await eventually(async () => assert.equal(params(page).get("q"), "tsdb\\.\\("));
	await shoot(page, "flame-search");

	// It calls itself.
	await page.fill("input[type=search]", "runtime.doInit");
	await page.waitForFunction(() => /^1 function:/.test(document.querySelector(".flame-matches").textContent));
	const init = topJson(PROM).rows.find((r) => r.name === "runtime.doInit");
	const found = await page.evaluate(async () =>
		(await (await fetch("./flame-search.json?q=runtime.doInit")).json()).all.value);
	assert.equal(found, init.cum);

	await page.fill("input[type=search]", "(");
	await page.waitForSelector("input[type=search][aria-invalid]");
	await eventually(async () => assert.match(await page.textContent(".flame-matches"), /missing closing/));
});

test("callers and callees of a function have its numbers", async ({ page, said }) => {
	const name = "github.com/prometheus/prometheus/tsdb.(*Head).getOrCreateWithID";
	await open(page, `${heap}/flamegraph?p=getOrCreateWithID%24`);
	const data = await sent(page);
	const row = topJson(PROM).rows.find((r) => r.name === name);
	assert.equal(data.trees.length, 2);
	assert.equal(data.trees[0].value[1], row.cum);
	assert.equal(data.trees[1].value[0], row.cum);
	assert.equal(places(data).get(data.trees[0].place[1]), name);
	assert.deepEqual(await complaints(page), []);
	await shoot(page, "flame-sandwich");
	await page.click("text=Leave callers and callees");
	await page.waitForFunction(() => !location.search.includes("p="));
	await page.waitForFunction(() => !document.querySelector(".flame-crumbs").textContent.includes("callers"));

	// A pattern that nothing matches is said, and breaks nothing.
	await page.goto(`${heap}/flamegraph?p=nosuchfunction`);
	await page.waitForFunction(() => /no function matches/.test(document.querySelector(".flame-problem").textContent));
	assert.equal(said.length, 1); // the browser notes the status of the answer
	said.length = 0;
});

test("the keyboard alone is enough", async ({ page }) => {
	await open(page, `${heap}/flamegraph`);
	await page.locator("[role=treeitem][tabindex='0']").focus();
	await focuses(page, /^root, 11\.29MB, 100%, self 0%, level 0, 5 callees$/);
	await key(page, "ArrowDown");
	await focuses(page, /^runtime\.main, .* level 1, /);
	await key(page, "ArrowRight");
	await focuses(page, /level 1/);
	await key(page, "ArrowLeft", "ArrowDown", "ArrowDown");
	const deep = await focuses(page, /level 3/);
	await key(page, "ArrowUp");
	await focuses(page, /level 2/);
	await key(page, "ArrowDown", "Enter");
	await page.waitForFunction(() => location.search.includes("z=3."));
	await drawn(page, params(page).get("z"));
	await page.waitForFunction((t) => document.activeElement.textContent.startsWith(t), deep.split(",")[0]);
	await page.waitForFunction(() => document.querySelector(".flame-live").textContent.startsWith("Shown: "));
	await key(page, "Escape");
	await page.waitForFunction(() => location.search.includes("z=2."));
	await drawn(page, params(page).get("z"));
	await key(page, "0");
	await drawn(page, "all");

	await key(page, "/");
	await page.keyboard.type("newTxRing");
	await page.waitForFunction(() => /^1 function/.test(document.querySelector(".flame-matches").textContent));
	await key(page, "Enter");
	await focuses(page, /newTxRing, /);
	await eventually(async () => assert.equal(await page.locator("[role=treeitem][aria-selected=true]").count(), 1));
	await shoot(page, "flame-keyboard");
	await key(page, "s");
	await page.waitForFunction(() => location.search.includes("p="));
	await page.waitForFunction(() => /callers and callees/.test(document.querySelector(".flame-crumbs").textContent));
	await page.waitForFunction(() => /newTxRing/.test(document.activeElement.textContent));
	await key(page, "Escape");
	await page.waitForFunction(() => !location.search.includes("p="));

	await key(page, "?");
	await page.waitForSelector("dialog[open]");
	assert.deepEqual(await complaints(page), []);
	await key(page, "Escape");
	await page.waitForSelector("dialog", { state: "detached" });
});

test("a menu copies a name and leads to other reports", async ({ page }) => {
	await open(page, `${heap}/flamegraph`);
	const name = "main.openDBWithMetrics";
	const { x, y } = await spot(page, name);
	await page.mouse.click(x, y, { button: "right" });
	await page.waitForSelector("[role=menu]");
	assert.deepEqual(await complaints(page), []);
	await shoot(page, "flame-menu");
	await page.click("text=Copy name");
	await page.waitForFunction(() => document.querySelector(".flame-live").textContent === "Name copied.");
	assert.equal(await page.evaluate(() => navigator.clipboard.readText()), name);
	await key(page, "m");
	await page.waitForSelector("[role=menu]");
	await key(page, "ArrowUp"); // the last: Show from
	await focuses(page, /Show from/);
	await key(page, "Escape");
	await page.waitForSelector("[role=menu]", { state: "detached" });
	await focuses(page, /openDBWithMetrics/);
	await key(page, "m");
	await page.click("[role=menuitem] >> text=Ignore");
	await page.waitForURL(/i=%5Emain%5C.openDBWithMetrics%24/);
	await drawn(page);
	assert.ok(![...places(await sent(page)).values()].includes(name));
}, { permissions: ["clipboard-read", "clipboard-write"] });

test("another kind of sample keeps what is looked at", async ({ page }) => {
	await open(page, `${heap}/flamegraph?q=tsdb&colour=function`);
	const { x, y } = await spot(page, "runtime.main");
	await page.mouse.click(x, y);
	await page.waitForFunction(() => location.search.includes("z="));
	await page.click("header >> text=alloc_space");
	await page.waitForURL(/si=alloc_space/);
	await drawn(page);
	await eventually(async () => assert.match(await page.innerText(".flame-crumbs [aria-current]"), /runtime\.main/));
	assert.equal(params(page).get("q"), "tsdb");
	assert.equal(await page.inputValue("input[type=search]"), "tsdb");
	assert.equal(await page.locator(".flame-colours select").inputValue(), "function");
	const data = await sent(page);
	assert.equal(data.total, topJson("-sample_index=alloc_space", PROM).total);
});

test("the dark theme, a phone, and the root at the bottom", async ({ page }) => {
	await open(page, `${heap}/flamegraph?flip=1`);
	const paper = () => page.evaluate(() => {
		const c = document.querySelector(".flame-space canvas");
		return [...c.getContext("2d").getImageData(c.width - 3, 2, 1, 1).data];
	});
	await eventually(async () => assert.deepEqual(await paper(), [0x1a, 0x1d, 0x21, 255]));
	assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
	await page.waitForFunction(() => {
		const s = document.querySelector(".flame-scroll");
		return s.scrollTop + s.clientHeight >= s.scrollHeight - 1;
	});
	await page.locator("[role=treeitem][tabindex='0']").focus();
	await key(page, "ArrowUp");
	await focuses(page, /level 1/);
	assert.deepEqual(await complaints(page), []);
	await shoot(page, "flame-phone");
}, { colorScheme: "dark", viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, reducedMotion: "reduce" });

test("a comparison is coloured by change and says it in words", async ({ page }) => {
	const file = (name, text) => {
		writeFileSync(join(scratch, name), text);
		return join(scratch, name);
	};
	const compared = await serve("-diff_base", file("before", "main;a 100\nmain;b 50\nmain;c 70\n"),
		file("now", "main;a 40\nmain;b 90\nmain;c 70\nmain;d 10\n"));
	await open(page, `${compared}/flamegraph`);
	assert.equal(await page.locator(".flame-colours select").inputValue(), "change");
	assert.match(await page.innerText(".flame-legend"), /less than the base .*more than the base/);
	await page.locator("[role=treeitem][tabindex='0']").focus();
	await key(page, "ArrowDown", "ArrowDown");
	// "a" is widest: 100 and 40 together.
	await focuses(page, /^a, -60, 27\.27%, before 100, now 40/);
	await eventually(async () =>
		assert.match(await page.innerText(".flame-detail"), /^-60 \(-27\.27%\) · base 100, now 40/));
	await key(page, "End");
	await focuses(page, /^d, \+10, .*before 0, now 10/);
	assert.deepEqual(await complaints(page), []);
	await shoot(page, "flame-change");
});

test("names of strangers are text and nothing else", async ({ page, said }) => {
	const path = join(scratch, "hostile.pb");
	const names = ["<script>alert(1)</script>", "a\u202eb\u2066c", "\"><img src=x onerror=alert(1)>", "x".repeat(65536),
		"tab\tnew\nline", "\u05d0\u05d1\u05d2", "{{.}}", "%s%n"];
	writeFileSync(path, execFileSync("python3", ["-B", "-c", `
import json, sys
sys.path.insert(0, sys.argv[1])
from writer import Profile
p = Profile([("<b>type", "<i>unit")])
m = p.mapping(file="/bin/<script>")
stack = [p.frame(n, line=1, file=n, mapping=m) for n in json.load(sys.stdin)]
for i in range(len(stack)):
    p.sample(stack[i:], [i + 1])
sys.stdout.buffer.write(p.encode())
`, profiles("")], { input: JSON.stringify(names), maxBuffer: 1 << 26 }));
	const hostile = await serve("-symbolize=none", path);
	page.on("dialog", () => said.push("a dialog"));
	await open(page, `${hostile}/flamegraph?q=%3Cscript%3E&p=.`);
	await open(page, `${hostile}/flamegraph?q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E`);
	await page.locator("[role=treeitem][tabindex='0']").focus();
	for (let i = 0; i < names.length; i++) {
		await key(page, "ArrowDown");
		const text = await focused(page);
		assert.ok(text.length < 2000, String(text.length));
		assert.doesNotMatch(text, /[\u202a-\u202e\u2066-\u2069\t\n]/);
	}
	await focuses(page, /^<script>alert\(1\)<\/script>, /);
	await key(page, "c");
	await page.waitForFunction(() => document.querySelector(".flame-live").textContent === "Name copied.");
	assert.equal(await page.evaluate(() => navigator.clipboard.readText()), names[0]);
	// The whole of a long one, though only its beginning was sent.
	const ids = await sent(page);
	const long = ids.places.cut[0];
	assert.equal(ids.places.cut.length, 1);
	const full = await page.evaluate(async (id) => (await fetch(`./flame-name.txt?place=${id}`)).text(), long);
	assert.equal(full, names[3]);
	assert.equal(await page.locator(".flame-box script, .flame-tip img, main img, .flame-box iframe").count(), 0);
	assert.deepEqual(await complaints(page), []);
	await shoot(page, "flame-hostile");
}, { permissions: ["clipboard-read", "clipboard-write"] });

test("without a script the drawing is there", async ({ page }) => {
	await page.goto(`${heap}/flamegraph`);
	assert.equal(await page.frameLocator("iframe").locator("svg").count(), 1);
}, { javaScriptEnabled: false });

test("an empty picture says so", async ({ page }) => {
	await page.goto(`${heap}/flamegraph?f=nosuchfunction`);
	await page.waitForFunction(() => /no samples/.test(document.querySelector(".flame-note")?.textContent ?? ""));
});

await finish();
