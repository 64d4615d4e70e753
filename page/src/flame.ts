// flame.ts - the flame graph: from the address of the page to a picture, and back
//
// The server merges the stacks and sends what this window can show; zooming asks for more.
//
// SPDX-License-Identifier: Apache-2.0

import { bdi, h } from "./dom";
import { type ColourBy, theme } from "./flame-colour";
import { type Found, isHit, type Place, ROOT, Sheet, type Tree } from "./flame-data";
import { type Look, Painter, ROW, Rows, type Spot } from "./flame-draw";
import { type Action, openHelp, openMenu } from "./flame-menu";
import { facts, Outline, spoken } from "./flame-outline";
import { ask, blank, quoted, read, type State, syncLinks, write } from "./flame-state";
import { Tip } from "./flame-tip";
import { counted, percent } from "./numbers";
import { isDark, onTheme } from "./switch";

const LEAST_HEIGHT = 260; // of the picture, in pixels
const ZOOM_MS = 130;
const TYPING_MS = 150;
const KEPT = 24; // answers
const CRUMBS = 4; // shown of those that lead to the top frame

const still = matchMedia("(prefers-reduced-motion: reduce)");

class View {
	private readonly embedded: boolean; // one of several: the address is not about it
	private readonly extra: Record<string, string>; // parameters of its own
	private readonly pair: HTMLElement | null; // of two that are looked at together
	private changed: Set<string> | null = null;
	private state: State;
	private sheet: Sheet | null = null;
	private rows: Rows | null = null;
	private found: Found | null = null;
	private hover: Spot | null = null;
	private current: Spot | null = null; // where the keyboard is
	private window: [number, number] = [0, 1];
	private readonly places = new Map<number, Place>();
	private readonly kept = new Map<string, Sheet>();
	private loading: AbortController | null = null;
	private searching: AbortController | null = null;
	private typing = 0;
	private drawing = 0;
	private drawn: [width: number, height: number, top: number] = [0, 0, 0];
	private width = 0;
	private room = 0; // how high the picture can be: as high as the canvas, to resize it is slow

	private readonly search = h("input", { type: "search", placeholder: "Search: regular expression",
		"aria-label": "Search functions", autocomplete: "off", spellcheck: "false", maxlength: 2000 });
	private readonly matches = h("output", { class: "flame-matches", "aria-live": "polite" });
	private readonly order = h("button", { type: "button", "aria-pressed": "false" }, "Root at the bottom");
	private readonly colours = h("select", {});
	private readonly reset = h("button", { type: "button" }, "Reset zoom");
	private readonly crumbs = h("nav", { class: "flame-crumbs", "aria-label": "Frames above" });
	private readonly detail = h("p", { class: "flame-detail" });
	private readonly problem = h("p", { class: "flame-problem", role: "alert" });
	private readonly note = h("p", { class: "flame-note" });
	private readonly legend = h("p", { class: "flame-legend", hidden: true });
	private readonly live = h("div", { class: "flame-live", "aria-live": "polite" });
	private readonly tip = new Tip();
	private readonly canvas = h("canvas", { "aria-hidden": "true" });
	private readonly space = h("div", { class: "flame-space" }, this.canvas);
	private readonly scroller = h("div", { class: "flame-scroll" }, this.space);
	private readonly painter = new Painter(this.canvas);
	private readonly outline = new Outline((spot) =>
		spoken(spot.tree, spot.frame, this.nameOf(spot), this.sheet?.data.total ?? 0));

	constructor(private readonly root: HTMLElement) {
		this.embedded = root.dataset["embedded"] !== undefined;
		this.pair = root.closest<HTMLElement>(".pair");
		this.pair?.addEventListener("looked", (e) => void this.follow(e as Parameters<View["follow"]>[0]));
		this.extra = Object.fromEntries(new URLSearchParams(root.dataset["query"] ?? ""));
		this.state = this.embedded ? { ...blank } : read();
		const what = root.dataset["label"];
		if (what) this.crumbs.setAttribute("aria-label", `Frames above, ${what}`);
		this.scroller.append(this.outline.element);
		for (const [value, text] of [["package", "by package"], ["function", "by function"], ["change", "by change"]])
			this.colours.append(h("option", { value: value! }, text!));
		root.replaceChildren(
			h("div", { class: "flame-bar" }, this.search, this.matches,
				h("span", { class: "flame-tools" },
					h("label", { class: "flame-colours" }, h("span", {}, "Colour"), this.colours), this.order, this.reset,
					h("button", { type: "button", "aria-label": "Keys and help", onclick: () => this.help() }, "?"))),
			this.crumbs, this.problem,
			h("div", { class: "flame-box" }, this.scroller),
			this.detail, this.legend, this.note, this.live, this.tip.element);
		this.listen();
	}

	// ------------------------------------------------------------------ what is shown

	private nameOf(spot: Spot): string {
		const place = this.places.get(spot.tree.place(spot.frame));

		if (place) return place.name;
		return spot.tree.place(spot.frame) === ROOT ? "root" : "(no name)";
	}

	private get by(): ColourBy {
		return this.state.by || (this.sheet?.data.compared ? "change" : "package");
	}

	private look(): Look {
		return {
			sheet: this.sheet!, places: this.places, theme: theme(isDark()), by: this.by,
			changed: this.changed, flipped: this.state.flipped, found: this.found, hover: this.hover,
			focus: this.outline.hasFocus ? this.current : null, window: this.window,
		};
	}

	private draw(): void {
		if (this.drawing) return;
		this.drawing = requestAnimationFrame(() => this.drawNow());
	}

	private drawNow(): void {
		cancelAnimationFrame(this.drawing);
		this.drawing = 0;
		if (!this.sheet || !this.rows) return;
		const { clientHeight, scrollTop } = this.scroller;

		this.painter.resize(this.width, Math.max(this.room, clientHeight));
		this.painter.paint(this.look(), this.rows, this.width, clientHeight, scrollTop);
		this.drawn = [this.width, clientHeight, scrollTop];
	}

	/** Unless what can be seen is what was drawn last: events tell of what this page did itself. */
	private drawMoved(): void {
		const { clientHeight, scrollTop } = this.scroller;
		const [width, height, top] = this.drawn;

		if (width !== this.width || height !== clientHeight || top !== scrollTop) this.drawNow();
	}

	/** As high as the window leaves room for, and no higher than the picture. */
	private fitHeight(): void {
		const top = this.scroller.getBoundingClientRect().top + scrollY;
		const wanted = Math.max(ROW * 4, this.rows?.height ?? 0);

		this.room = Math.floor(Math.max(LEAST_HEIGHT, innerHeight - top - 96));
		this.scroller.style.height = `${Math.min(this.room, wanted)}px`;
		this.space.style.height = `${wanted}px`;
		this.width = this.scroller.clientWidth;
	}

	private show(sheet: Sheet, focus = false): void {
		this.sheet = sheet;
		this.rows = new Rows(sheet, this.state.flipped);
		this.window = [0, 1];
		this.hover = null;
		this.tip.hide();
		const tree = sheet.trees.find((t) => t.top > 0) ?? sheet.trees[0]!;
		this.current = tree.n ? { tree, frame: this.first(tree) } : null;
		this.showCrumbs();
		this.showNote();
		this.showControls();
		this.fitHeight();
		this.scrollToTop();
		if (this.current) this.outline.show(this.current, focus);
		this.drawNow();
		this.root.dataset["ready"] = this.state.zoom || "all";
	}

	/** The frame that stands for what is shown: of callers and callees, the function itself. */
	private first(tree: Tree): number {
		return this.sheet!.sandwich && tree.top === 0 && tree.n > 1 ? 1 : tree.top;
	}

	private scrollToTop(): void {
		if (!this.rows || !this.current) return;
		const y = this.rows.y(this.current.tree, this.current.tree.level(this.current.frame));
		const height = this.scroller.clientHeight;

		if (this.rows.sandwich) this.scroller.scrollTop = y - height / 2;
		else if (this.state.flipped) this.scroller.scrollTop = y - height + 4 * ROW;
		else this.scroller.scrollTop = y - 3 * ROW;
	}

	private showControls(): void {
		const { data } = this.sheet!;

		this.colours.value = this.by;
		this.colours.querySelector<HTMLOptionElement>("[value=change]")!.hidden = !data.compared;
		this.order.setAttribute("aria-pressed", String(this.state.flipped));
		this.order.disabled = this.sheet!.sandwich;
		this.reset.disabled = !this.state.zoom && !this.state.pivot;
		this.reset.textContent = this.state.pivot && !this.state.zoom ? "Leave callers and callees" : "Reset zoom";
		this.search.value ||= this.state.search;
		this.showLegend();
	}

	private showLegend(): void {
		const { data } = this.sheet!;
		const steps = theme(isDark()).steps;

		this.legend.hidden = this.by !== "change" || !data.compared;
		if (this.legend.hidden) return;
		const swatches = steps.map((colour) => {
			const swatch = h("i", { "aria-hidden": "true" });
			swatch.style.background = colour;
			return swatch;
		});
		this.legend.replaceChildren(data.base ? "less than the base " : "shrunk ", ...swatches,
			data.base ? " more than the base" : " grown",
			this.changed ? "; grey may be chance" : "");
	}

	private showNote(): void {
		const { data, trees } = this.sheet!;
		const frames = trees.reduce((n, t) => n + t.n - t.top, 0);
		const narrow = trees.reduce((n, t) => n + t.data.narrow, 0);

		if (!trees[0]!.n) {
			this.note.textContent = "There are no samples with a value to show.";
			return;
		}
		const { text, value } = trees[0]!.data, top = trees[0]!.top;
		this.note.textContent = `${text[top]} (${percent(value[top]!, data.total)}) of ${data.text} in ${counted(frames, "frame")}` +
			(narrow ? `; ${counted(narrow, "callee")} narrower than half a pixel left out (grey): zoom in to see them.` : ".");
	}

	private showCrumbs(): void {
		const sheet = this.sheet!;
		const tree = sheet.trees.find((t) => t.top > 0) ?? sheet.trees[0]!;
		const list = h("ol", {});
		const crumb = (text: string, go: (() => void) | null, title?: string) => list.append(h("li", {},
			go ? h("button", { type: "button", onclick: go, title }, bdi(text)) : h("span", { "aria-current": "true", title }, bdi(text))));

		if (this.state.pivot) crumb("all", () => this.go({ pivot: "", zoom: "" }));
		const from = Math.max(1, tree.top - CRUMBS + 1);
		for (let i = 0; i <= tree.top && i < tree.n; i++) {
			const spot = { tree, frame: i };
			const name = this.labelOf(spot);

			if (i > 0 && i < from) {
				if (i === 1) list.append(h("li", { class: "flame-more" }, "…"));
				continue;
			}
			crumb(name, i < tree.top ? () => this.zoom(spot) : null, this.nameOf(spot).slice(0, 400));
		}
		this.crumbs.replaceChildren(list);
	}

	private labelOf(spot: Spot): string {
		if (spot.frame === 0 && this.state.pivot) return `callers and callees of ${this.state.pivot.slice(0, 80)}`;
		return this.places.get(spot.tree.place(spot.frame))?.label ?? "root";
	}

	// ------------------------------------------------------------------ from the server

	private async load(): Promise<Sheet | null> {
		const { zoom, pivot } = this.state;
		const px = String(Math.max(320, Math.round(this.width)));
		const key = JSON.stringify([zoom, pivot, px]);
		const had = this.kept.get(key);

		this.loading?.abort();
		if (had) return had;
		this.loading = new AbortController();
		try {
			const answer = await ask("flame.json", { ...this.extra, z: zoom, p: pivot, px }, this.loading.signal);
			const sheet = new Sheet(await answer.json(), this.places);

			this.problem.textContent = "";
			if (this.kept.size >= KEPT) this.kept.delete(this.kept.keys().next().value!);
			this.kept.set(key, sheet);
			return sheet;
		} catch (e) {
			if ((e as Error).name !== "AbortError") this.problem.textContent = (e as Error).message;
			return null;
		}
	}

	private remember(step: boolean): void {
		const { zoom, pivot, search } = this.state;

		if (!this.embedded) write(this.state, step);
		this.pair?.dispatchEvent(new CustomEvent("looked", { detail: { by: this, zoom, pivot, search } }));
	}

	/** What the other of a pair looks at, unless they are not to go together. */
	private async follow(e: CustomEvent<{ by: View } & Pick<State, "zoom" | "pivot" | "search">>): Promise<void> {
		const { by, zoom, pivot, search } = e.detail;
		const had = this.state;

		if (by === this || this.pair?.dataset["apart"] !== undefined) return;
		this.state = { ...had, zoom, pivot, search };
		this.search.value = search;
		if (had.zoom !== zoom || had.pivot !== pivot) await this.refresh(false);
		else if (had.search !== search) await this.find();
	}

	/** What has not changed beyond chance is grey, as soon as that is known. */
	private async judge(): Promise<void> {
		const from = this.root.dataset["verdicts"];

		if (!from) return;
		const answer = await fetch(from, { credentials: "same-origin" });
		if (!answer.ok) return;
		const told = (await answer.json()) as { functions: { name: string }[] };
		this.changed = new Set(told.functions.map((f) => f.name));
		this.root.dataset["judged"] = String(this.changed.size);
		if (this.sheet) this.showLegend();
		this.draw();
	}

	async start(): Promise<void> {
		this.fitHeight();
		this.search.value = this.state.search;
		if (!this.embedded) syncLinks(this.state);
		void this.judge();
		const sheet = await this.load();
		if (sheet) this.show(sheet);
		if (this.state.search) await this.find();
	}

	/** Changes what is shown, and says so in the address. */
	private async go(change: Partial<State>, focus = this.outline.hasFocus): Promise<void> {
		this.state = { ...this.state, ...change };
		this.remember(true);
		await this.refresh(focus);
	}

	private async refresh(focus: boolean): Promise<void> {
		const sheet = await this.load();

		if (!sheet) return;
		this.show(sheet, focus);
		this.announce();
		if (this.state.search) void this.find();
	}

	private announce(): void {
		if (!this.current) return;
		this.live.textContent = `Shown: ${spoken(this.current.tree, this.current.frame, this.nameOf(this.current), this.sheet!.data.total)}`;
	}

	// ------------------------------------------------------------------ zoom

	private async zoom(spot: Spot, focus = this.outline.hasFocus): Promise<void> {
		const { tree, frame } = spot;
		const inwards = frame > tree.top;

		this.tip.hide();
		this.state = { ...this.state, zoom: tree.level(frame) ? tree.key(frame) : "" };
		this.remember(true);
		const old = this.sheet;
		const moved = inwards ? this.move([0, 1], tree.span(frame), old) : null;
		const [sheet] = await Promise.all([this.load(), moved]);
		if (this.sheet !== old) return;
		if (!sheet) {
			this.focusOn(spot, focus);
			return;
		}
		this.show(sheet, focus);
		this.announce();
		if (!inwards) void this.moveOut(tree);
		if (this.state.search) void this.find();
	}

	/** From what was the top frame before to all of it. */
	private moveOut(was: Tree): Promise<void> | null {
		const sheet = this.sheet!;

		for (const tree of sheet.trees) {
			const at = tree.rows[was.level(was.top)]?.find((i) => tree.path[i] === was.path[was.top]);

			if (tree.data.up === was.data.up && at !== undefined) {
				const [x, w] = tree.span(at);
				return this.move([x, x + w], [0, 1], sheet);
			}
		}
		return null;
	}

	/** Moves the window; from [x, x + w] to one, or to a frame's span. */
	private move(from: [number, number], to: [number, number], sheet: Sheet | null): Promise<void> {
		const end: [number, number] = to[0] === 0 && to[1] === 1 ? to : [to[0], to[0] + to[1]];

		if (still.matches) return Promise.resolve();
		return new Promise((done) => {
			const begun = performance.now();
			const step = (now: number) => {
				const t = Math.min(1, Math.max(0, (now - begun) / ZOOM_MS));
				const s = 1 - (1 - t) ** 3;

				if (this.sheet !== sheet) return done();
				this.window = [from[0] + (end[0] - from[0]) * s, from[1] + (end[1] - from[1]) * s];
				if (t > 0) this.drawNow();
				if (t < 1) requestAnimationFrame(step);
				else done();
			};
			requestAnimationFrame(step);
		});
	}

	private zoomOut(): void {
		const tree = this.sheet?.trees.find((t) => t.top > 0);

		if (tree) void this.zoom({ tree, frame: tree.caller[tree.top]! });
		else if (this.state.pivot) void this.go({ pivot: "", zoom: "" });
		else if (this.state.search) this.clearSearch();
	}

	// ------------------------------------------------------------------ search

	private async find(): Promise<void> {
		const pattern = this.state.search;

		this.searching?.abort();
		if (!pattern) {
			this.found = null;
			this.matches.textContent = "";
			this.search.removeAttribute("aria-invalid");
			this.draw();
			return;
		}
		this.searching = new AbortController();
		try {
			const answer = await ask("flame-search.json", { ...this.extra, q: pattern, z: this.state.zoom, p: this.state.pivot },
				this.searching.signal);
			const found = await answer.json() as Found | { error: string };
			if ("error" in found) throw new Error(found.error);
			this.found = found;
			this.search.removeAttribute("aria-invalid");
			this.showFound(this.found);
		} catch (e) {
			if ((e as Error).name === "AbortError") return;
			this.found = null;
			this.matches.textContent = (e as Error).message;
			this.search.setAttribute("aria-invalid", "true");
		}
		this.draw();
	}

	private showFound(f: Found): void {
		const total = this.sheet?.data.total ?? 0;
		const here = this.state.zoom && !this.state.pivot && this.sheet ? this.sheet.trees[0]! : null;

		this.matches.textContent = f.functions === 0 ? "no function matches" :
			`${counted(f.functions, "function")}: ${f.all.text} (${percent(f.all.value, total)})` +
			(here ? `; ${percent(f.here.value, here.data.value[here.top]!)} of what is shown` : "");
	}

	private typed(): void {
		clearTimeout(this.typing);
		this.typing = window.setTimeout(() => {
			this.state = { ...this.state, search: this.search.value };
			this.remember(false);
			void this.find();
		}, TYPING_MS);
	}

	private clearSearch(): void {
		clearTimeout(this.typing);
		this.search.value = "";
		this.state = { ...this.state, search: "" };
		this.remember(false);
		void this.find();
	}

	private nextMatch(step: number): void {
		const { found, sheet } = this;

		if (!found || !sheet) return;
		const all: Spot[] = sheet.trees.flatMap((tree) => Array.from({ length: tree.n }, (_, frame) => ({ tree, frame }))
			.filter((s) => isHit(found, tree.place(s.frame))));
		if (!all.length) {
			this.live.textContent = "No match is wide enough to be drawn here.";
			return;
		}
		const at = all.findIndex((s) => s.tree === this.current?.tree && s.frame === this.current.frame);
		const next = all[(at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step + all.length) % all.length]!;
		this.focusOn(next, true);
	}

	// ------------------------------------------------------------------ one frame

	private focusOn(spot: Spot, focus: boolean): void {
		this.current = spot;
		this.outline.show(spot, focus);
		this.reveal(spot);
		this.showDetail(spot);
		this.draw();
	}

	private reveal(spot: Spot): void {
		const y = this.rows!.y(spot.tree, spot.tree.level(spot.frame));
		const { scrollTop, clientHeight } = this.scroller;

		if (y < scrollTop) this.scroller.scrollTop = y;
		else if (y + ROW > scrollTop + clientHeight) this.scroller.scrollTop = y + ROW - clientHeight;
	}

	private showDetail(spot: Spot | null): void {
		if (!spot) {
			this.detail.replaceChildren();
			return;
		}
		this.detail.replaceChildren(h("span", {}, facts(this.sheet!, spot).join(" · ")), " ", bdi(this.nameOf(spot).slice(0, 600), "flame-name"));
	}

	private showTip(spot: Spot, x: number, y: number): void {
		const name = this.nameOf(spot);

		this.tip.show([bdi(name.length > 600 ? `${name.slice(0, 600)}…` : name, "flame-name"),
			...facts(this.sheet!, spot).map((f) => h("div", {}, f))], x, y);
	}

	/** The name as the profile has it: what is sent is cut and made visible. */
	private async fullName(spot: Spot): Promise<string> {
		const place = this.places.get(spot.tree.place(spot.frame));

		if (!place) return "root";
		// eslint-disable-next-line no-control-regex
		if (!place.cut && /^[\x20-\x7e]*$/.test(place.name)) return place.name;
		return (await ask("flame-name.txt", { ...this.extra, place: String(place.id) }, null)).text();
	}

	private async copy(spot: Spot): Promise<void> {
		try {
			await navigator.clipboard.writeText(await this.fullName(spot));
			this.live.textContent = "Name copied.";
		} catch {
			this.live.textContent = "The browser does not let the page copy.";
		}
		this.problem.textContent = this.live.textContent === "Name copied." ? "" : this.live.textContent!;
	}

	private async pivot(spot: Spot): Promise<void> {
		if (spot.tree.place(spot.frame) === ROOT) return;
		const name = await this.fullName(spot);
		// An address holds only so much.
		void this.go({ pivot: name.length > 1000 ? quoted(name.slice(0, 1000)).slice(0, -1) : quoted(name), zoom: "" });
	}

	/** Another report, or the same with another filter. */
	private async leaveFor(path: string, spot: Spot, param: string, add = false): Promise<void> {
		const params = new URLSearchParams(location.search);
		const name = quoted((await this.fullName(spot)).slice(0, 1000));
		const old = params.get(param);

		params.set(param, add && old ? `${old}|${name}` : name);
		for (const ours of path ? ["z", "p", "q", "flip", "colour"] : ["z", "p"]) params.delete(ours);
		location.assign(`./${path || "flamegraph"}?${params}`);
	}

	private menu(spot: Spot, x: number, y: number): void {
		const is = spot.tree.place(spot.frame) !== ROOT;
		const actions: Action[] = [{ label: "Zoom in", key: "Enter", run: () => void this.zoom(spot) }];

		if (is) actions.push(
			{ label: "Callers and callees", key: "s", run: () => void this.pivot(spot) },
			{ label: "Copy name", key: "c", run: () => void this.copy(spot) },
			{ label: "Show source code", run: () => void this.leaveFor("source", spot, "f") },
			{ label: "Peek", run: () => void this.leaveFor("peek", spot, "f") },
			{ label: "Focus", run: () => void this.leaveFor("", spot, "f") },
			{ label: "Ignore", run: () => void this.leaveFor("", spot, "i", true) },
			{ label: "Hide", run: () => void this.leaveFor("", spot, "h", true) },
			{ label: "Show from", run: () => void this.leaveFor("", spot, "sf") });
		this.tip.hide();
		openMenu(x, y, "Frame", actions, () => this.outline.focus());
	}

	private help(): void {
		openHelp(() => this.outline.focus());
	}

	// ------------------------------------------------------------------ pointer and keys

	private spotAt(e: MouseEvent): Spot | null {
		if (!this.sheet || !this.rows) return null;
		const box = this.canvas.getBoundingClientRect();
		const x = (e.clientX - box.left) / box.width, y = e.clientY - box.top + this.scroller.scrollTop;

		for (const tree of this.sheet.trees) {
			const level = this.rows.level(tree, y);
			const frame = level < (this.rows.sandwich ? 1 : 0) ? -1 : tree.at(level, x);

			if (frame >= 0) return { tree, frame };
		}
		return null;
	}

	/** The frame whose callees are too narrow to be drawn here; where nothing is drawn. */
	private restAt(e: MouseEvent): Spot | null {
		if (!this.sheet || !this.rows) return null;
		const box = this.canvas.getBoundingClientRect();
		const x = (e.clientX - box.left) / box.width, y = e.clientY - box.top + this.scroller.scrollTop;

		for (const tree of this.sheet.trees) {
			const level = this.rows.level(tree, y);
			const frame = level < 1 ? -1 : tree.at(level - 1, x);
			const rest = frame < tree.top ? 0 : tree.data.rest[frame]!;
			const begin = rest ? tree.x[frame]! + this.painter.shownWidth(tree, frame) : 0;

			if (rest && x * tree.total >= begin && x * tree.total <= begin + rest) return { tree, frame };
		}
		return null;
	}

	private showRest({ tree, frame }: Spot, e: MouseEvent): void {
		const share = percent(tree.data.rest[frame]!, this.sheet!.data.total);

		this.tip.show([`${counted(tree.data.hidden[frame]!, "callee")} of `, bdi(this.labelOf({ tree, frame }), "flame-name"),
			h("div", {}, `too narrow to draw, ${share} together: ${frame > tree.top ? "click to zoom in" : "search finds them"}`)],
			e.clientX, e.clientY);
	}

	private pointed(e: MouseEvent): void {
		const spot = this.spotAt(e);
		const rest = spot ? null : this.restAt(e);
		const same = spot?.tree === this.hover?.tree && spot?.frame === this.hover?.frame;

		this.hover = spot;
		this.canvas.style.cursor = spot || rest ? "pointer" : "default";
		if (spot) this.showTip(spot, e.clientX, e.clientY);
		else if (rest) this.showRest(rest, e);
		else this.tip.hide();
		if (!same) {
			this.showDetail(spot ?? (this.outline.hasFocus ? this.current : null));
			this.draw();
		}
	}

	private left(): void {
		this.hover = null;
		this.tip.hide();
		this.draw();
	}

	private listen(): void {
		this.canvas.addEventListener("pointermove", (e) => e.pointerType !== "touch" && this.pointed(e));
		this.canvas.addEventListener("pointerleave", () => this.left());
		this.canvas.addEventListener("click", (e) => {
			const spot = this.spotAt(e) ?? this.restAt(e);
			if (spot && spot.frame !== spot.tree.top) void this.zoom(spot, true);
			else if (spot) this.focusOn(spot, true);
		});
		this.canvas.addEventListener("contextmenu", (e) => {
			const spot = this.spotAt(e);
			if (!spot) return;
			e.preventDefault();
			this.focusOn(spot, true);
			this.menu(spot, e.clientX, e.clientY);
		});
		this.scroller.addEventListener("scroll", () => this.drawMoved(), { passive: true });
		this.outline.element.addEventListener("keydown", (e) => this.key(e));
		this.outline.element.addEventListener("focusin", () => { this.showDetail(this.current); this.draw(); });
		this.outline.element.addEventListener("focusout", () => this.draw());
		this.search.addEventListener("input", () => this.typed());
		this.search.addEventListener("keydown", (e) => this.searchKey(e));
		this.order.addEventListener("click", () => this.flip());
		this.reset.addEventListener("click", () => void this.go(this.state.zoom ? { zoom: "" } : { pivot: "" }));
		this.colours.addEventListener("change", () => {
			this.state = { ...this.state, by: this.colours.value as ColourBy };
			this.remember(false);
			this.showLegend();
			this.draw();
		});
		addEventListener("popstate", () => this.back());
		addEventListener("keydown", (e) => this.anyKey(e));
		onTheme(() => { this.showLegend(); this.draw(); });
		new ResizeObserver(() => this.resized()).observe(this.root);
		addEventListener("resize", () => this.resized());
	}

	private back(): void {
		if (this.embedded) return;
		this.state = read();
		this.search.value = this.state.search;
		syncLinks(this.state);
		void this.refresh(this.outline.hasFocus);
		if (!this.state.search) void this.find();
	}

	private flip(): void {
		this.state = { ...this.state, flipped: !this.state.flipped };
		this.remember(false);
		if (this.sheet) this.show(this.sheet);
	}

	private resized(): void {
		const was = this.width;

		if (!this.sheet) return;
		const atEnd = this.scroller.scrollTop + this.scroller.clientHeight >= this.scroller.scrollHeight - 1;
		this.fitHeight();
		if (atEnd && this.state.flipped) this.scroller.scrollTop = this.scroller.scrollHeight;
		this.drawMoved();
		// More room shows more frames.
		if (this.width > was * 1.1) void this.load().then((s) => s && this.show(s));
	}

	private searchKey(e: KeyboardEvent): void {
		if (e.key === "Enter") {
			e.preventDefault();
			this.nextMatch(e.shiftKey ? -1 : 1);
		} else if (e.key === "Escape") {
			e.preventDefault();
			this.clearSearch();
			this.outline.focus();
		}
		e.stopPropagation();
	}

	/** Keys that work anywhere on the page, but where somebody types. */
	private anyKey(e: KeyboardEvent): void {
		const at = e.target as HTMLElement;

		if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey) return;
		if (at.closest("input, select, textarea, [contenteditable], dialog, [role=menu]")) return;
		if (e.key === "/") {
			e.preventDefault();
			this.search.focus();
			this.search.select();
		} else if (e.key === "?") {
			e.preventDefault();
			this.help();
		}
	}

	private key(e: KeyboardEvent): void {
		const spot = this.current;

		if (!spot || e.ctrlKey || e.metaKey || e.altKey) return;
		const act = this.actions(spot, e)[e.key];
		if (!act) return;
		e.preventDefault();
		act();
	}

	private actions(spot: Spot, e: KeyboardEvent): Record<string, (() => void) | undefined> {
		const menu = () => {
			const box = this.canvas.getBoundingClientRect();
			const [x, w] = spot.tree.span(spot.frame);
			const y = this.rows!.y(spot.tree, spot.tree.level(spot.frame)) - this.scroller.scrollTop;

			this.menu(spot, box.left + (x + w / 2) * box.width, box.top + y + ROW);
		};
		// Callers of a sandwich grow upwards, as a flame does.
		const up = spot.tree.data.up || (this.state.flipped && !this.sheet!.sandwich);

		return {
			ArrowDown: () => up ? this.toCaller(spot) : this.toCallee(spot),
			ArrowUp: () => up ? this.toCallee(spot) : this.toCaller(spot),
			ArrowLeft: () => this.toNeighbour(spot, -1),
			ArrowRight: () => this.toNeighbour(spot, 1),
			Home: () => this.toEnd(spot, 0),
			End: () => this.toEnd(spot, -1),
			Enter: () => void this.zoom(spot),
			" ": () => void this.zoom(spot),
			Escape: () => this.zoomOut(),
			Backspace: () => this.zoomOut(),
			0: () => void this.go({ zoom: "", pivot: "" }),
			n: () => this.nextMatch(1),
			N: () => this.nextMatch(-1),
			s: () => void this.pivot(spot),
			c: () => void this.copy(spot),
			i: this.sheet!.sandwich ? undefined : () => this.flip(),
			m: menu,
			ContextMenu: menu,
			F10: e.shiftKey ? menu : undefined,
		};
	}

	private toCaller(spot: Spot): void {
		const { tree } = spot;
		const caller = tree.caller[spot.frame]!;
		const other = this.sheet!.trees.find((t) => t !== tree);

		if (caller > 0 || (caller === 0 && !this.sheet!.sandwich)) this.focusOn({ tree, frame: caller }, true);
		else if (other && other.n > 1) this.focusOn({ tree: other, frame: 1 }, true); // across the seam
	}

	private toCallee(spot: Spot): void {
		const callee = spot.tree.callees(spot.frame)[0];

		if (callee !== undefined) this.focusOn({ tree: spot.tree, frame: callee }, true);
	}

	private toNeighbour(spot: Spot, step: number): void {
		const row = spot.tree.rows[spot.tree.level(spot.frame)]!;
		const next = row[row.indexOf(spot.frame) + step];

		if (next !== undefined) this.focusOn({ tree: spot.tree, frame: next }, true);
	}

	private toEnd(spot: Spot, at: number): void {
		const caller = spot.tree.caller[spot.frame]!;
		const frame = caller < 0 ? undefined : spot.tree.callees(caller).at(at);

		if (frame !== undefined) this.focusOn({ tree: spot.tree, frame }, true);
	}
}

export function start(element: HTMLElement): Promise<void> {
	return new View(element).start();
}
