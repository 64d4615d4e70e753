// compare.ts - the page that tells what changed
//
// SPDX-License-Identifier: Apache-2.0

import { h } from "./dom";

/** A box that leaves out what may be chance; remembered in the address. */
function offerChangedOnly(element: HTMLElement): void {
	const choices = element.querySelector(".choices");
	const table = element.querySelector<HTMLElement>(".changes");
	const label = document.createElement("label");
	const box = document.createElement("input");

	if (!choices || !table) return;
	box.type = "checkbox";
	box.checked = location.hash === "#changed";
	label.append(box, "only what changed beyond chance");
	choices.append(label);
	const apply = (): void => {
		table.classList.toggle("changed-only", box.checked);
		history.replaceState(null, "", box.checked ? "#changed" : location.pathname + location.search);
	};
	box.addEventListener("change", apply);
	if (box.checked) apply();
}

/** Two drawings side by side show the same frame, unless that is not wanted. */
function offerApart(pair: HTMLElement | null): void {
	if (!pair) return;
	const box = h("input", { type: "checkbox", checked: true });

	box.addEventListener("change", () => {
		if (box.checked) delete pair.dataset["apart"];
		else pair.dataset["apart"] = "";
	});
	pair.before(h("label", { class: "together" }, box, "zoom and search in both together"));
}

export function start(element: HTMLElement): void {
	offerChangedOnly(element);
	offerApart(document.querySelector(".pair"));
	element.dataset["ready"] = "true";
}
