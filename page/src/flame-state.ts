// flame-state.ts - what the URL says about the flame graph
//
// Parameters of the reports are the reference's and stay as they are; these come beside them.
//
// SPDX-License-Identifier: Apache-2.0

import type { ColourBy } from "./flame-colour";
import { escaped } from "./names";

export interface State {
	zoom: string; // "z": the frame on top
	pivot: string; // "p": callers and callees of the functions that match, as in the reference
	search: string; // "q"
	flipped: boolean; // "flip": the root at the bottom
	by: ColourBy | ""; // "colour"
}

/** Everything, and nothing special. */
export const blank: State = { zoom: "", pivot: "", search: "", flipped: false, by: "" };

const OURS = ["z", "p", "q", "flip", "colour"];

export function read(): State {
	const params = new URLSearchParams(location.search);
	const by = params.get("colour");

	return {
		zoom: params.get("z") ?? "",
		pivot: params.get("p") ?? "",
		search: params.get("q") ?? "",
		flipped: params.has("flip"),
		by: by === "package" || by === "function" || by === "change" ? by : "",
	};
}

function apply(params: URLSearchParams, s: State): void {
	const set = (name: string, value: string) => value ? params.set(name, value) : params.delete(name);

	set("z", s.zoom);
	set("p", s.pivot);
	set("q", s.search);
	set("flip", s.flipped ? "1" : "");
	set("colour", s.by);
}

/** Says it in the address; with 'step', "back" leads to how it was. */
export function write(s: State, step: boolean): void {
	const url = new URL(location.href);

	apply(url.searchParams, s);
	if (url.href === location.href) return;
	if (step) history.pushState(null, "", url);
	else history.replaceState(null, "", url);
	syncLinks(s);
}

/** Links and forms of the page lead to the same frame of another report. */
export function syncLinks(s: State): void {
	for (const link of document.querySelectorAll<HTMLAnchorElement>('header a[href*="flamegraph"]')) {
		const url = new URL(link.href);

		apply(url.searchParams, s);
		link.href = `./flamegraph${url.search}`;
	}
	for (const form of document.querySelectorAll<HTMLFormElement>('header form[method="get"]')) {
		for (const name of OURS) form.querySelector(`input[type=hidden][name="${name}"]`)?.remove();
		const params = new URLSearchParams();
		apply(params, s);
		for (const [name, value] of params) {
			const input = document.createElement("input");
			Object.assign(input, { type: "hidden", name, value });
			form.append(input);
		}
	}
}

/** The parameters of the report, with others set. */
function query(set: Record<string, string>): string {
	const params = new URLSearchParams(location.search);

	for (const name of OURS) params.delete(name);
	for (const [name, value] of Object.entries(set)) if (value) params.set(name, value);
	return `?${params}`;
}

/** As a regular expression that matches this and nothing else. */
export function quoted(name: string): string {
	return `^${escaped(name)}$`;
}

/** What the server says under a path of its own, for this report. */
export async function ask(path: string, set: Record<string, string>, signal: AbortSignal | null): Promise<Response> {
	const answer = await fetch(`./${path}${query(set)}`, { signal, credentials: "same-origin" });

	if (!answer.ok) throw new Error((await answer.text()).trim() || answer.statusText);
	return answer;
}
