// flame-menu.ts - what can be done with a frame, and the sheet of keys
//
// SPDX-License-Identifier: Apache-2.0

import { h } from "./dom";

export interface Action {
	label: string;
	key?: string;
	run: () => void;
}

/** A menu at a point of the window; 'closed' is called when it is gone. */
export function openMenu(x: number, y: number, label: string, actions: Action[], closed: () => void): void {
	const items = actions.map((a) => h("button", { type: "button", role: "menuitem", tabindex: -1,
		onclick: () => { close(); a.run(); } }, h("span", {}, a.label), a.key ? h("kbd", {}, a.key) : null));
	const menu = h("div", { role: "menu", class: "flame-menu", "aria-label": label, onkeydown: keys }, ...items);

	function close(): void {
		removeEventListener("pointerdown", outside, true);
		menu.remove();
		closed();
	}

	function outside(e: Event): void {
		if (!menu.contains(e.target as Node)) close();
	}

	function keys(e: KeyboardEvent): void {
		const at = items.indexOf(document.activeElement as HTMLButtonElement);
		const to = e.key === "ArrowDown" ? at + 1 : e.key === "ArrowUp" ? at - 1 :
			e.key === "Home" ? 0 : e.key === "End" ? items.length - 1 : -2;

		e.stopPropagation();
		if (e.key === "Escape" || e.key === "Tab") {
			e.preventDefault();
			close();
		} else if (to !== -2) {
			e.preventDefault();
			items[(to + items.length) % items.length]?.focus();
		}
	}

	document.querySelector("main")!.append(menu);
	menu.style.left = `${Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 8))}px`;
	menu.style.top = `${Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 8))}px`;
	addEventListener("pointerdown", outside, true);
	items[0]?.focus();
}

const KEYS: [string, string][] = [
	["Arrows", "to the caller, a callee, the neighbours"],
	["Home, End", "the first and the last neighbour"],
	["Enter", "zoom in"],
	["Esc, Backspace", "zoom out"],
	["0", "all of it"],
	["/", "search; Enter for the next match"],
	["n, N", "next and previous match"],
	["s", "callers and callees of the function"],
	["c", "copy its name"],
	["m", "menu"],
	["i", "root at the top or at the bottom"],
	["?", "this sheet"],
];

export function openHelp(closed: () => void): void {
	const rows = KEYS.map(([keys, what]) => h("tr", {}, h("th", { scope: "row" },
		...keys.split(", ").flatMap((k, i) => [i ? ", " : "", h("kbd", {}, k)])), h("td", {}, what)));
	const dialog = h("dialog", { class: "flame-help", "aria-labelledby": "flame-help-title" },
		h("h2", { id: "flame-help-title" }, "Flame graph"),
		h("p", {}, "Every box is a function, reached in one way from the root; it is as wide as what it took, " +
			"with all that it called. Click to zoom in, right-click for more."),
		h("table", {}, h("tbody", {}, ...rows)),
		h("form", { method: "dialog" }, h("button", {}, "Close")));

	dialog.addEventListener("keydown", (e) => e.stopPropagation());
	dialog.addEventListener("close", () => {
		dialog.remove();
		closed();
	});
	document.querySelector("main")!.append(dialog);
	dialog.showModal();
}
