// dom.ts - elements, as few words as possible
//
// Text is always a text node: what comes from a profile cannot become anything else.
//
// SPDX-License-Identifier: Apache-2.0

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | undefined | ((e: never) => void)>;

/** An element.  Functions among the attributes are listeners: { onclick: () => … }. */
export function h<K extends keyof HTMLElementTagNameMap>(
	tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
	const element = document.createElement(tag);

	for (const [name, value] of Object.entries(attributes)) {
		if (typeof value === "function")
			element.addEventListener(name.slice(2), value as EventListener);
		else if (value === true)
			element.setAttribute(name, "");
		else if (value !== undefined && value !== false)
			element.setAttribute(name, String(value));
	}
	element.append(...children.filter((c): c is Node | string => Boolean(c)));
	return element;
}

/** Text of a stranger: its direction of writing ends where it ends. */
export function bdi(text: string, name?: string): HTMLElement {
	return h("bdi", { class: name }, text);
}
