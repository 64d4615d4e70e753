// chart.ts - numbers over time, as lines
//
// SPDX-License-Identifier: Apache-2.0

import uPlot from "uplot";

import { onTheme } from "./switch";

export type Format = (value: number) => string;

const scales: Record<string, [number, string][]> = {
	bytes: [[2 ** 40, "TB"], [2 ** 30, "GB"], [2 ** 20, "MB"], [2 ** 10, "kB"], [1, "B"]],
	nanoseconds: [[3.6e12, "hrs"], [1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]],
};

/** 1.50MB, as the reports have it. */
export function formatIn(unit: string): Format {
	return (value) => {
		const [factor, name] = scales[unit]?.find(([f]) => Math.abs(value) >= f) ?? [1, ""];
		const scaled = value / factor;
		const number = Math.abs(scaled) < 1 ? String(Number(scaled.toPrecision(2))) : scaled.toFixed(2).replace(/\.?0+$/, "");
		return value === 0 ? "0" : number + name;
	};
}

/** Steps of an axis that are round numbers of the unit. */
function steps(unit: string): number[] {
	if (unit === "bytes") return Array.from({ length: 50 }, (_, i) => 2 ** i);
	const least = unit === "processors" ? -4 : 0; // there are no parts of the others
	return Array.from({ length: 45 }, (_, i) => Number(`${[1, 2, 5][i % 3]!}e${least + Math.floor(i / 3)}`));
}

export interface Line {
	label: string;
	/** The name of a CSS variable. */
	colour: string;
	dash?: number[];
}

/** Of 24 hours, as logs have it; with the day where another one begins. */
function times(zone: { timeZone?: string }): (_: uPlot, at: number[]) => string[] {
	return (_, at) => {
		let day = "";
		return at.map((seconds) => {
			const when = new Date(seconds * 1000);
			const parts = seconds % 60 ? {} : { hour: "2-digit", minute: "2-digit" } as const;
			const time = when.toLocaleTimeString("en-GB", { ...parts, ...zone });
			const date = when.toLocaleDateString("en-CA", zone);
			const text = date === day ? time : `${time}\n${date}`;
			day = date;
			return text;
		});
	};
}

function theme(element: Element): (name: string) => string {
	const style = getComputedStyle(element);
	return (name) => style.getPropertyValue(name).trim();
}

function seriesOf(line: Line, colour: () => string, format: Format): uPlot.Series {
	return {
		label: line.label,
		stroke: colour,
		width: 2,
		...(line.dash ? { dash: line.dash } : {}),
		spanGaps: true,
		value: (_, v) => (v == null ? "–" : format(v)),
	};
}

/** A chart that fills the width of 'element'; 'more' is anything else of uPlot's. */
export function chart(element: HTMLElement, lines: Line[], unit: string, data: uPlot.AlignedData,
	more: Partial<uPlot.Options> = {}, utc = false): uPlot {
	const format = formatIn(unit);
	const zone = utc ? { timeZone: "UTC" } : {};
	const pick = theme(element);
	const edge = { stroke: () => pick("--edge"), width: 1 };
	const axis = { stroke: () => pick("--pale"), grid: edge, ticks: edge };
	const height = 240;
	const { scales: _, ...rest } = more;
	const plot = new uPlot({
		width: Math.max(element.clientWidth, 200),
		height,
		scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] }, ...more.scales },
		axes: [{ ...axis, space: 70, values: times(zone) }, { ...axis, size: 76, incrs: steps(unit), values: (_, all) => all.map(format) }],
		series: [{ value: (_, v) => (v == null ? "–" : new Date(v * 1000).toLocaleString("en-CA", { hour12: false, ...zone })) }, ...lines.map((line) => seriesOf(line, () => pick(line.colour), format))],
		...(utc ? { tzDate: (ts: number) => uPlot.tzDate(new Date(ts * 1e3), "Etc/UTC") } : {}),
		...rest,
	}, data, element);
	onTheme(() => plot.redraw());
	new ResizeObserver(() => plot.setSize({ width: Math.max(element.clientWidth, 200), height })).observe(element);
	return plot;
}
