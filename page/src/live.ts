// live.ts - a program as it runs: profiles on a click, its memory, its threads
//
// SPDX-License-Identifier: Apache-2.0

import type uPlot from "uplot";

import { chart, formatIn } from "./chart";
import { visible } from "./names";

const bytes = formatIn("bytes");

interface Taken {
	id: number;
	seconds: number;
	elapsedMs: number;
	state: string;
}

/* --- profiles ---------------------------------------------------------------------------- */

/** What the server has of the section, in place of what is here. */
function replaceTaken(element: HTMLElement, page: string): void {
	const fresh = new DOMParser().parseFromString(page, "text/html").querySelector(".taken");
	const old = element.querySelector(".taken");

	if (fresh && old) old.replaceWith(document.adoptNode(fresh));
	watch(element);
}

async function refreshTaken(element: HTMLElement): Promise<void> {
	replaceTaken(element, await (await fetch("./")).text());
}

/** How long it still takes; servers need a moment more than the time asked for. */
function countDown(item: HTMLElement, taken: Taken): void {
	let bar = item.querySelector("progress");
	let text = item.querySelector(".left");

	if (!bar || !text) {
		bar = document.createElement("progress");
		text = document.createElement("span");
		text.className = "left";
		bar.setAttribute("aria-label", `Profile #${taken.id}`);
		item.append(" ", bar, " ", text);
	}
	const left = taken.seconds - taken.elapsedMs / 1000;
	if (taken.seconds > 0) {
		bar.max = taken.seconds;
		bar.value = Math.min(taken.elapsedMs / 1000, taken.seconds);
	}
	text.textContent = left > 0 ? `${Math.ceil(left)} s left` : "reading…";
}

async function lookAgain(element: HTMLElement): Promise<void> {
	const all = (await (await fetch("./taken.json")).json()) as Taken[];
	let changed = false;

	for (const item of element.querySelectorAll<HTMLElement>('.taken li[data-state="taking"]')) {
		const taken = all.find((one) => String(one.id) === item.dataset["id"]);
		if (taken?.state === "taking") countDown(item, taken);
		else changed = true;
	}
	if (changed) await refreshTaken(element);
	else watch(element);
}

let timer = 0;

/** While something is being taken, looks how far it is. */
function watch(element: HTMLElement): void {
	clearTimeout(timer);
	if (element.querySelector('.taken li[data-state="taking"]'))
		timer = window.setTimeout(() => void lookAgain(element).catch(() => watch(element)), 300);
}

/** Forms that change something do it without leaving the page, whose lines would be lost. */
async function send(element: HTMLElement, form: HTMLFormElement): Promise<void> {
	const fields = [...new FormData(form)].map(([k, v]): [string, string] => [k, String(v)]);
	const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(fields) });

	if (answer.ok) replaceTaken(element, await answer.text());
	else alert(await answer.text());
}

function catchForms(element: HTMLElement): void {
	element.addEventListener("submit", (event) => {
		const form = event.target as HTMLFormElement;

		if (form.method !== "post") return;
		event.preventDefault();
		void send(element, form);
	});
}

/* --- memory ------------------------------------------------------------------------------ */

/** What a service says: whether these are numbers is not known. */
interface MemStats {
	HeapAlloc?: unknown;
	HeapObjects?: unknown;
	Sys?: unknown;
	NumGC?: unknown;
	Mallocs?: unknown;
	Process?: { RSS?: unknown };
}

function number(value: unknown): number | null {
	return typeof value === "number" ? value : null;
}

function told(value: unknown, format = (v: number) => v.toLocaleString("en")): string {
	const v = number(value);

	return v === null ? "–" : format(v);
}

const lines = [
	{ label: "in use (HeapAlloc)", colour: "--more" },
	{ label: "from the system (Sys)", colour: "--less" },
	{ label: "resident (RSS)", colour: "--pale", dash: [6, 4] },
];
const numbers: [string, (m: MemStats) => string][] = [
	["In use", (m) => told(m.HeapAlloc, bytes)],
	["From the system", (m) => told(m.Sys, bytes)],
	["Objects in use", (m) => told(m.HeapObjects)],
	["Objects allocated", (m) => told(m.Mallocs)],
	["Collections", (m) => told(m.NumGC)],
];
const EVERY_MS = 2000;
const MOST = 900;
const WINDOW_S = 60;

function put(list: HTMLElement, stats: MemStats): void {
	list.replaceChildren(...numbers.map(([name, value]) => {
		const row = document.createElement("div");
		const dt = document.createElement("dt");
		const dd = document.createElement("dd");
		dt.textContent = name;
		dd.textContent = value(stats);
		row.append(dt, dd);
		return row;
	}));
}

/** Draws a point every two seconds, while somebody looks. */
function showMemory(section: HTMLElement): void {
	const list = document.createElement("dl");
	const place = document.createElement("div");
	const points: (number | null)[][] = [[], [], [], []];
	const note = section.querySelector(".note");

	place.className = "chart";
	place.setAttribute("role", "img");
	place.setAttribute("aria-label", "Memory over time; the latest numbers are below");
	note?.before(place, list);
	const plot = chart(place, lines, "bytes", points as uPlot.AlignedData, {
		scales: { x: { range: (u) => {
			const last = u.data[0].at(-1) ?? Date.now() / 1000;
			return [Math.min(u.data[0][0] ?? last, last - WINDOW_S), last];
		} } },
	});
	const step = async (): Promise<void> => {
		if (document.visibilityState === "visible") {
			const answer = await fetch("./memstats.json");
			if (answer.ok) {
				const m = (await answer.json()) as MemStats;
				const at = [Date.now() / 1000, number(m.HeapAlloc), number(m.Sys), number(m.Process?.RSS)];
				at.forEach((v, i) => points[i]?.push(v));
				if ((points[0]?.length ?? 0) > MOST) points.forEach((p) => p.shift());
				plot.setData(points as uPlot.AlignedData);
				put(list, m);
				section.dataset["points"] = String(points[0]?.length ?? 0);
			}
		}
	};
	const again = (): void => void step().catch(() => undefined).finally(() => setTimeout(again, EVERY_MS));
	again();
}

/* --- threads ----------------------------------------------------------------------------- */

function showThreads(section: HTMLElement): void {
	const button = document.createElement("button");
	const text = document.createElement("pre");

	button.textContent = "What are they doing now?";
	text.tabIndex = 0;
	text.setAttribute("aria-label", "Stacks of all threads");
	button.addEventListener("click", () => void (async () => {
		const answer = await fetch("./threads.txt");
		text.textContent = visible(await answer.text());
		section.append(text);
		button.textContent = "Look again";
	})());
	section.querySelector(".note")?.before(button);
}

export function start(element: HTMLElement): void {
	const memory = element.querySelector<HTMLElement>(".memory");
	const threads = element.querySelector<HTMLElement>(".threads");

	catchForms(element);
	watch(element);
	if (memory) showMemory(memory);
	if (threads) showThreads(threads);
	element.dataset["ready"] = "true";
}
