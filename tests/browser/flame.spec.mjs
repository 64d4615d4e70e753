// flame.spec.mjs - the flame graph, used as a person would
//
// SPDX-License-Identifier: Apache-2.0

import { assert, complaints, finish, profiles, serve, test } from "./harness.mjs";

const heap = await serve(profiles("prom-heap.pb.gz"));

test("the page opens and starts its view", async ({ page }) => {
	await page.goto(`${heap}/flamegraph`);
	await page.waitForSelector('[data-view="flame"][data-ready]');
	assert.deepEqual(await complaints(page), []);
});

await finish();
