// flame-tip.ts - what is said beside the pointer
//
// SPDX-License-Identifier: Apache-2.0

import { h } from "./dom";

export class Tip {
	readonly element = h("div", { class: "flame-tip", role: "tooltip", hidden: true });

	/** Beside a point of the window, and inside of it. */
	show(what: (Node | string)[], x: number, y: number): void {
		const { element } = this;

		element.replaceChildren(...what);
		element.hidden = false;
		const { offsetWidth: wide, offsetHeight: high } = element;
		element.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - wide - 8))}px`;
		element.style.top = `${y + 18 + high > innerHeight ? Math.max(4, y - high - 10) : y + 18}px`;
	}

	hide(): void {
		this.element.hidden = true;
	}
}
