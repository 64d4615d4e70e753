// flame-colour.ts - the colours of frames
//
// All frames of a theme are equally light, so that the text on any of them has the same contrast:
// at least 5:1.  Change goes from blue over grey to orange, since red and green look the same to one
// man in twelve, and comes with a sign in the text.
//
// SPDX-License-Identifier: Apache-2.0

import type { Place } from "./flame-data";

export type ColourBy = "package" | "function" | "change";

export interface Theme {
	dark: boolean;
	paper: string;
	ink: string; // text on frames
	pale: string; // frames that are not what was searched for
	paleInk: string;
	root: string;
	hit: string;
	hitEdge: string;
	edge: string; // around the frame under the pointer
	focus: string;
	rest: string; // hatching of what is too narrow
	steps: string[]; // of change, from less to more
}

const light: Theme = {
	dark: false, paper: "#ffffff", ink: "#15181c", pale: "#e9ebee", paleInk: "#4b5159", root: "#d9dde2",
	hit: "#ffd83d", hitEdge: "#7a5b00", edge: "#15181c", focus: "#0b57a4", rest: "#8a929b",
	steps: ["#4f9dd9", "#86bde6", "#b3d6f0", "#d6e9f6", "#e3e3e3", "#fbe6cc", "#fbcf9c", "#f7b267", "#ee902e"],
};

const dark: Theme = {
	dark: true, paper: "#1a1d21", ink: "#f4f6f8", pale: "#2c3036", paleInk: "#b4bbc3", root: "#3b4149",
	hit: "#7d6200", hitEdge: "#ffd83d", edge: "#ffffff", focus: "#8ec5ff", rest: "#78818b",
	steps: ["#1c6299", "#255578", "#2b485d", "#323e48", "#3b3e42", "#4a4034", "#60462a", "#78491a", "#8f4c00"],
};

export function theme(isDark: boolean): Theme {
	return isDark ? dark : light;
}

function hashText(s: string): number {
	let hash = 2166136261;

	for (let i = 0; i < s.length; i++) hash = Math.imul(hash ^ s.charCodeAt(i), 16777619);
	return (hash ^ (hash >>> 13)) >>> 0;
}

const GOLDEN = 0.61803398875;

function hue(hash: number): number {
	return Math.round(((hash % 65536) * GOLDEN % 1) * 360);
}

const hues = new Map<string, number>(); // of packages
const made = new Map<number, string>(); // there are far fewer colours than functions

/** The hue is the package's (or the function's), the shade the function's: the same in every run. */
export function colourOf(place: Place, by: ColourBy, t: Theme): string {
	const angle = by === "package" ? hueOf(place.module) : hue(place.hash);
	const shade = (place.hash >>> 8) % 3;
	const key = (angle * 3 + shade) * 2 + Number(t.dark);
	let colour = made.get(key);

	if (!colour) {
		colour = t.dark ? fromOklch(0.4 + 0.025 * shade, 0.07, angle) : fromOklch(0.84 + 0.028 * shade, 0.085, angle);
		made.set(key, colour);
	}
	return colour;
}

function hueOf(module: string): number {
	let angle = hues.get(module);

	if (angle === undefined) {
		angle = hue(hashText(module));
		hues.set(module, angle);
	}
	return angle;
}

/** "#rrggbb" of CSS's oklch(), which canvases would read again for every frame. */
function fromOklch(lightness: number, chroma: number, angle: number): string {
	const a = chroma * Math.cos(angle * Math.PI / 180), b = chroma * Math.sin(angle * Math.PI / 180);
	const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
	const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
	const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
	const part = (v: number) => {
		const light = v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055;
		return Math.round(255 * Math.min(1, Math.max(0, light))).toString(16).padStart(2, "0");
	};

	return "#" + part(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s) +
		part(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s) +
		part(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s);
}

/** As a share of both together: what 2 %, 10 %, 50 % and 200 % more than before come to. */
const LEAST = [0.01, 0.048, 0.2, 0.5];

export function stepOf(more: number, less: number): number {
	const change = more + less > 0 ? (more - less) / (more + less) : 0;
	const step = LEAST.filter((l) => Math.abs(change) >= l).length;

	return change < 0 ? -step : step;
}

export function colourOfChange(more: number, less: number, t: Theme): string {
	return t.steps[stepOf(more, less) + LEAST.length]!;
}
