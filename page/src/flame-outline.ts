// flame-outline.ts - the flame graph for who does not see it: a tree of the same frames
//
// Only what is around the frame that has the focus is in the document: those that lead to it, some of
// its neighbours and of its callees.  A screen reader is told how many there are.
//
// SPDX-License-Identifier: Apache-2.0

import { h } from "./dom";
import type { Spot } from "./flame-draw";
import type { Sheet, Tree } from "./flame-data";
import { counted, percent } from "./numbers";

const AROUND = 12; // neighbours to either side, and callees
const ABOVE = 40; // callers

export class Outline {
	readonly element: HTMLElement;
	private items = new Map<string, HTMLElement>();
	private current: HTMLElement | null = null;

	constructor(private readonly say: (spot: Spot) => string) {
		this.element = h("div", { role: "tree", class: "flame-outline", "aria-label": "Call tree" });
	}

	get hasFocus(): boolean {
		return this.element.contains(document.activeElement);
	}

	focus(): void {
		this.current?.focus({ preventScroll: true });
	}

	/** Puts 'spot' and what is around it into the document; moves the focus if it is here. */
	show(spot: Spot, focus: boolean): void {
		const { tree } = spot;
		const had = this.hasFocus;
		const wanted = around(tree, spot.frame);
		const items = new Map<string, HTMLElement>();

		for (const frame of wanted) {
			const key = tree.key(frame);
			const item = this.items.get(key) ?? h("div", { role: "treeitem" });
			this.describe(item, tree, frame, frame === spot.frame);
			items.set(key, item);
		}
		for (const [key, item] of this.items) if (!items.has(key)) item.remove();
		this.items = items;
		this.place([...items.values()]);
		this.current = items.get(tree.key(spot.frame)) ?? null;
		if (focus || had) this.focus();
	}

	/** In order, moving as few as possible: an element that moves loses the focus. */
	private place(items: HTMLElement[]): void {
		let at: ChildNode | null = this.element.firstChild;

		for (const item of items) {
			if (item === at) at = at.nextSibling;
			else this.element.insertBefore(item, at);
		}
	}

	private describe(item: HTMLElement, tree: Tree, frame: number, current: boolean): void {
		const caller = tree.caller[frame]!;
		const siblings = caller < 0 ? [frame] : tree.callees(caller);

		item.textContent = this.say({ tree, frame });
		item.tabIndex = current ? 0 : -1;
		item.setAttribute("aria-level", String(tree.level(frame) + 1));
		item.setAttribute("aria-selected", String(current));
		item.setAttribute("aria-setsize", String(Math.max(siblings.length, caller < 0 ? 1 : tree.data.callees[caller]!)));
		item.setAttribute("aria-posinset", String(siblings.indexOf(frame) + 1));
		if (tree.data.callees[frame]) item.setAttribute("aria-expanded", String(current || isBelow(tree, frame)));
		else item.removeAttribute("aria-expanded");
	}
}

function isBelow(tree: Tree, frame: number): boolean {
	return tree.level(frame) < tree.level(tree.top) || tree.caller[frame + 1] === frame;
}

function around(tree: Tree, frame: number): number[] {
	const trail: number[] = [];
	const caller = tree.caller[frame]!;
	const siblings = caller < 0 ? [frame] : tree.callees(caller);
	const at = siblings.indexOf(frame);
	const near = siblings.slice(Math.max(0, at - AROUND), at + AROUND + 1);

	for (let c = caller; c >= 0 && trail.length < ABOVE; c = tree.caller[c]!) trail.unshift(c);
	return [...trail, ...near.flatMap((s) => s === frame ? [s, ...tree.callees(s).slice(0, AROUND)] : [s])];
}

/** "name, 12.3%, self 1%, level 5, 3 callees" */
export function spoken(tree: Tree, frame: number, name: string, total: number): string {
	const d = tree.data;
	const words = [name, `${d.text[frame]}, ${percent(d.value[frame]!, total)}`];
	const n = d.callees[frame]!, hidden = d.hidden[frame]!;

	if (d.before) words.push(`before ${d.before[frame]}, now ${d.after![frame]}`);
	words.push(d.self[frame] ? `self ${percent(d.self[frame]!, total)}` : "self 0%");
	words.push(`level ${tree.level(frame)}`);
	words.push(n === 1 ? "1 callee" : `${n} callees`);
	if (hidden && frame >= tree.top) words.push(`${hidden} of them too narrow to draw`);
	if (d.inlined[frame]) words.push("inlined");
	return words.join(", ");
}

/** What a tip and the line below the picture say of a frame. */
export function facts(sheet: Sheet, { tree, frame }: Spot): string[] {
	const d = tree.data, total = sheet.data.total;
	const sign = !d.more || !d.value[frame] ? "" : d.value[frame]! > 0 ? "+" : "-";
	const facts = [`${d.text[frame]} (${sign}${percent(d.value[frame]!, total)})`];
	const caller = tree.caller[frame]!;

	if (d.before) facts.push(sheet.data.base ? `base ${d.before[frame]}, now ${d.after![frame]}` :
		`grown ${d.after![frame]}, shrunk ${d.before[frame]}`);
	if (d.self[frame]) facts.push(`self ${d.own[frame]} (${percent(d.self[frame]!, total)})`);
	if (caller >= 0) facts.push(`${percent(tree.width[frame]!, tree.width[caller]!)} of its ${d.up ? "callee" : "caller"}`);
	if (frame > tree.top && tree.top > 0) facts.push(`${percent(tree.width[frame]!, tree.total)} of what is shown`);
	if (d.inlined[frame]) facts.push("inlined into its caller");
	if (d.hidden[frame] && frame >= tree.top) facts.push(`${counted(d.hidden[frame]!, "callee")} too narrow to draw`);
	return facts;
}
