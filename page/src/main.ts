// main.ts - starts what a page has more of where there is a script
//
// The server renders each page complete.  An element with data-view="x" asks for the module of that
// name; modules that few pages need are loaded when they are asked for.
//
// SPDX-License-Identifier: Apache-2.0

import { addSwitch } from "./switch";

type Start = (element: HTMLElement) => void | Promise<void>;

const views: Record<string, () => Promise<Start>> = {
	command: async () => (await import("./command")).start,
	compare: async () => (await import("./compare")).start,
	graph: async () => (await import("./graph")).start,
	source: async () => (await import("./source")).start,
	table: async () => (await import("./tables")).start,
	flame: async () => (await import("./flame")).start,
	live: async () => (await import("./live")).start,
	series: async () => (await import("./series")).start,
};

for (const header of document.querySelectorAll("body > header")) addSwitch(header);
for (const element of document.querySelectorAll<HTMLElement>("[data-view]")) {
	const load = views[element.dataset["view"] ?? ""];

	if (load) void load().then((start) => start(element));
}
