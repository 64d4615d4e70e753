// choose.ts - functions that a person has picked, and what can be done with them
//
// SPDX-License-Identifier: Apache-2.0

import { bdi, h } from "./dom";
import { exactly } from "./names";

/** The address of a view with one parameter set; what it had before stays if 'adds'. */
function address(view: string, param: string, value: string, adds = false): string {
	const query = new URLSearchParams(location.search);
	const before = query.get(param);

	query.set(param, adds && before ? `${before}|${value}` : value);
	return `./${view}?${query}`;
}

export class Choice {
	/** What has been picked, and links that filter by it. */
	readonly bar = h("div", { class: "choices", role: "status" });
	private readonly names = new Set<string>();

	constructor(private readonly view: string) {
		this.show();
	}

	/** Picks a function, or no longer: whether it is picked now. */
	toggle(name: string): boolean {
		if (!this.names.delete(name)) this.names.add(name);
		this.show();
		return this.names.has(name);
	}

	private links(): [string, string][] {
		const names = [...this.names].map(exactly).join("|"), view = this.view;

		return [
			["Focus", address(view, "f", names)], ["Ignore", address(view, "i", names, true)],
			["Hide", address(view, "h", names, true)], ["Show", address(view, "s", names)],
			["Show from", address(view, "sf", names)], ["Peek", address("peek", "f", names)],
			["Source", address("source", "f", names)],
		];
	}

	private show(): void {
		if (this.names.size === 0) {
			this.bar.replaceChildren("Pick functions by a click, or Tab and Enter.");
			return;
		}
		this.bar.replaceChildren(bdi([...this.names].join(", "), "chosen"),
			...this.links().map(([label, href]) => h("a", { href }, label)));
	}
}
