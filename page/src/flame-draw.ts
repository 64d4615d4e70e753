// flame-draw.ts - frames on a canvas
//
// The canvas is as large as what can be seen; what is scrolled away is not drawn.  So neither a deep
// stack nor a wide tree costs more than the window has pixels.
//
// SPDX-License-Identifier: Apache-2.0

import { type ColourBy, colourOf, colourOfChange, type Theme } from "./flame-colour";
import { type Found, isHit, type Place, ROOT, type Sheet, type Tree } from "./flame-data";

export const ROW = 20;
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const PADDING = 5;
const TEXT_FROM = 22; // pixels: a frame that is narrower has no text
const GAP_FROM = 3; // a frame that is narrower touches its neighbour
const HATCHED = 8; // what is left out is hatched if it is wider
const SEAM = 10; // between callers and callees

/** A frame of one of the trees. */
export interface Spot {
	tree: Tree;
	frame: number;
}

export interface Look {
	sheet: Sheet;
	places: Map<number, Place>;
	theme: Theme;
	by: ColourBy;
	changed: Set<string> | null; // functions that have changed beyond chance, if that is known
	flipped: boolean; // the root at the bottom
	found: Found | null;
	hover: Spot | null;
	focus: Spot | null; // where the keyboard is, if it is here
	window: [number, number]; // what is seen of the whole width: [0, 1] but while it moves
}

function isMoving(look: Look): boolean {
	return look.window[0] > 0 || look.window[1] < 1;
}

/** Which row a level of a tree is in, in pixels from the top of everything. */
export class Rows {
	private readonly above: number; // levels of callers
	private readonly below: number;
	readonly height: number;

	constructor(sheet: Sheet, private readonly flipped: boolean) {
		const deepest = (t: Tree | undefined) => Math.max(0, (t?.rows.length ?? 0) - 1);

		this.above = sheet.sandwich ? deepest(sheet.trees[1]) : 0;
		this.below = deepest(sheet.trees[0]);
		this.sandwich = sheet.sandwich;
		this.height = sheet.sandwich ? (this.above + this.below) * ROW + SEAM : (this.below + 1) * ROW;
	}

	readonly sandwich: boolean;

	/** Callers grow upwards from where callees begin; their common root is not drawn. */
	y(tree: Tree, level: number): number {
		if (!this.sandwich) return (this.flipped ? this.below - level : level) * ROW;
		return tree.data.up ? (this.above - level) * ROW : (this.above + level - 1) * ROW + SEAM;
	}

	level(tree: Tree, y: number): number {
		if (!this.sandwich) {
			const row = Math.floor(y / ROW);
			return this.flipped ? this.below - row : row;
		}
		if (tree.data.up) return y < this.above * ROW ? this.above - Math.floor(y / ROW) : -1;
		return y < this.above * ROW + SEAM ? -1 : Math.floor((y - this.above * ROW - SEAM) / ROW) + 1;
	}
}

/** How wide text is in the font of frames: sums of widths of characters, measured once each. */
class Measure {
	private readonly widths = new Map<string, number>();

	constructor(private readonly ctx: CanvasRenderingContext2D) {}

	private width(c: string): number {
		let w = this.widths.get(c);

		if (w === undefined) {
			w = this.ctx.measureText(c).width;
			this.widths.set(c, w);
		}
		return w;
	}

	/** The first of several names that fits, else the beginning of the last. */
	choose(names: string[], room: number): string {
		for (const name of names) if (this.cut(name, room) === name) return name;
		return this.cut(names.at(-1)!, room);
	}

	/** The beginning of 'text' that fits, with three dots if that is not all. */
	private cut(text: string, room: number): string {
		const dots = this.width("…");
		let used = 0, end = 0, cut = 0;

		for (const c of text) {
			used += this.width(c);
			if (used > room) return cut > 1 ? `${text.slice(0, cut)}…` : "";
			end += c.length;
			if (used + dots <= room) cut = end;
		}
		return text;
	}
}

/** Without arguments, package, receiver and namespaces, one after the other. */
export function shorten(label: string): string[] {
	const names = [label];
	const add = (name: string) => {
		if (name && name !== names.at(-1)) names.push(name);
		return names.at(-1)!;
	};
	let name = label;

	if (name.includes("::")) {
		name = add(name.replace(/\(.*\)( const)?$/, ""));
		while (/<[^<>]+>/.test(name)) name = name.replace(/<[^<>]+>/g, "");
		name = add(name);
		add(name.slice(name.lastIndexOf("::") + 2));
	} else {
		name = add(name.replace(/^[\w-]+\./, ""));
		add(name.replace(/^\(\*?[\w[\].…]+\)\.|^[A-Z]\w*\./, ""));
	}
	return names;
}

/** The first of a row that ends right of a share of the whole width. */
function firstVisible(tree: Tree, row: number[], from: number): number {
	let lo = 0, hi = row.length;

	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		const [x, w] = tree.span(row[mid]!);

		if (x + w < from) lo = mid + 1;
		else hi = mid;
	}
	return lo;
}

/** What is narrower than a pixel or two: dots that are put at once, which is faster than shapes. */
class Dots {
	private readonly canvas = document.createElement("canvas");
	private readonly ctx = this.canvas.getContext("2d")!;
	private readonly numbers = new Map<string, number>(); // of colours
	private image = new ImageData(1, 1);
	private dots = new Uint32Array(1);
	private lines: number[] = []; // where each is drawn
	private scale = 1;
	private first = 0;

	/** For 'rows' of a width; what has the colour 'first' hides what has another. */
	begin(width: number, rows: number, scale: number, first: string): void {
		const w = Math.max(1, Math.round(width * scale));

		if (this.image.width !== w || this.image.height < rows) {
			this.image = new ImageData(w, rows);
			this.dots = new Uint32Array(this.image.data.buffer);
			this.canvas.width = w;
			this.canvas.height = rows;
		} else {
			this.dots.fill(0);
		}
		this.lines = [];
		this.scale = scale;
		this.first = this.number(first);
	}

	/** The row that is 'y' pixels from the top: where its dots begin, or -1. */
	line(y: number): number {
		let at = this.lines.indexOf(y);

		if (at < 0 && this.lines.length < this.image.height) at = this.lines.push(y) - 1;
		return at < 0 ? -1 : at * this.image.width;
	}

	private number(colour: string): number {
		let number = this.numbers.get(colour);

		if (number === undefined) {
			const rgb = Number.parseInt(colour.slice(1), 16); // bytes of a dot are red, green, blue, alpha
			number = (0xff000000 | (rgb & 0xff) << 16 | (rgb & 0xff00) | rgb >> 16) >>> 0;
			this.numbers.set(colour, number);
		}
		return number;
	}

	put(line: number, left: number, right: number, colour: string): void {
		const from = Math.max(0, Math.round(left * this.scale - 0.25));
		const to = Math.min(this.image.width, Math.max(from + 1, Math.round(right * this.scale - 0.25)));
		const number = this.number(colour);

		if (line < 0) return;
		for (let i = line + from; i < line + to; i++)
			if (this.dots[i] !== this.first) this.dots[i] = number;
	}

	end(ctx: CanvasRenderingContext2D, width: number): void {
		this.ctx.putImageData(this.image, 0, 0);
		ctx.imageSmoothingEnabled = false;
		this.lines.forEach((y, at) =>
			ctx.drawImage(this.canvas, 0, at, this.image.width, 1, 0, y + 1, width, ROW - 1));
	}
}

export class Painter {
	private readonly ctx: CanvasRenderingContext2D;
	private readonly measure: Measure;
	private readonly dots = new Dots();
	private scale = 0; // pixels of the screen in one of CSS's
	private colours = new Map<number, string>();
	private coloursFor = "";
	private hatch: CanvasPattern | null = null;
	private hatchFor: Theme | null = null;

	constructor(readonly canvas: HTMLCanvasElement) {
		canvas.width = 0; // an opaque one is black until something is drawn
		this.ctx = canvas.getContext("2d", { alpha: false })!;
		this.ctx.font = FONT;
		this.measure = new Measure(this.ctx);
	}

	resize(width: number, height: number): void {
		const scale = window.devicePixelRatio || 1;
		const w = Math.max(1, Math.round(width * scale)), h = Math.max(1, Math.round(height * scale));

		if (this.canvas.width === w && this.canvas.height === h && this.scale === scale) return;
		this.scale = scale;
		this.canvas.width = w;
		this.canvas.height = h;
		this.canvas.style.width = `${width}px`;
		this.canvas.style.height = `${height}px`;
		this.ctx.setTransform(scale, 0, 0, scale, 0, 0);
		this.ctx.font = FONT;
		this.ctx.textBaseline = "middle";
		this.ctx.direction = "ltr";
		this.ctx.fontKerning = "none";
	}

	/** Draws what is between 'scroll' and the height of the canvas below it. */
	paint(look: Look, rows: Rows, width: number, height: number, scroll: number): void {
		const { ctx } = this;

		this.prepare(look);
		ctx.fillStyle = look.theme.paper;
		ctx.fillRect(0, 0, width, height);
		this.dots.begin(width, Math.ceil(height / ROW) + 5, this.scale, look.theme.hit);
		for (const tree of look.sheet.trees) {
			for (let level = rows.sandwich ? 1 : 0; level < tree.rows.length; level++) {
				const y = rows.y(tree, level) - scroll;

				if (y + ROW > 0 && y < height) this.paintRow(look, tree, level, y, width);
			}
		}
		this.dots.end(ctx, width);
		if (look.focus) this.outline(look, rows, look.focus, width, scroll, look.theme.focus, 3);
		if (look.hover) this.outline(look, rows, look.hover, width, scroll, look.theme.edge, 1.5);
	}

	private prepare(look: Look): void {
		const key = `${look.by} ${look.theme.dark}`;

		if (key !== this.coloursFor) {
			this.colours = new Map();
			this.coloursFor = key;
		}
		if (this.hatchFor !== look.theme) {
			this.hatch = this.makeHatch(look.theme);
			this.hatchFor = look.theme;
		}
	}

	private makeHatch(theme: Theme): CanvasPattern | null {
		const tile = document.createElement("canvas");
		const ctx = tile.getContext("2d")!;

		tile.width = tile.height = 6;
		ctx.fillStyle = theme.paper;
		ctx.fillRect(0, 0, 6, 6);
		ctx.strokeStyle = theme.rest;
		ctx.lineWidth = 1;
		ctx.beginPath();
		for (const d of [-6, 0, 6]) {
			ctx.moveTo(d, 6);
			ctx.lineTo(d + 6, 0);
		}
		ctx.stroke();
		return this.ctx.createPattern(tile, "repeat");
	}

	private colour(look: Look, tree: Tree, i: number): string {
		const id = tree.place(i);

		if (id === ROOT) return look.theme.root;
		if (look.by === "change" && look.changed?.has(look.places.get(id)?.name ?? "") === false)
			return colourOfChange(0, 0, look.theme);
		if (look.by === "change" && tree.data.more)
			return colourOfChange(tree.data.more[i]!, tree.data.less![i]!, look.theme);
		let colour = this.colours.get(id);
		if (!colour) {
			colour = colourOf(look.places.get(id)!, look.by, look.theme);
			this.colours.set(id, colour);
		}
		return colour;
	}

	/** Left end and right end in pixels. */
	private edges(look: Look, tree: Tree, i: number, width: number): [number, number] {
		const [x, w] = tree.span(i);
		const [from, to] = look.window;
		const scale = width / (to - from);

		return [(x - from) * scale, (x + w - from) * scale];
	}

	private paintRow(look: Look, tree: Tree, level: number, y: number, width: number): void {
		const row = tree.rows[level]!;
		const [from, to] = look.window;
		const scale = width / (to - from);
		const total = tree.total || 1;
		const narrow = isMoving(look) ? 4 : 1;
		const below = tree.data.up || (look.flipped && !look.sheet.sandwich) ? y - ROW : y + ROW;
		const line = this.dots.line(y);

		for (let k = firstVisible(tree, row, from); k < row.length; k++) {
			const i = row[k]!;
			const led = i <= tree.top;
			const left = ((led ? 0 : tree.x[i]! / total) - from) * scale;
			const right = left + (led ? 1 : tree.width[i]! / total) * scale;

			if (left > width) break;
			if (right - left < narrow) this.dots.put(line, left, right, this.fill(look, tree, i));
			else this.paintFrame(look, tree, i, Math.max(0, left), Math.min(width, right), y);
			if (tree.data.hidden[i]! > 0 && i >= tree.top)
				this.paintRest(look, tree, i, below, width);
		}
	}

	private fill(look: Look, tree: Tree, i: number): string {
		if (!look.found) return this.colour(look, tree, i);
		return isHit(look.found, tree.place(i)) ? look.theme.hit : look.theme.pale;
	}

	private paintFrame(look: Look, tree: Tree, i: number, left: number, right: number, y: number): void {
		const { ctx } = this;
		const wide = right - left;
		const gap = wide > GAP_FROM ? 1 : wide > 1 ? 0.4 : 0;
		const top = tree.data.inlined[i] && !look.flipped ? 0 : 1; // nothing between it and its caller
		const searching = look.found !== null;
		const hit = searching && isHit(look.found!, tree.place(i));

		ctx.fillStyle = this.fill(look, tree, i);
		ctx.fillRect(left, y + top, Math.max(wide - gap, 0.5), ROW - top);
		if (i < tree.top) { // what leads to the top frame
			ctx.globalAlpha = 0.45;
			ctx.fillStyle = look.theme.paper;
			ctx.fillRect(left, y + top, wide - gap, ROW - top);
			ctx.globalAlpha = 1;
		}
		if (hit && wide > 4) {
			ctx.fillStyle = look.theme.hitEdge;
			ctx.fillRect(left, y + ROW - 2, wide - gap, 2);
		}
		if (look.hover && look.hover.tree.place(look.hover.frame) === tree.place(i) && wide > 1) {
			ctx.strokeStyle = look.theme.edge;
			ctx.lineWidth = 1;
			ctx.strokeRect(left + 0.5, y + top + 0.5, Math.max(wide - gap - 1, 0.5), ROW - top - 1);
		}
		if (wide >= (isMoving(look) ? 2 * TEXT_FROM : TEXT_FROM)) {
			ctx.fillStyle = searching && !hit ? look.theme.paleInk : look.theme.ink;
			this.paintText(look, tree, i, left + PADDING, y + ROW / 2 + 1, wide - gap - 2 * PADDING);
		}
	}

	private paintText(look: Look, tree: Tree, i: number, x: number, y: number, room: number): void {
		const place = look.places.get(tree.place(i));
		const names = place ? this.shorter(place) : ["root"];
		// The sign and number of a change come first: they are there even if the name is cut.
		const text = this.measure.choose(
			tree.data.more ? names.map((n) => `${tree.data.text[i]} ${n}`) : names, room);

		if (text) this.ctx.fillText(text, x, y);
	}

	private readonly names = new Map<number, string[]>();

	/** A label, and shorter ones for narrow frames. */
	private shorter(place: Place): string[] {
		let names = this.names.get(place.id);

		if (!names) {
			names = shorten(place.label);
			this.names.set(place.id, names);
		}
		return names;
	}

	/** Callees that are too narrow, together, at the right of those that are drawn. */
	private paintRest(look: Look, tree: Tree, i: number, y: number, width: number): void {
		const [from, to] = look.window;
		const scale = width / (to - from);
		const wide = (tree.data.rest[i]! / tree.total) * scale;

		if (wide < 0.5) return;
		const shown = tree.rows[tree.level(i) + 1]?.length ? this.shownWidth(tree, i) : 0;
		const left = (tree.span(i)[0] + shown / tree.total - from) * scale;

		if (left > width || left + wide < 0) return;
		if (wide <= HATCHED || !this.hatch) {
			this.dots.put(this.dots.line(y), left, left + wide, look.theme.pale);
			return;
		}
		this.ctx.fillStyle = this.hatch;
		this.ctx.fillRect(Math.max(0, left), y + 1, Math.min(wide, width) - 1, ROW - 1);
	}

	private readonly widths = new WeakMap<Tree, Float64Array>();

	/** Width of the callees of a frame that are drawn. */
	shownWidth(tree: Tree, i: number): number {
		let sums = this.widths.get(tree);

		if (!sums) {
			sums = new Float64Array(tree.n);
			for (let k = tree.top + 1; k < tree.n; k++) sums[tree.caller[k]!]! += tree.width[k]!;
			this.widths.set(tree, sums);
		}
		return sums[i]!;
	}

	private outline(look: Look, rows: Rows, spot: Spot, width: number, scroll: number, colour: string,
		line: number): void {
		const y = rows.y(spot.tree, spot.tree.level(spot.frame)) - scroll;
		const [left, right] = this.edges(look, spot.tree, spot.frame, width);

		this.ctx.strokeStyle = colour;
		this.ctx.lineWidth = line;
		this.ctx.strokeRect(left + line / 2, y + line / 2, Math.max(right - left - line, 1), ROW - line);
	}
}
