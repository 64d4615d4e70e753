// flame-data.ts - what the server sent of a call tree, laid out
//
// SPDX-License-Identifier: Apache-2.0

export interface Place {
	id: number;
	name: string;
	label: string;
	hash: number;
	module: string;
	cut: boolean; // there is more of the name
}

/** src/render/flame-json.h says what is what. */
interface TreeData {
	up: boolean;
	trail: number;
	narrow: number;
	cut: number;
	place: number[];
	level: number[];
	from: number[];
	to: number[];
	value: number[];
	self: number[];
	text: string[];
	own: string[];
	callees: number[];
	hidden: number[];
	rest: number[];
	inlined: number[];
	more?: number[];
	less?: number[];
	before?: string[];
	after?: string[];
}

interface FlameData {
	total: number;
	text: string;
	compared: boolean;
	base: boolean;
	trees: TreeData[];
	places: {
		id: number[];
		name: string[];
		label: string[];
		hash: number[];
		module: string[];
		cut: number[];
	};
}

export const ROOT = -1;

/** How frames are told: by all names on the way to them.  The server does the same. */
function mix(hash: number, name: number): number {
	const h = Math.imul(hash ^ name, 0x9e3779b1) >>> 0;

	return (h ^ (h >>> 15)) >>> 0;
}

/** Frames are numbers: entries of columns, depth first. */
export class Tree {
	readonly n: number;
	readonly top: number; // the frame that is as wide as the window; those before it lead to it
	readonly width: Float64Array; // as a value
	readonly x: Float64Array; // from the left end of the top frame
	readonly caller: Int32Array;
	readonly path: Uint32Array;
	readonly rows: number[][] = []; // by level, from left to right
	readonly total: number; // width of the top frame

	constructor(readonly data: TreeData) {
		this.n = data.place.length;
		this.top = Math.min(data.trail, Math.max(0, this.n - 1));
		this.width = new Float64Array(this.n);
		this.x = new Float64Array(this.n);
		this.caller = new Int32Array(this.n).fill(-1);
		this.path = new Uint32Array(this.n);
		for (let i = 0; i < this.n; i++)
			this.width[i] = data.more ? data.more[i]! + data.less![i]! : Math.abs(data.value[i]!);
		this.total = this.n ? this.width[this.top]! : 0;
	}

	/** Callees are side by side from the left end of their caller. */
	layOut(hash: (place: number) => number): void {
		const last: number[] = [];
		const next = new Float64Array(this.n);

		for (let i = 0; i < this.n; i++) {
			const level = this.level(i);
			const caller = level ? last[level - 1]! : -1;

			this.caller[i] = caller;
			last[level] = i;
			if (level) this.path[i] = mix(this.path[caller]!, hash(this.place(i)));
			if (i > this.top) {
				this.x[i] = next[caller]!;
				next[caller]! += this.width[i]!;
			}
			next[i] = this.x[i]!;
			(this.rows[level] ??= []).push(i);
		}
	}

	place(i: number): number {
		return this.data.place[i]!;
	}

	level(i: number): number {
		return this.data.level[i]!;
	}

	/** How the URL says it: level, name and where it was last. */
	key(i: number): string {
		const hash = this.path[i]!.toString(16);

		return `${this.data.up ? "u" : ""}${this.level(i)}.${hash}.${this.data.from[i]}`;
	}

	/** Left end and width as shares of the window.  What leads to the top frame is as wide. */
	span(i: number): [number, number] {
		if (i <= this.top || this.total === 0) return [0, 1];
		return [this.x[i]! / this.total, this.width[i]! / this.total];
	}

	/** Frames that are drawn below this one. */
	callees(i: number): number[] {
		const row = this.rows[this.level(i) + 1] ?? [];
		let lo = 0, hi = row.length;

		while (lo < hi) {
			const mid = (lo + hi) >> 1;

			if (row[mid]! < i) lo = mid + 1;
			else hi = mid;
		}
		for (hi = lo; hi < row.length && this.caller[row[hi]!] === i; hi++);
		return row.slice(lo, hi);
	}

	/** The frame at a share of the window on this level; -1 where there is none. */
	at(level: number, share: number): number {
		const row = this.rows[level];
		let lo = 0, hi = row?.length ?? 0;

		while (lo < hi) {
			const mid = (lo + hi) >> 1;
			const [x, w] = this.span(row![mid]!);

			if (share < x) hi = mid;
			else if (share >= x + w) lo = mid + 1;
			else return row![mid]!;
		}
		return -1;
	}
}

/** One answer of the server. */
export class Sheet {
	readonly trees: Tree[];

	constructor(readonly data: FlameData, places: Map<number, Place>) {
		const p = data.places;
		const cut = new Set(p.cut);

		p.id.forEach((id, i) => {
			places.set(id, {
				id, name: p.name[i]!, label: p.label[i]!, hash: p.hash[i]!, module: p.module[i]!,
				cut: cut.has(id),
			});
		});
		this.trees = data.trees.map((t) => new Tree(t));
		for (const tree of this.trees) tree.layOut((id) => places.get(id)?.hash ?? 0);
	}

	get sandwich(): boolean {
		return this.trees.length > 1;
	}
}

export interface Found {
	functions: number;
	all: { value: number; text: string };
	here: { value: number; text: string };
	hits: string; // a hexadecimal digit for four places each
}

export function isHit(found: Found, place: number): boolean {
	const digit = found.hits.charCodeAt(place >> 2);

	if (place < 0 || Number.isNaN(digit)) return false;
	return ((digit < 58 ? digit - 48 : digit - 87) >> (place & 3) & 1) === 1;
}
