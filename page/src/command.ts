// command.ts - the command that prints a page, for the clipboard
//
// SPDX-License-Identifier: Apache-2.0

import { h } from "./dom";

export function start(element: HTMLElement): void {
	const text = element.querySelector("code")?.textContent ?? "";
	const said = h("output", { class: "left" });

	element.append(h("button", {
		type: "button",
		onclick: () => {
			void navigator.clipboard.writeText(text).then(
				() => { said.textContent = "copied"; },
				() => { said.textContent = "the browser does not allow it: select the text"; });
		},
	}, "Copy as command"), said);
	element.dataset["ready"] = "true";
}
