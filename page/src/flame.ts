// flame.ts - the flame graph
//
// SPDX-License-Identifier: Apache-2.0

export function start(element: HTMLElement): void {
	element.dataset["ready"] = "true";
}
