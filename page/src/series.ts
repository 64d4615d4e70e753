// series.ts - profiles over time: lines to look at, and to choose from
//
// The forms work by themselves.  What is dragged over a chart goes into their fields.
//
// SPDX-License-Identifier: Apache-2.0

import type uPlot from "uplot";

import { chart } from "./chart";
import { h } from "./dom";

interface Line {
	kind: string;
	type: string;
	unit: string;
	judged: boolean;
	points: [seconds: number, value: number, duration: number][];
}

interface Series {
	unread: number;
	lines: Line[];
}

/** "2020-10-01T22:08:40": what a field for times holds. */
const fieldText = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 19);
const shownText = (seconds: number): string => fieldText(seconds).replace("T", " ");

/** Time that took place during a time is shown as how much of it: 0.5 is half a processor. */
function isRate(line: Line): boolean {
	return line.unit === "nanoseconds" && line.points.some(([, , duration]) => duration > 0);
}

function dataOf(line: Line): uPlot.AlignedData {
	const rate = isRate(line);
	const values = line.points.map(([, value, duration]) =>
		value < 0 ? null : rate ? (duration > 0 ? value / duration : null) : value);

	return [line.points.map((p) => p[0]), values];
}

class Chart {
	private plot: uPlot | null = null;
	private line: Line | null = null;
	private chosen: [number, number] | null = null;
	private readonly said = h("p", { class: "span", "aria-live": "polite" },
		"Drag over the chart to choose a range, or click on a moment.");
	private readonly asBefore = h("button", { type: "button", onclick: () => this.fill("x1", "x2") }, "Mark as before");
	private readonly asAfter = h("button", { type: "button", onclick: () => this.fill("y1", "y2") }, "Mark as after");

	constructor(private readonly section: HTMLElement) {
		section.querySelector("form.form-open")?.before(this.said);
		section.querySelector("form.form-open")?.append(this.asBefore, this.asAfter);
	}

	private field(name: string): HTMLInputElement | null {
		return this.section.querySelector(`input[name="${name}"]`);
	}

	private fill(from: string, to: string): void {
		for (const [name, source] of [[from, "a"], [to, "b"]] as const) {
			const field = this.field(name);
			if (field) field.value = this.field(source)?.value ?? "";
		}
	}

	/** The moments of a range, or the one that is nearest where there is none. */
	private choose(from: number, to: number): void {
		const at = this.line?.points.map((p) => p[0]) ?? [];
		let inside = at.filter((t) => t >= from && t <= to);

		if (!inside.length && at.length)
			inside = [at.reduce((best, t) => (Math.abs(t - from) < Math.abs(best - from) ? t : best))];
		if (!inside.length) return;
		this.chosen = [inside[0]!, inside.at(-1)!];
		const [first, last] = this.chosen;
		const [a, b] = [this.field("a"), this.field("b")];
		if (a) a.value = fieldText(first);
		if (b) b.value = fieldText(last);
		this.said.textContent = inside.length === 1 ? `Chosen: ${shownText(first)}`
			: `Chosen: ${inside.length} profiles from ${shownText(first)} to ${shownText(last)}`;
		this.section.dataset["chosen"] = String(inside.length);
	}

	private options(): Partial<uPlot.Options> {
		return {
			cursor: { drag: { x: true, y: false, setScale: false } },
			hooks: {
				setSelect: [(u) => {
					if (u.select.width > 2)
						this.choose(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
				}],
				ready: [(u) => u.over.addEventListener("click", () => {
					const at = u.cursor.left ?? -1;
					if (at >= 0 && u.select.width <= 2) this.choose(u.posToVal(at, "x"), u.posToVal(at, "x"));
				})],
			},
		};
	}

	show(line: Line): void {
		const element = this.section.querySelector<HTMLElement>(".chart");
		const rate = isRate(line);

		this.line = line;
		if (!element || !line.unit) return;
		if (!this.plot) {
			const label = rate ? `${line.type}, as processors` : line.type;
			element.setAttribute("role", "img");
			element.setAttribute("aria-label", `${label} over time`);
			this.plot = chart(element, [{ label, colour: "--less" }], rate ? "processors" : line.unit, dataOf(line),
				this.options(), true);
		} else {
			this.plot.setData(dataOf(line));
		}
		this.section.dataset["points"] = String(line.points.filter((p) => p[1] >= 0).length);
	}
}

/** What the server has of what grows, in place of what is here. */
async function replaceGrowth(element: HTMLElement): Promise<void> {
	const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
	const fresh = page.querySelector(".growth");
	const old = element.querySelector(".growth");

	if (fresh && old) old.replaceWith(document.adoptNode(fresh));
	element.dataset["judged"] = "true";
}

export function start(element: HTMLElement): void {
	const charts = new Map<string, Chart>();
	const reading = document.querySelector(".reading");
	let unread = -1;

	for (const section of element.querySelectorAll<HTMLElement>(".line"))
		charts.set(section.dataset["kind"] ?? "", new Chart(section));
	const look = async (): Promise<void> => {
		const answer = await fetch(`./series.json${location.search}`);
		if (!answer.ok) return;
		const series = (await answer.json()) as Series;
		for (const line of series.lines) charts.get(line.kind)?.show(line);
		if (reading) reading.textContent = series.unread ? `${series.unread} profiles are still being read.` : "";
		if (series.unread === 0 && unread !== 0) await replaceGrowth(element);
		unread = series.unread;
		element.dataset["ready"] = "true";
	};
	const again = (): void => void look().catch(() => undefined).finally(() => setTimeout(again, unread ? 700 : 10_000));
	again();
}
