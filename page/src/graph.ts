// graph.ts - the graph, to zoom, to move, and to choose functions from
//
// The drawing is Graphviz' and its texts are strangers': it is built again from the few elements
// and attributes that such a drawing has, so nothing else can come in.
//
// SPDX-License-Identifier: Apache-2.0

import { Choice } from "./choose";
import { h } from "./dom";
import { count, percent } from "./numbers";

const SVG = "http://www.w3.org/2000/svg";
const XLINK = "http://www.w3.org/1999/xlink";
const ELEMENTS = new Set(["svg", "g", "a", "path", "polygon", "polyline", "ellipse", "text"]);
const ATTRIBUTES = ["class", "d", "points", "cx", "cy", "rx", "ry", "x", "y", "fill", "stroke", "stroke-width",
	"stroke-dasharray", "text-anchor", "font-family", "font-size", "transform"];

/** How far a step of a key or a button goes, and the limits of the scale. */
const STEP = 1.25, SHIFT = 0.1, SMALLEST = 0.2, LARGEST = 40;

interface Box { x: number; y: number; width: number; height: number }

/** The legend, which is in the head of the page already. */
function isLegend(e: Element): boolean {
	const kind = e.getAttribute("class");

	return kind === "cluster" || (kind === "node" && !/^N+\d/.test(e.querySelector("title")?.textContent ?? ""));
}

/** What the legend says of what is left out: that is known only once the graph has been made. */
function omissions(drawing: Element): string {
	const lines = [...drawing.querySelectorAll(".node text")].map((t) => t.textContent?.trim() ?? "");

	return lines.filter((l) => /^(Showing (nodes|top) |Dropped \d)/.test(l)).join(" · ");
}

/**
 * What the graph shows, in the words of the other pages: it is made after its page, whose line of
 * facts lacks it.  The server says it in a comment behind the drawing.
 */
function addTrimmed(page: Document): void {
	const told = page.lastChild?.nodeType === Node.COMMENT_NODE ? page.lastChild.textContent ?? "" : "";
	const [, shown, nodes, dropped] = /shown (\d+) in (\d+) nodes, (\d+) left out/.exec(told) ?? [];
	const trust = document.querySelector<HTMLElement>(".trust");
	const left = Number(trust?.dataset["left"] ?? 0);

	if (!trust || shown === undefined) return;
	const facts = [...trust.querySelectorAll(".fact")];
	const before = facts.find((f) => f.textContent?.startsWith("filtered")) ?? facts[0];
	if (Number(shown) !== left)
		before?.after(" ", h("span", { class: "fact" }, `trimmed ${percent(left - Number(shown), left)}`));
	trust.querySelector("ul > li")?.after(h("li", {}, `${count(Number(nodes))} entries are shown; their own values are ` +
		`${percent(Number(shown), left)} of what filters leave. ${count(Number(dropped))} are left out as too small or ` +
		"too many: see Trim in Options."));
}

/** A copy with nothing but what a drawing needs. */
function rebuild(from: Element): SVGElement | null {
	if (!ELEMENTS.has(from.localName) || isLegend(from)) return null;
	const to = document.createElementNS(SVG, from.localName === "a" ? "g" : from.localName) as SVGElement;

	for (const name of ATTRIBUTES) {
		const value = from.getAttribute(name);
		if (value !== null && !/url\s*\(/i.test(value)) to.setAttribute(name, value);
	}
	if (from.id === "viewport") to.removeAttribute("transform"); // where it was moved to without us
	if (from.getAttribute("class") === "node") to.dataset["node"] = from.querySelector("title")?.textContent ?? "";
	if (from.localName === "a") to.dataset["name"] = from.getAttributeNS(XLINK, "title") ?? "";
	if (from.localName === "text") to.textContent = from.textContent;
	else for (const child of from.children) {
		const copy = rebuild(child);
		if (copy) to.append(copy);
	}
	return to;
}

/** The part of a drawing that can be seen. */
class Pane {
	private box: Box = { x: 0, y: 0, width: 1, height: 1 };
	private whole: Box = this.box;
	private readonly at = new Map<number, PointerEvent>();
	dragged = false;

	constructor(private readonly svg: SVGGraphicsElement) {
		svg.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
		svg.addEventListener("pointerdown", (e) => this.down(e));
		svg.addEventListener("pointermove", (e) => this.move(e));
		for (const end of ["pointerup", "pointercancel"] as const)
			svg.addEventListener(end, (e) => this.at.delete((e as PointerEvent).pointerId));
		new ResizeObserver(() => this.fit()).observe(svg);
	}

	private show(): void {
		const { x, y, width, height } = this.box;

		this.svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
		this.svg.dataset["scale"] = this.scale.toFixed(3);
	}

	get scale(): number {
		return this.whole.width / this.box.width;
	}

	/** All of the drawing, with the proportions of the pane. */
	fit(): void {
		const drawing = this.svg.getBBox(), margin = 8;
		const width = drawing.width + 2 * margin, height = drawing.height + 2 * margin;
		const ratio = (this.svg.clientWidth || 1) / (this.svg.clientHeight || 1);
		const wide = Math.max(width, height * ratio), high = wide / ratio;

		this.whole = {
			x: drawing.x - margin - (wide - width) / 2, y: drawing.y - margin - (high - height) / 2,
			width: wide, height: high,
		};
		this.box = { ...this.whole };
		this.show();
	}

	/** Larger by 'factor', around a point given as shares of the pane. */
	zoom(factor: number, px = 0.5, py = 0.5): void {
		const scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * factor));
		const width = this.whole.width / scale, height = this.whole.height / scale;

		this.box = {
			x: this.box.x + (this.box.width - width) * px,
			y: this.box.y + (this.box.height - height) * py,
			width, height,
		};
		this.show();
	}

	/** Moves by shares of the pane. */
	shift(dx: number, dy: number): void {
		this.box.x += dx * this.box.width;
		this.box.y += dy * this.box.height;
		this.show();
	}

	private share(e: { clientX: number; clientY: number }): [number, number] {
		const r = this.svg.getBoundingClientRect();

		return [(e.clientX - r.left) / r.width, (e.clientY - r.top) / r.height];
	}

	private wheel(e: WheelEvent): void {
		e.preventDefault();
		this.zoom(e.deltaY < 0 ? 1.1 : 1 / 1.1, ...this.share(e));
	}

	private down(e: PointerEvent): void {
		this.at.set(e.pointerId, e);
		this.dragged = false;
	}

	/** One pointer moves, two zoom. */
	private move(e: PointerEvent): void {
		const before = this.at.get(e.pointerId);

		if (!before) return;
		if (!this.dragged && Math.hypot(e.clientX - before.clientX, e.clientY - before.clientY) < 3) return;
		if (!this.dragged) this.svg.setPointerCapture(e.pointerId);
		this.dragged = true;
		const [x0, y0] = this.share(before), [x1, y1] = this.share(e);
		const other = [...this.at.values()].find((p) => p.pointerId !== e.pointerId);
		if (other) {
			const [ox, oy] = this.share(other);
			this.zoom(Math.hypot(x1 - ox, y1 - oy) / (Math.hypot(x0 - ox, y0 - oy) || 1), ox, oy);
		} else {
			this.shift(x0 - x1, y0 - y1);
		}
		this.at.set(e.pointerId, e);
	}
}

/** "main.run (1.5s)" without the value; "main.run /src/run.go:12 (1.5s)" without the place, if nodes are by 'by'. */
function functionOf(title: string, by: string): string {
	const node = title.replace(/ \([^()]*\)$/, "").replace(by === "addresses" ? /^[0-9a-f]{16} / : "", "");

	if (!/^(lines|addresses|filefunctions)$/.test(by)) return node;
	const place = by === "filefunctions" ? /[./][^ ]*$/ : /:\d+$/;
	const absolute = node.lastIndexOf(" /"), at = absolute > 0 ? absolute : node.lastIndexOf(" ");
	return at > 0 && place.test(node.slice(at + 1)) ? node.slice(0, at) : node;
}

/** Nodes can be chosen with mouse and keyboard. */
function makeChoosable(svg: SVGElement, pane: Pane, choice: Choice, by: string): void {
	const toggle = (node: SVGElement, name: string) => {
		const chosen = choice.toggle(name);

		node.classList.toggle("picked", chosen);
		node.setAttribute("aria-pressed", String(chosen));
	};

	for (const node of svg.querySelectorAll<SVGElement>("g.node")) {
		const title = node.querySelector<SVGElement>("[data-name]")?.dataset["name"] ?? "";
		if (!title || !/^N\d+$/.test(node.dataset["node"] ?? "")) continue; // or it is a label
		const text = document.createElementNS(SVG, "title");
		text.textContent = title;
		node.prepend(text);
		node.setAttribute("tabindex", "0");
		node.setAttribute("role", "button");
		node.setAttribute("aria-pressed", "false");
		const name = functionOf(title, by);
		node.dataset["function"] = name;
		node.addEventListener("click", () => pane.dragged || toggle(node, name));
		node.addEventListener("keydown", (e) => {
			if (e.key !== "Enter" && e.key !== " ") return;
			e.preventDefault();
			toggle(node, name);
		});
	}
}

function onKey(pane: Pane, e: KeyboardEvent): void {
	const keys: Record<string, () => void> = {
		"+": () => pane.zoom(STEP), "=": () => pane.zoom(STEP), "-": () => pane.zoom(1 / STEP), "0": () => pane.fit(),
		ArrowLeft: () => pane.shift(-SHIFT, 0), ArrowRight: () => pane.shift(SHIFT, 0),
		ArrowUp: () => pane.shift(0, -SHIFT), ArrowDown: () => pane.shift(0, SHIFT),
	};
	const act = e.ctrlKey || e.metaKey || e.altKey ? undefined : keys[e.key];

	if (!act) return;
	e.preventDefault();
	act();
}

function draw(element: HTMLElement, drawing: Element): void {
	const svg = rebuild(drawing);

	if (!(svg instanceof SVGSVGElement)) throw new Error("this is no drawing");
	const pane = new Pane(svg);
	const choice = new Choice("");
	const button = (label: string, help: string, act: () => void) =>
		h("button", { type: "button", title: help, "aria-label": help, onclick: act }, label);

	svg.classList.add("graph");
	svg.setAttribute("role", "group");
	svg.setAttribute("aria-label", "Call graph; plus, minus, 0 and arrows zoom and move it");
	element.addEventListener("keydown", (e) => onKey(pane, e));
	makeChoosable(svg, pane, choice, element.dataset["by"] ?? "");
	element.replaceChildren(h("div", { class: "tools" },
		button("+", "Zoom in", () => pane.zoom(STEP)), button("−", "Zoom out", () => pane.zoom(1 / STEP)),
		button("Fit", "Fit: show all of it", () => pane.fit()), choice.bar),
		h("p", { class: "left" }, omissions(drawing)), svg);
	pane.fit();
}

export async function start(element: HTMLElement): Promise<void> {
	const note = h("p", { class: "note", role: "status" }, "Graphviz is drawing…");

	element.replaceChildren(note);
	try {
		const answer = await fetch(element.dataset["source"] ?? "");
		const text = await answer.text();
		if (!answer.ok) throw new Error(text);
		const page = new DOMParser().parseFromString(text, "image/svg+xml");
		draw(element, page.documentElement);
		addTrimmed(page);
	} catch (e) {
		note.textContent = e instanceof Error ? e.message : String(e);
	}
	element.dataset["ready"] = "true";
}
