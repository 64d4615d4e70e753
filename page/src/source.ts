// source.ts - all machine code of a listing at once
//
// SPDX-License-Identifier: Apache-2.0

import { h } from "./dom";

export function start(element: HTMLElement): void {
	const folded = [...element.querySelectorAll<HTMLDetailsElement>("td > details")];
	const button = h("button", { type: "button", "aria-pressed": "false" }, "Machine code of all lines");

	button.addEventListener("click", () => {
		const open = button.getAttribute("aria-pressed") !== "true";

		button.setAttribute("aria-pressed", String(open));
		for (const one of folded) one.open = open;
	});
	if (folded.length) element.prepend(button);
	element.dataset["ready"] = "true";
}
