// hostile.spec.mjs - names of strangers are text and nothing else, wherever they come from
//
// SPDX-License-Identifier: Apache-2.0

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

import { assert, finish, profiles, scratch, serve, test } from "./harness.mjs";

process.env.PPROF_TMPDIR = scratch; // what is fetched is saved there

const hostile = ["<script>window.hit = 1</script>", '"><img src=x onerror="window.hit=1">', "'+(window.hit=1)+'",
	"a\u202eb\u2066c", "]]></script><svg onload=window.hit=1>", "{{constructor.constructor('window.hit=1')()}}",
	"javascript:window.hit=1", "x".repeat(65536), "tab\tnew\nline", "%s%n\u0000"];

/** Such as fit into the name of a file. */
const component = '"><img src=x onerror=window.hit=1>a\u202eb\'c&d';

/** A profile with them as functions, files, binaries, labels, comments and types; or as a heap. */
const writer = `
import json, sys
sys.path.insert(0, sys.argv[1])
from writer import Profile
names, times = json.loads(sys.argv[3]), int(sys.argv[4])
heap = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]
types = heap if times else [(names[0], names[1]), (names[1], names[2])]
p = Profile(types, comments=names, **({"period": ("space", "bytes", 1), "time": times * 10**9} if times else {}))
m = p.mapping(file="/bin/" + names[0], build_id=names[1])
stack = [p.frame(n, line=i + 1, file=n, mapping=m) for i, n in enumerate(names)]
grown = (times - 1_600_000_000) // 1800
for i in range(len(stack)):
    size = (500 + 40 * grown) * (i + 1)
    values = [size, size * 65536] * 2 if times else [int(sys.argv[5]) * (i + 1), 2]
    p.sample(stack[i:], values, labels=[(names[i], names[-1 - i]), ("size", i, names[i])])
open(sys.argv[2], "wb").write(p.encode())
`;

function write(file, { time = 0, scale = 1 } = {}) {
	execFileSync("python3", ["-B", "-c", writer, profiles("."), file, JSON.stringify(hostile), String(time), String(scale)]);
	return file;
}

const file = write(join(scratch, "hostile.pb"));

/** Opens one page after the other, each when the one before it is complete. */
async function look(page, address, views, done = null) {
	const asked = [];
	page.on("request", (r) => asked.push(r.url()));
	page.on("dialog", () => assert.fail("a dialog"));
	for (const view of views) {
		await page.goto(`${address}/${view}`);
		await page.waitForFunction(() => [...document.querySelectorAll("[data-view]")].every((e) => e.dataset.ready));
		await done?.(view);
		assert.equal(await page.evaluate(() => window.hit), undefined, view);
		assert.equal(await page.locator("main img, main script, main [onload], main [onerror]").count(), 0, view);
		assert.equal(await page.locator('[href^="javascript:"], [src^="javascript:"]').count(), 0, view);
		const shown = await page.evaluate(() => {
			const copy = document.documentElement.cloneNode(true);
			for (const field of copy.querySelectorAll("input[type=hidden]")) field.remove();
			return copy.outerHTML;
		});
		assert.doesNotMatch(shown, /[\u202a-\u202e\u2066-\u2069]/, view);
	}
	assert.deepEqual(asked.filter((u) => !u.startsWith(address)), []);
}

test("on every page of a profile", async ({ page }) => {
	const address = await serve("-symbolize=none", file);
	await look(page, address, ["", "top", "peek?f=.", "source?f=.", "disasm", "labels", "flamegraph",
		"top?f=<script>window.hit = 1</script>"]);
});

test("in a comparison", async ({ page }) => {
	const address = await serve("-symbolize=none", "-diff_base", file, write(join(scratch, "more.pb"), { scale: 1000 }));
	await look(page, address, ["compare", "compare?sort=cum", "compare?by=shares", "flamegraph", "top", ""], async (view) => {
		if (!view.startsWith("compare")) return;
		await page.waitForSelector('[data-view="flame"][data-judged]');
		assert.match(await page.textContent(".changes"), /<script>window\.hit = 1<\/script>/);
	});
});

test("in a series", async ({ page }) => {
	const tree = join(scratch, "tree");
	for (let i = 0; i < 8; i++) {
		const time = 1_600_000_000 + 1800 * i;
		const stamp = new Date(time * 1000).toISOString().slice(0, 19).replace("T", "-");
		mkdirSync(join(tree, stamp), { recursive: true });
		write(join(tree, stamp, `${component}-heap-${stamp}.pprof`), { time });
	}
	const address = await serve("-symbolize=none", tree);
	await look(page, address, ["", `?c=${encodeURIComponent(component)}`, "?c=<script>window.hit = 1</script>"], async (view) => {
		if (view.includes("script")) return;
		await page.waitForSelector('[data-view="series"][data-judged]');
		assert.match(await page.textContent("main"), /<script>window\.hit = 1<\/script>|<img src=x onerror=window\.hit=1>/);
	});
	await page.goto(`${address}/`);
	await page.locator("form.form-open button").first().click();
	await page.waitForSelector('[data-view="flame"][data-ready]');
	await look(page, page.url().replace(/\/flamegraph.*/, ""), ["flamegraph", "top", ""]);
});

/** A service of which every word is hostile. */
function startService() {
	const words = hostile.filter((w) => w.length < 1000).map((w) => w.replaceAll("\u0000", ""));
	const index = `<html><body>${["heap", "profile", "goroutine", ...words.map((w) => encodeURIComponent(w))]
		.map((w) => `<tr><td>7</td><td><a href='${w}?debug=1'>${w}</a></td></tr>`).join("\n")}</body></html>`;
	const memory = JSON.stringify({ HeapAlloc: 1, Sys: "<img src=x onerror=window.hit=1>", [words[0]]: words[1],
		Process: { RSS: words[1], [words[1]]: words } });
	const server = createServer((request, response) => {
		const path = new URL(request.url, "http://x").pathname.slice("/debug/pprof/".length);
		if (path === "") response.end(index);
		else if (path === "cmdline") response.end(words.join("\0"));
		else if (path === "memstats") response.end(memory);
		else if (path === "symbol") response.end("num_symbols: 1\n");
		else if (request.url.includes("debug=2")) response.end(words.map((w, i) => `goroutine ${i} [${w}]:\n${w}\n\t${w}:1\n\n`).join(""));
		else response.end(readFileSync(file));
	});
	return new Promise((done) => server.listen(0, "127.0.0.1", () => done(`http://127.0.0.1:${server.address().port}`)));
}

test("in a service that is looked at live", async ({ page }) => {
	const address = await serve("-symbolize=none", await startService());
	await look(page, address, [""], async () => {
		await page.click("text=What are they doing now?");
		await page.waitForFunction(() => document.querySelector(".threads pre")?.textContent.includes("window.hit"));
		await page.waitForSelector(".memory[data-points]");
		assert.doesNotMatch(await page.textContent(".memory"), /NaN|undefined|window/);
	});
	await page.locator('form:has(input[value="heap"]) button').click();
	await page.locator('.taken li[data-state="taken"] a').first().click();
	await page.waitForSelector('[data-view="flame"][data-ready]');
	await look(page, page.url().replace(/\/[^/]*$/, ""), ["flamegraph", "top"]);
});

await finish();
