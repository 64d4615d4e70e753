// tables.ts - tables that sort and filter
//
// The server's order is the first one, and where a third click on a heading leads back to.  A
// heading says by aria-sort how the table is sorted; what it holds is in data-value where the text
// of a cell is not a number by itself.
//
// SPDX-License-Identifier: Apache-2.0

import { Choice } from "./choose";
import { h } from "./dom";

type Order = "none" | "descending" | "ascending";

/** What a cell is compared by: a number, where it has one. */
function keyOf(row: HTMLTableRowElement, column: number): number | string {
	const cell = row.cells[column];
	const text = cell?.textContent?.trim() ?? "";
	const number = Number.parseFloat(cell?.dataset["value"] ?? (/^[-+]?[\d.]+%?$/.test(text) ? text : ""));

	return Number.isNaN(number) ? text : number;
}

function compare(a: number | string, b: number | string): number {
	if (typeof a === "number" && typeof b === "number") return a - b;
	return String(a).localeCompare(String(b));
}

/** Numbers begin with the largest, names with the first. */
function nextOrder(now: Order, numeric: boolean): Order {
	const orders: Order[] = numeric ? ["none", "descending", "ascending"] : ["none", "ascending", "descending"];

	return orders[(orders.indexOf(now) + 1) % orders.length] ?? "none";
}

class Sorter {
	private readonly body: HTMLTableSectionElement;
	private readonly rows: HTMLTableRowElement[];
	private readonly headings: HTMLTableCellElement[];

	constructor(table: HTMLTableElement) {
		this.body = table.tBodies[0] ?? table.createTBody();
		this.rows = [...this.body.rows];
		this.headings = [...(table.tHead?.rows[0]?.cells ?? [])];
		for (const [i, heading] of this.headings.entries()) {
			if (heading.dataset["sort"] === "no") continue;
			heading.setAttribute("aria-sort", "none");
			heading.replaceChildren(h("button", {
				type: "button", class: "sort", title: heading.title, onclick: () => this.click(i),
			},
				heading.textContent));
		}
	}

	private click(column: number): void {
		const heading = this.headings[column];
		const first = this.rows[0];

		if (!heading || !first) return;
		const order = nextOrder(heading.getAttribute("aria-sort") as Order, typeof keyOf(first, column) === "number");
		for (const other of this.headings)
			if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
		heading.setAttribute("aria-sort", order);
		this.body.append(...this.sorted(column, order));
	}

	private sorted(column: number, order: Order): HTMLTableRowElement[] {
		if (order === "none") return this.rows;
		const sign = order === "ascending" ? 1 : -1;
		const keys = new Map(this.rows.map((row) => [row, keyOf(row, column)]));

		return [...this.rows].sort((a, b) => sign * compare(keys.get(a) ?? 0, keys.get(b) ?? 0));
	}
}

/** An expression of a person, who is still typing: null is none yet. */
function expression(text: string): RegExp | null {
	try {
		return new RegExp(text, "i");
	} catch {
		return null;
	}
}

/** A field above the table, and how much of the table it leaves. */
function addFilter(table: HTMLTableElement): HTMLElement {
	const rows = [...(table.tBodies[0]?.rows ?? [])];
	const said = h("output", { class: "left" });
	const field = h("input", { type: "search", size: 24, spellcheck: "false" });

	field.addEventListener("input", () => {
		const wanted = expression(field.value);
		let left = 0;

		field.setAttribute("aria-invalid", String(!wanted));
		if (!wanted) return;
		for (const row of rows) {
			row.hidden = !wanted.test(row.cells[row.cells.length - 1]?.textContent ?? "");
			left += row.hidden ? 0 : 1;
		}
		said.textContent = field.value ? `${left} of ${rows.length} rows` : "";
	});
	const tools = h("div", { class: "find" }, h("label", {}, "Find", field), said);
	(table.closest(".table") ?? table).before(tools);
	return tools;
}

/** Rows can be picked: by a click anywhere but on their link, or with a key. */
function makeChoosable(table: HTMLTableElement, view: string, tools: HTMLElement): void {
	const choice = new Choice(view);

	for (const row of table.tBodies[0]?.rows ?? []) {
		const last = row.cells[row.cells.length - 1];
		const name = last?.dataset["function"] ?? (row.querySelector("a") ?? last)?.textContent;
		const cell = row.cells[0];
		if (!name || !cell) continue;
		const toggle = () => {
			const chosen = choice.toggle(name);
			row.classList.toggle("picked", chosen);
			box.checked = chosen;
		};
		const box = h("input", { type: "checkbox", "aria-label": `Pick ${name}`, onchange: toggle });
		cell.prepend(box);
		row.addEventListener("click", (e) => {
			if (!(e.target as Element).closest("a, input") && !String(getSelection())) toggle();
		});
	}
	tools.append(choice.bar);
}

export function start(element: HTMLElement): void {
	const table = element as HTMLTableElement;

	if ((table.tBodies[0]?.rows.length ?? 0) > 1) {
		new Sorter(table);
		const tools = addFilter(table);
		if (table.dataset["choose"] !== undefined) makeChoosable(table, table.dataset["choose"], tools);
	}
	table.dataset["ready"] = "true";
}
