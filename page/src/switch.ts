// switch.ts - dark or light, for a person to choose; theme.ts has it last from page to page
//
// SPDX-License-Identifier: Apache-2.0

import { h } from "./dom";

const KEY = "sonde-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

const chosen = () => document.documentElement.dataset["theme"] ?? "";

export function isDark(): boolean {
	return chosen() ? chosen() === "dark" : system.matches;
}

/** Calls 'act' whenever colours have become others. */
export function onTheme(act: () => void): void {
	system.addEventListener("change", act);
	document.addEventListener("themechange", act);
}

function choose(theme: string): void {
	if (theme) document.documentElement.dataset["theme"] = theme;
	else delete document.documentElement.dataset["theme"];
	try {
		if (theme) localStorage.setItem(KEY, theme);
		else localStorage.removeItem(KEY);
	} catch {
		// Then it is for this page.
	}
	document.dispatchEvent(new Event("themechange"));
}

/** The switch, in the head of the page. */
export function addSwitch(header: Element): void {
	const select = h("select", { "aria-label": "Colours", title: "Dark or light", onchange: () => choose(select.value) },
		...[["", "System"], ["light", "Light"], ["dark", "Dark"]].map(([value, text]) => h("option", { value }, text)));

	select.value = chosen();
	header.querySelector("h1")?.after(h("span", { class: "theme" }, select));
}
